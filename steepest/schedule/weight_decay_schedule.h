#pragma once

#include <cstdint>

#include "steepest/base/fields.h"

namespace steepest {

/// How weight decay goes from its start to its end.
enum class WdIncrStyle { kConstant, kLinear, kCosine };

inline const auto& spellings(WdIncrStyle) {
  static constexpr Spelling<WdIncrStyle> kAll[] = {
      {WdIncrStyle::kConstant, "constant"},
      {WdIncrStyle::kLinear, "linear"},
      {WdIncrStyle::kCosine, "cosine"},
  };
  return kAll;
}

/// A weight decay as a pure function of the step, which is one applied update.
struct WeightDecaySchedule {
  WdIncrStyle style = WdIncrStyle::kConstant;
  double start = 0;             ///< at the first step, 0 <= start <= end
  double end = 0;               ///< from incr_steps on; equal to start where style is constant
  std::int64_t incr_steps = 1;  ///< length of the way from start to end

  static constexpr auto fields() {
    using O = WeightDecaySchedule;
    return std::tuple{
        field("wd_incr_style", &O::style, "shape of the way from start_wd to end_wd"),
        field("start_wd", &O::start, at_least_zero(), "weight decay of the first step"),
        field("end_wd", &O::end, at_least_zero(), "weight decay once it has risen"),
        field("wd_incr_steps", &O::incr_steps, count_from(1, "1 or more"),
              "updates that it takes to rise")};
  }
  static void check(const WeightDecaySchedule& o, Rules& rules);
  bool operator==(const WeightDecaySchedule&) const = default;

  /// The weight decay of the update that follows `step` applied updates, with S = start, E = end,
  /// I = incr_steps, n = step:
  ///
  ///   n > I     E
  ///   constant  E
  ///   linear    S + (E - S) n / I
  ///   cosine    S + (E - S) (cos(pi (1 - n / I)) + 1) / 2
  ///
  /// Semantics: Megatron-Core's OptimizerParamScheduler.
  double at(std::int64_t step) const;
};

}  // namespace steepest
