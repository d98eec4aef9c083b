// Optimizer::describe: who got which rule, and why.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "steepest/build/optimizer.h"
#include "steepest/tensor/bridge.h"

namespace steepest {

std::string Optimizer::describe() const {
  std::size_t width = 9;
  for (const Param& param : params_) width = std::max(width, param.info.name.size());
  std::map<std::string_view, const Group*> owners;
  for (const auto& member : driver_.members())
    for (const Group* each : member->groups())
      for (const std::string& name : each->params()) owners[name] = each;
  std::string text =
      fmt::format("{:<{}}  {:<14}  {:<9}  {:<6}  {:<12}  {:>9}  {:>7}  {}\n", "parameter", width,
                  "shape", "role", "rule", "group", "lr", "wd", "why");
  for (const Param& param : params_) {
    const auto found = owners.find(param.info.name);
    const Group* owner = found == owners.end() ? nullptr : found->second;
    text += fmt::format("{:<{}}  {:<14}  {:<9}  ", param.info.name, width,
                        shape_text(param.info.shape), spelling(param.info.role));
    text +=
        owner
            ? fmt::format("{:<6}  {:<12}  {:>9.4g}  {:>7.4g}  {}\n", owner->rule(), owner->name(),
                          owner->base_lr(), owner->base_weight_decay(), owner->reason())
            : fmt::format("{:<6}  {:<12}  {:>9}  {:>7}  {}\n", "-", "-", "-", "-", "not trainable");
  }
  return text;
}

}  // namespace steepest
