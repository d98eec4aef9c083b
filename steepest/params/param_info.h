#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "steepest/base/dtype.h"
#include "steepest/base/fields.h"

namespace steepest {

/// What a parameter is for; rules are chosen by it.
///   hidden     a matrix, or a stack of matrices, between the embedding and the output
///   embedding  a table indexed by token or position
///   output     the matrix that makes logits: its name contains lm_head, or the part that names its
///              layer is output_layer, embed_out, head or output, the last two outside numbered
///              layers only
///   norm       gains of normalization layers
///   bias       biases of any layer, stacks of them included: the name's last part is bias or ends
///              in _bias
///   vector     anything else below two dimensions, and depthwise filters [channels, 1, width]
enum class Role { kHidden, kEmbedding, kOutput, kNorm, kBias, kVector };

inline const auto& spellings(Role) {
  static constexpr Spelling<Role> kAll[] = {
      {Role::kHidden, "hidden"}, {Role::kEmbedding, "embedding"}, {Role::kOutput, "output"},
      {Role::kNorm, "norm"},     {Role::kBias, "bias"},           {Role::kVector, "vector"},
  };
  return kAll;
}

/// What is known of a parameter without its values: enough for grouping, planning and reports.
struct ParamInfo {
  std::string name;                 ///< canonical: wrapper prefixes stripped
  std::vector<std::int64_t> shape;  ///< logical shape, never that of a local shard
  Dtype dtype = Dtype::kFloat32;
  std::string module;  ///< kind of the owner, "linear", "embedding", "norm" ...; empty if unknown
  Role role = Role::kVector;
  std::vector<std::string> aliases;  ///< further names of a tied parameter
  bool trainable = true;
  std::map<std::string, std::string> tags;

  std::int64_t numel() const;
};

/// The role that follows from the owner's kind (may be empty), the canonical name and the shape.
/// tests/params/model_names_test.cpp lists what parameters of real models get.
Role infer_role(std::string_view module, std::string_view name,
                const std::vector<std::int64_t>& shape);

/// Strips what wrappers add to names: "module." in front (any number of times), "_orig_mod.",
/// "_fsdp_wrapped_module.", "_checkpoint_wrapped_module." anywhere.
std::string canonical_name(std::string_view name);

/// Name given to the index-th tensor that came without one: "param.0", "param.1", ...
std::string anonymous_name(std::size_t index);

}  // namespace steepest
