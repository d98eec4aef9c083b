#include "steepest/recipe/lr_scheduler_config.h"

#include <algorithm>
#include <string_view>

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

std::optional<WeightDecaySchedule> LRSchedulerConfig::weight_decay(const TrainingLength& length,
                                                                   double base_weight_decay) const {
  if (!start_wd && !end_wd) return std::nullopt;
  return WeightDecaySchedule{
      .style = wd_incr_style,
      .start = start_wd.value_or(base_weight_decay),
      .end = end_wd.value_or(base_weight_decay),
      .incr_steps = wd_incr_steps.value_or(std::max<std::int64_t>(length.max_steps, 1))};
}

void LRSchedulerConfig::check_in(const TrainingLength& length, double base_lr,
                                 double base_weight_decay, Rules& rules) const {
  const auto unless = [](bool given, std::string_view remedy) {
    return given ? std::string_view{} : remedy;
  };
  const double unit = base_lr > 0 ? base_lr : 1;
  const double top = max_lr.value_or(unit);
  if (min_lr_ratio)
    rules.require(!(*min_lr_ratio * unit > top), "min_lr_ratio", *min_lr_ratio,
                  "at most max_lr / lr (" + to_text(top / unit) + ")");
  else
    rules.require(!(min_lr.value_or(0.01 * unit) > top), "min_lr", min_lr.value_or(0.01 * unit),
                  "at most max_lr (" + to_text(top) + ")",
                  unless(min_lr.has_value(), "unset it is 0.01 of the optimizer's lr: set it"));
  rules.require(!(init_lr.value_or(0.1 * unit) > top), "init_lr", init_lr.value_or(0.1 * unit),
                "at most max_lr (" + to_text(top) + ")",
                unless(init_lr.has_value(), "unset it is 0.1 of the optimizer's lr: set it"));
  const Schedule s = shape(length, base_lr);
  rules.require(
      s.warmup_steps < s.decay_steps, "lr_warmup_steps", s.warmup_steps,
      "below lr_decay_steps (" + to_text(s.decay_steps) + ")",
      unless(lr_warmup_steps.has_value(), "unset it is a tenth of the run, at most 1000: set it"));
  if (s.style == DecayStyle::kWarmupStableDecay && s.warmup_steps < s.decay_steps)
    rules.require(s.wsd_decay_steps <= s.decay_steps - s.warmup_steps, "wsd_decay_steps",
                  s.wsd_decay_steps,
                  "at most lr_decay_steps - lr_warmup_steps (" +
                      to_text(s.decay_steps - s.warmup_steps) + ")");
  if (const auto decay = weight_decay(length, base_weight_decay)) check_fields(*decay, rules);
}

}  // namespace steepest
