#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "steepest/params/param_info.h"

namespace torch::nn {
class Module;
}

namespace steepest {

/// A parameter and what is known of it. Copies share the tensor.
struct Param {
  ParamInfo info;
  at::Tensor value;
};

/// The parameters an optimizer is built over: named, each tensor once, in registration order.
/// Tied parameters (the same tensor under several names) stand once, under the first name; the
/// others become aliases. Parameters that need no gradient stay in the set with trainable = false.
class ParamSet {
 public:
  ParamSet() = default;

  /// From a module: names as named_parameters() gives them, made canonical; owner kinds from the
  /// modules (Linear, Embedding, *Norm ...); roles by infer_role.
  static ParamSet from(const torch::nn::Module& module);
  /// From named tensors. ConfigError: an empty or repeated name (after canonical_name), an
  /// undefined tensor. LayoutError: a sparse tensor. A tensor given twice under two names is tied.
  static ParamSet from(const std::vector<std::pair<std::string, at::Tensor>>& named);
  /// From tensors without names: param.0, param.1, ... ConfigError if one is given twice.
  static ParamSet from(const std::vector<at::Tensor>& tensors);

  /// Appends one; `module` is the kind of its owner. The same checks as `from`.
  void add(std::string name, at::Tensor value, std::string module = {});

  std::size_t size() const { return params_.size(); }
  bool empty() const { return params_.empty(); }
  const Param& operator[](std::size_t index) const { return params_[index]; }
  auto begin() const { return params_.begin(); }
  auto end() const { return params_.end(); }

  /// The parameter of that name or alias, or null.
  const Param* find(std::string_view name) const;
  /// Sets the role of a parameter where the inferred one is wrong. ConfigError: no such name (the
  /// nearest is named).
  void set_role(std::string_view name, Role role);
  /// True where names were made up (param.0 ...); a checkpoint says so.
  bool anonymous() const { return anonymous_; }

  /// The pure half, in order.
  std::vector<ParamInfo> infos() const;

 private:
  std::vector<Param> params_;
  std::map<std::string, std::size_t, std::less<>> by_name_;  ///< names and aliases to places
  std::map<const void*, std::size_t> by_tensor_;
  bool anonymous_ = false;
};

}  // namespace steepest
