#include "steepest/optimizers/catalogue.h"

#include <array>

namespace steepest {
namespace {

// In the order of RuleOptions' alternatives. A new rule adds one line here.
constexpr std::string_view kAdamStates[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
constexpr std::string_view kMomentum[] = {"momentum_buffer"};
constexpr std::string_view kAverage[] = {"exp_avg"};
constexpr RuleEntry kRules[] = {
    {"adamw", "AdamW", false, kAdamStates, "Adam with decoupled weight decay",
     "I. Loshchilov, F. Hutter, \"Decoupled weight decay regularization\", 2019; "
     "torch.optim.AdamW"},
    {"adam", "Adam", false, kAdamStates, "averages of the gradient and of its square",
     "D. Kingma, J. Ba, \"Adam\", 2015; torch.optim.Adam"},
    {"sgd", "SGD", false, kMomentum, "the gradient, or its velocity", "torch.optim.SGD"},
    {"lion", "Lion", false, kAverage, "the sign of an average of gradients",
     "X. Chen et al., \"Symbolic discovery of optimization algorithms\", 2023"},
    {"muon", "Muon", true, kMomentum, "momentum, orthogonalized",
     "K. Jordan et al., \"Muon\", 2024; torch.optim.Muon"},
};
static_assert(std::size(kRules) == std::variant_size_v<RuleOptions>);

}  // namespace

std::span<const RuleEntry> catalogue() { return kRules; }

const RuleEntry* find_rule(std::string_view name) {
  for (const RuleEntry& each : kRules)
    if (each.name == name) return &each;
  return nullptr;
}

RuleOptions default_options(const RuleEntry& rule) {
  RuleOptions options;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((I == static_cast<std::size_t>(&rule - kRules)
          ? void(options = std::variant_alternative_t<I, RuleOptions>{})
          : void()),
     ...);
  }
  (std::make_index_sequence<std::variant_size_v<RuleOptions>>{});
  return options;
}

}  // namespace steepest
