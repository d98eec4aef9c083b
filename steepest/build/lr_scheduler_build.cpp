#include "steepest/build/optimizer.h"
#include "steepest/recipe/lr_scheduler_config.h"

namespace steepest {

std::unique_ptr<LRScheduler> LRSchedulerConfig::build(Optimizer& optimizer,
                                                      const TrainingLength& length) const {
  validate(*this, "lr_scheduler");
  // Absolute rates of the section refer to the first group's base rate, as in AutoModel.
  return std::make_unique<LRScheduler>(optimizer,
                                       shape(length, optimizer.groups().front()->base_lr()));
}

}  // namespace steepest
