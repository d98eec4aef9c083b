#include "steepest/build/optimizer.h"
#include "steepest/recipe/lr_scheduler_config.h"

namespace steepest {

std::unique_ptr<LRScheduler> LRSchedulerConfig::build(Optimizer& optimizer,
                                                      const TrainingLength& length) const {
  // Absolute values of the section refer to the first group's base values, as in AutoModel.
  const Group& first = *optimizer.groups().front();
  Rules rules("lr_scheduler");
  check_fields(*this, rules);
  if (rules.problems().empty()) check_in(length, first.base_lr(), first.base_weight_decay(), rules);
  rules.enforce();
  return std::make_unique<LRScheduler>(optimizer, shape(length, first.base_lr()),
                                       weight_decay(length, first.base_weight_decay()));
}

}  // namespace steepest
