#include "steepest/recipe/lr_scheduler_config.h"

#include <algorithm>

namespace steepest {

void LRSchedulerConfig::check(const LRSchedulerConfig& o, Rules& rules) {
  rules.require(!(o.min_lr && o.min_lr_ratio), "min_lr_ratio", o.min_lr_ratio,
                "unset where min_lr is given");
  rules.require(o.lr_decay_style != DecayStyle::kWarmupStableDecay || o.wsd_decay_steps.has_value(),
                "wsd_decay_steps", o.wsd_decay_steps, "given for a warm-up-stable-decay schedule");
}

Schedule LRSchedulerConfig::shape(const TrainingLength& length, double base_lr) const {
  const double unit = base_lr > 0 ? base_lr : 1;
  const double top = max_lr.value_or(unit) / unit;
  Schedule shape{.style = lr_decay_style, .max_lr = top};
  shape.decay_steps = lr_decay_steps.value_or(std::max<std::int64_t>(length.max_steps, 1));
  shape.warmup_steps =
      lr_warmup_steps.value_or(std::min<std::int64_t>(1000, length.max_steps / 10));
  // The defaults are shares of the base rate, also where max_lr is given.
  shape.init_lr = init_lr ? *init_lr / unit : 0.1;
  shape.min_lr = min_lr_ratio ? *min_lr_ratio : min_lr ? *min_lr / unit : 0.01;
  shape.wsd_decay_steps = wsd_decay_steps.value_or(0);
  shape.wsd_style = lr_wsd_decay_style.value_or(WsdDecay::kExponential);
  return shape;
}

}  // namespace steepest
