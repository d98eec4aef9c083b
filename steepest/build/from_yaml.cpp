#include "steepest/build/optimizer.h"
#include "steepest/recipe/recipe.h"

namespace steepest {

std::unique_ptr<Optimizer> build_optimizer_from_yaml(std::string_view section,
                                                     const ParamSet& params,
                                                     const StepPolicy& policy) {
  const YamlDocument document = parse_yaml(section, "optimizer section");
  Rules rules("optimizer");
  const OptimizerConfig config = read_optimizer_config(document.root, rules);
  rules.enforce();
  return build_optimizer(config, params, policy);
}

}  // namespace steepest
