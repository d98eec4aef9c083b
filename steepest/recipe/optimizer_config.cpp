#include "steepest/recipe/optimizer_config.h"

namespace steepest {

void MuonConfig::check(const MuonConfig& o, Rules& rules) {
  rules.require(o.scalar_opt == "adamw" || o.scalar_opt == "lion", "scalar_opt", o.scalar_opt,
                "adamw or lion");
}

void validate(const OptimizerConfig& config, std::string_view scope) {
  if (const auto* rule = std::get_if<RuleConfig>(&config)) {
    Rules rules(scope);
    std::visit([&](const auto& options) { check_fields(options, rules); }, rule->matrices);
    std::visit([&](const auto& options) { check_fields(options, rules); }, rule->rest);
    rules.enforce();
    return;
  }
  std::visit(
      [&](const auto& each) {
        if constexpr (requires { each.fields(); }) validate(each, scope);
      },
      config);
}

double base_lr(const OptimizerConfig& config) {
  return std::visit(
      [](const auto& each) {
        if constexpr (requires { each.lr; })
          return each.lr;
        else
          return lr(each.matrices);
      },
      config);
}

double base_weight_decay(const OptimizerConfig& config) {
  return std::visit(
      [](const auto& each) {
        if constexpr (requires { each.weight_decay; })
          return each.weight_decay;
        else
          return weight_decay(each.matrices);
      },
      config);
}

}  // namespace steepest
