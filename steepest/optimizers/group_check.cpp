#include "steepest/optimizers/group_check.h"

#include <fmt/format.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <set>

#include "steepest/base/error.h"
#include "steepest/tensor/overlap.h"

namespace steepest {

std::string name_in_group(std::size_t param, std::size_t group) {
  return fmt::format("{} of group {}", param, group);
}
std::string group_scope(std::string_view rule, std::size_t group) {
  return fmt::format("{}: group {}", rule, group);
}

void require_leaf(const at::Tensor& param, std::string_view name) {
  if (!param.is_leaf())
    throw ConfigError({.what = fmt::format("parameter {} is not a leaf", name),
                       .why = "gradients gather in leaves alone",
                       .remedy = "give the tensor that the module holds"});
}

void require_apart(const std::vector<std::vector<at::Tensor>>& groups) {
  std::vector<at::Tensor> all;
  std::vector<std::string> names;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t p = 0; p < groups[g].size(); ++p) {
      all.push_back(groups[g][p]);
      names.push_back(name_in_group(p, g));
    }
  const auto found = find_overlap(all);
  if (!found) return;
  const auto [a, b] = *found;
  if (a == b)
    throw LayoutError(
        {.what = fmt::format("parameter {} overlaps itself", names[a]),
         .why = "several of its elements are the same memory, so an in-place update is undefined",
         .remedy = "give a clone"});
  throw LayoutError({.what = fmt::format("parameters {} and {} share memory", names[a], names[b]),
                     .why = "what they share would be updated twice a step",
                     .remedy = "give one of them, or parts that do not overlap"});
}

void refuse_repeated(std::string_view name) {
  throw ConfigError({.what = fmt::format("parameter {} is given twice", name),
                     .why = "it would be updated twice a step",
                     .remedy = "give every parameter once"});
}

void refuse_foreign_options(std::string_view rule, std::size_t group) {
  throw ConfigError(
      {.what = fmt::format("group {} holds options of another optimizer than {}", group, rule),
       .why = "their fields mean nothing to this rule",
       .remedy = "add the group with a steepest::RuleGroup, or without options"});
}

void refuse_foreign_state(std::string_view rule, std::string_view name) {
  throw StateError({.what = fmt::format("the state of parameter {} is not one of {}", name, rule),
                    .why = "another optimizer's fields mean nothing to this rule",
                    .remedy = "erase it from state(), or load what this rule saved"});
}

void refuse_replaced(std::string_view name) {
  throw StateError(
      {.what = fmt::format("another tensor has taken the place of parameter {}", name),
       .why = "the state belongs to the tensor that was there, and would be lost",
       .remedy =
           "give the old tensor new values (copy_, set_data), erase its state first, or build "
           "the optimizer anew"});
}

void KnownGroups::note(const Groups& groups) {
  groups_.clear();
  for (const auto& group : groups) {
    groups_.emplace_back();
    for (const at::Tensor& p : group.params())
      groups_.back().push_back(
          {p, p.const_data_ptr(), p.sizes().vec(), p.strides().vec(), p.scalar_type(), p.device()});
  }
}

bool KnownGroups::hold(const Groups& groups) const {
  return std::ranges::equal(groups_, groups, [](const auto& known, const auto& group) {
    return std::ranges::equal(known, group.params(), [](const Known& k, const at::Tensor& p) {
      return k.param.is_same(p) && p.const_data_ptr() == k.memory && p.sizes() == k.sizes &&
             p.strides() == k.strides && p.scalar_type() == k.type && p.device() == k.device;
    });
  });
}

std::vector<KnownGroups::Gone> KnownGroups::gone(const Groups& groups) const {
  std::set<const void*> there, known;
  for (const auto& group : groups)
    for (const at::Tensor& p : group.params()) there.insert(p.unsafeGetTensorImpl());
  for (const auto& group : groups_)
    for (const Known& k : group) known.insert(k.param.unsafeGetTensorImpl());
  std::vector<Gone> all;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (std::size_t i = 0; i < groups_[g].size(); ++i) {
      const at::Tensor& param = groups_[g][i].param;
      if (there.contains(param.unsafeGetTensorImpl())) continue;
      const bool taken = g < groups.size() && i < groups[g].params().size() &&
                         !known.contains(groups[g].params()[i].unsafeGetTensorImpl());
      all.push_back({param, i, g, taken});
    }
  return all;
}

}  // namespace steepest
