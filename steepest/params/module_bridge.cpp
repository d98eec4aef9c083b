// ParamSet::from(Module): the one place that looks into torch::nn.
#include <torch/nn/module.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "steepest/params/param_set.h"

namespace steepest {
namespace {

/// "linear", "embedding", "norm" or the class's own name in lower case, from what
/// module.name() prints ("torch::nn::LinearImpl").
std::string kind_of(const torch::nn::Module& module) {
  std::string name = module.name();
  if (const auto colons = name.rfind("::"); colons != std::string::npos) name.erase(0, colons + 2);
  if (name.ends_with("Impl")) name.erase(name.size() - 4);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name.find("norm") != std::string::npos) return "norm";
  if (name.starts_with("embedding")) return "embedding";
  return name;
}

}  // namespace

ParamSet ParamSet::from(const torch::nn::Module& module) {
  ParamSet set;
  const auto add_own = [&](const std::string& prefix, const torch::nn::Module& owner) {
    for (const auto& item : owner.named_parameters(/*recurse=*/false))
      set.add(prefix.empty() ? item.key() : prefix + "." + item.key(), item.value(),
              kind_of(owner));
  };
  add_own("", module);
  // named_modules needs a shared owner for the root, which a module on the stack has not: children
  // have one each.
  for (const auto& child : module.named_children())
    for (const auto& item : child.value()->named_modules(child.key()))
      add_own(item.key(), *item.value());
  return set;
}

}  // namespace steepest
