#include "steepest/optimizers/group_check.h"

#include <fmt/format.h>

#include "steepest/base/error.h"

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

}  // namespace steepest
