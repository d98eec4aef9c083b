#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "steepest/base/dtype.h"
#include "steepest/base/json_fields.h"
#include "steepest/linalg/ns_enums.h"

namespace steepest {

/// A tensor b is matched by a if everywhere |a - b| <= atol + rtol |b| or, where `frob` is given,
/// if the Frobenius norm of a - b is at most `frob` times that of b.
struct ReplayLimits {
  double rtol = 0;
  double atol = 0;
  std::optional<double> frob = {};
};

/// How a state is compared where its plain values may differ between right implementations.
struct StateComparison {
  enum class Kind {
    kValues,
    kColumnsUpToSign,  ///< eigenvectors: whole columns of the last dimension may be negated
    kAbsolute,         ///< absolute values
    kCodes,            ///< quantized codes, apart by `number` at most
    kRelative,         ///< relative error `number` instead of the file's limits
    kSkip              ///< not compared
  };
  Kind kind = Kind::kValues;
  double number = 0;
};

struct ReplayParam {
  std::string name;
  std::vector<std::int64_t> shape;
  Dtype dtype = Dtype::kFloat32;
};

/// Parameters with the options that override those of the whole optimizer.
struct ReplayGroup {
  std::vector<std::string> params;
  Json options = Json::object();
};

/// One recorded run of an original library: what it was built with, the gradients it was fed and
/// what it made of them.
///
/// Tensors: `init/<param>`, `grad/<step>/<param>` (steps from 1; absent: no gradient at that step),
/// `param/<step>/<param>` after that step, `state/<key>/<param>` after the last one,
/// `init_state/<key>/<param>` before the first. Files of a single function hold `input` and
/// `output` instead.
struct ReplayCase {
  std::filesystem::path path;
  std::string reference;  ///< library and version that was run
  Json optimizer;  ///< its config with `_target_`, as a user of it writes it; null for a function
  std::vector<ReplayGroup> groups;
  std::vector<ReplayParam> params;  ///< in the order in which the reference was given them
  int steps = 0;
  std::vector<double> lr;  ///< in force at each step; empty: that of the config
  ReplayLimits tolerance;
  std::map<std::string, ReplayLimits> state_tolerance;
  double codes_tolerance = 0;  ///< codes of a storage format may be that far apart
  std::map<std::string, StateComparison> state_compare;
  std::optional<Rounding> rounding;
  /// Set if the reference's orthogonalization was replaced by a float64 one: the dtype its input
  /// was rounded to.
  std::optional<Dtype> float64_input;
  bool expect_mismatch =
      false;             ///< shows a defect of the reference: a right implementation does not match
  std::string function;  ///< name of a single function, or empty
  Json function_options = Json::object();
  std::map<std::string, at::Tensor> tensors;

  /// Undefined where the file has none.
  at::Tensor tensor(const std::string& name) const;
};

/// Reads and checks a file. CheckpointError: not a safetensors file; ConfigError: everything that
/// is wrong with its description or missing among its tensors, each with the file's name.
ReplayCase read_replay_case(const std::filesystem::path& path);

}  // namespace steepest
