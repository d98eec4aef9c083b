#include "steepest/params/param_set.h"

#include <fmt/format.h>

#include "steepest/base/error.h"
#include "steepest/base/nearest.h"
#include "steepest/tensor/bridge.h"

namespace steepest {

ParamSet ParamSet::from(const std::vector<std::pair<std::string, at::Tensor>>& named) {
  ParamSet set;
  for (const auto& [name, value] : named) set.add(name, value);
  return set;
}

ParamSet ParamSet::from(const std::vector<at::Tensor>& tensors) {
  ParamSet set;
  set.anonymous_ = true;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::size_t before = set.size();
    set.add(anonymous_name(i), tensors[i]);
    if (set.size() == before)
      throw ConfigError({.what = fmt::format("tensor {} is given twice", i),
                         .why = "it would be updated twice a step",
                         .remedy = "give every parameter once"});
  }
  return set;
}

void ParamSet::add(std::string name, at::Tensor value, std::string module) {
  std::string canonical = canonical_name(name);
  if (canonical.empty())
    throw ConfigError(
        {.what = "a parameter has an empty name", .remedy = "name every parameter, or none"});
  if (find(canonical))
    throw ConfigError({.what = fmt::format("two parameters have the name {}", canonical),
                       .why = "state and options are matched by name",
                       .remedy = "give each its own name"});
  require_updatable(value, canonical);
  const auto [same, is_new] = by_tensor_.try_emplace(value.unsafeGetTensorImpl(), params_.size());
  by_name_.emplace(canonical, same->second);
  if (!is_new) {
    params_[same->second].info.aliases.push_back(std::move(canonical));
    return;
  }
  ParamInfo info;
  info.shape = shape_of(value);
  info.dtype = to_dtype(value.scalar_type());
  info.role = infer_role(module, canonical, info.shape);
  info.module = std::move(module);
  info.trainable = value.requires_grad();
  info.name = std::move(canonical);
  params_.push_back({std::move(info), std::move(value)});
}

const Param* ParamSet::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &params_[found->second];
}

void ParamSet::set_role(std::string_view name, Role role) {
  if (const auto found = by_name_.find(name); found != by_name_.end()) {
    params_[found->second].info.role = role;
    return;
  }
  std::vector<std::string_view> names;
  for (const Param& each : params_) names.push_back(each.info.name);
  const auto near = nearest(name, names);
  throw ConfigError({.what = fmt::format("there is no parameter '{}'", name),
                     .remedy = near ? fmt::format("did you mean '{}'?", *near) : ""});
}

std::vector<ParamInfo> ParamSet::infos() const {
  std::vector<ParamInfo> all;
  for (const Param& each : params_) all.push_back(each.info);
  return all;
}

}  // namespace steepest
