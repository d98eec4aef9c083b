#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "steepest/base/fields.h"

namespace steepest {

/// Shapes of a learning rate after warm-up. `inverse_square_root` and `wsd` are Megatron's names in
/// full.
enum class DecayStyle { kConstant, kLinear, kCosine, kInverseSquareRoot, kWarmupStableDecay };
/// Shape of the last phase of warm-up-stable-decay.
enum class WsdDecay { kLinear, kCosine, kExponential, kMinusSqrt };

inline const auto& spellings(DecayStyle) {
  static constexpr Spelling<DecayStyle> kAll[] = {
      {DecayStyle::kConstant, "constant"},
      {DecayStyle::kLinear, "linear"},
      {DecayStyle::kCosine, "cosine"},
      {DecayStyle::kInverseSquareRoot, "inverse-square-root"},
      {DecayStyle::kInverseSquareRoot, "inverse_square_root"},
      {DecayStyle::kWarmupStableDecay, "WSD"},
      {DecayStyle::kWarmupStableDecay, "wsd"},
  };
  return kAll;
}
inline const auto& spellings(WsdDecay) {
  static constexpr Spelling<WsdDecay> kAll[] = {
      {WsdDecay::kLinear, "linear"},
      {WsdDecay::kCosine, "cosine"},
      {WsdDecay::kExponential, "exponential"},
      {WsdDecay::kMinusSqrt, "minus_sqrt"},
  };
  return kAll;
}

/// A learning rate as a pure function of the step: building it at step N and stepping N times is
/// the same thing. The unit of every length is one optimizer update that was applied (not a
/// micro-batch, not a skipped step).
struct Schedule {
  DecayStyle style = DecayStyle::kConstant;
  double max_lr = 1e-3;           ///< reached when warm-up ends
  double min_lr = 0.0;            ///< held once the decay is over, 0 <= min_lr <= max_lr
  double init_lr = 0.0;           ///< where warm-up starts, 0 <= init_lr <= max_lr
  std::int64_t warmup_steps = 0;  ///< 0: the first step has max_lr
  std::int64_t decay_steps =
      1;  ///< step at which the decay ends, counted from 0 and warm-up included
  WsdDecay wsd_style = WsdDecay::kExponential;
  std::int64_t wsd_decay_steps =
      0;  ///< length of the last phase, 0 < it <= decay_steps - warmup_steps

  static constexpr auto fields() {
    using O = Schedule;
    return std::tuple{
        field("lr_decay_style", &O::style, "shape of the decay"),
        field("max_lr", &O::max_lr, at_least_zero(), "learning rate when warm-up ends"),
        field("min_lr", &O::min_lr, at_least_zero(), "learning rate once the decay is over"),
        field("init_lr", &O::init_lr, at_least_zero(),
              "learning rate at the first step of warm-up"),
        field("lr_warmup_steps", &O::warmup_steps, count_from(0, "0 or more"),
              "updates of linear warm-up"),
        field("lr_decay_steps", &O::decay_steps, count_from(1, "1 or more"),
              "update at which the decay ends, warm-up included"),
        field("lr_wsd_decay_style", &O::wsd_style,
              "shape of the last phase of warm-up-stable-decay"),
        field("wsd_decay_steps", &O::wsd_decay_steps, count_from(0, "0 or more"),
              "length of the last phase of warm-up-stable-decay")};
  }
  static void check(const Schedule& o, Rules& rules);
  bool operator==(const Schedule&) const = default;

  /// The learning rate of the update that follows `step` applied updates (0 for the first update).
  ///
  ///   warm-up, 0 < step <= W:   init + (max - init) * step / W         (and init at step 0 when W
  ///   > 0) after decay_steps:        min (inverse square root and constant have no end of their
  ///   own: see below) x = (step - W) / (D - W): linear                    min + (max - min) * (1 -
  ///   x) cosine                    min + (max - min) * (cos(pi x) + 1) / 2 inverse square root
  ///   max(min, max_lr * sqrt(max(W, 1)) / sqrt(max(step, 1))) WSD                       max until
  ///   D - wsd_decay_steps, then by wsd_style down to min at D constant                  max
  ///
  /// Semantics and corner cases: Megatron-Core's OptimizerParamScheduler.
  double at(std::int64_t step) const;
};

}  // namespace steepest
