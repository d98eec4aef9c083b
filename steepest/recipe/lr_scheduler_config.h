#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "steepest/schedule/schedule.h"
#include "steepest/schedule/weight_decay_schedule.h"

namespace steepest {

class Optimizer;
class LRScheduler;

/// What a schedule is fitted to.
struct TrainingLength {
  std::int64_t max_steps = 0;  ///< optimizer updates of the whole run
};

/// The lr_scheduler section, with AutoModel's fields; what is unset follows from the run's length
/// and the optimizer's base rates: decay to max_steps, warm-up of min(1000, 10 % of it) steps,
/// init_lr and min_lr 0.1 and 0.01 of the base lr. Weight decay is scheduled where start_wd or
/// end_wd is given (the other is then the base weight decay); else every group keeps its own.
struct LRSchedulerConfig {
  std::optional<std::int64_t> lr_warmup_steps;
  std::optional<std::int64_t> lr_decay_steps;
  DecayStyle lr_decay_style = DecayStyle::kCosine;
  std::optional<double> init_lr;
  std::optional<double> max_lr;
  std::optional<double> min_lr;
  std::optional<double> min_lr_ratio;  ///< ours: min_lr as a share of each group's base lr
  std::optional<std::int64_t> wsd_decay_steps;
  std::optional<WsdDecay> lr_wsd_decay_style;
  std::optional<double> start_wd;
  std::optional<double> end_wd;
  std::optional<std::int64_t> wd_incr_steps;
  WdIncrStyle wd_incr_style = WdIncrStyle::kConstant;

  static constexpr auto fields() {
    using O = LRSchedulerConfig;
    return std::tuple{
        field("lr_warmup_steps", &O::lr_warmup_steps, count_from(0, "0 or more"),
              "updates of linear warm-up"),
        field("lr_decay_steps", &O::lr_decay_steps, count_from(1, "1 or more"),
              "update at which the decay ends, warm-up included; unset: the run's length"),
        field("lr_decay_style", &O::lr_decay_style, "shape of the decay"),
        field("init_lr", &O::init_lr, at_least_zero(),
              "learning rate at the first step of warm-up"),
        field("max_lr", &O::max_lr, above_zero(),
              "learning rate when warm-up ends; unset: the optimizer's lr"),
        field("min_lr", &O::min_lr, at_least_zero(), "learning rate once the decay is over"),
        field("min_lr_ratio", &O::min_lr_ratio, fraction(),
              "min_lr as a share of each group's base lr"),
        field("wsd_decay_steps", &O::wsd_decay_steps, count_from(1, "1 or more"),
              "length of the last phase of warm-up-stable-decay"),
        field("lr_wsd_decay_style", &O::lr_wsd_decay_style, "shape of the last phase"),
        field("start_wd", &O::start_wd, at_least_zero(),
              "weight decay of the first update; groups keep their ratios"),
        field("end_wd", &O::end_wd, at_least_zero(), "weight decay once it has risen"),
        field("wd_incr_steps", &O::wd_incr_steps, count_from(1, "1 or more"),
              "updates that it takes to rise; unset: the run's length"),
        field("wd_incr_style", &O::wd_incr_style, "shape of the rise")};
  }
  static void check(const LRSchedulerConfig& o, Rules& rules);
  bool operator==(const LRSchedulerConfig&) const = default;

  /// The curve as factors on base rates (max_lr = 1). `base_lr`: the optimizer's, that absolute
  /// rates are divided by.
  Schedule shape(const TrainingLength& length, double base_lr) const;
  /// The weight decay of the first group, absolute; nothing where it is not scheduled.
  std::optional<WeightDecaySchedule> weight_decay(const TrainingLength& length,
                                                  double base_weight_decay) const;
  /// What can be wrong only together with a run's length and the optimizer's base values, in the
  /// names and units that the section has.
  void check_in(const TrainingLength& length, double base_lr, double base_weight_decay,
                Rules& rules) const;
  /// The scheduler over an optimizer; defined in the room build. The optimizer must outlive it.
  std::unique_ptr<LRScheduler> build(Optimizer& optimizer, const TrainingLength& length) const;
};

}  // namespace steepest
