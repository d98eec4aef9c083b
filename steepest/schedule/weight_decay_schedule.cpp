#include "steepest/schedule/weight_decay_schedule.h"

#include <cmath>
#include <numbers>

namespace steepest {

void WeightDecaySchedule::check(const WeightDecaySchedule& o, Rules& rules) {
  rules.require(!(o.end < o.start), "end_wd", o.end,
                "at least start_wd (" + to_text(o.start) + ")");
  rules.require(o.style != WdIncrStyle::kConstant || !(o.end > o.start), "wd_incr_style", o.style,
                "linear or cosine where end_wd (" + to_text(o.end) + ") is above start_wd (" +
                    to_text(o.start) + ")");
}

double WeightDecaySchedule::at(std::int64_t step) const {
  if (style == WdIncrStyle::kConstant || step > incr_steps) return end;
  const double x = static_cast<double>(step) / static_cast<double>(incr_steps);
  const double share =
      style == WdIncrStyle::kLinear ? x : 0.5 * (std::cos(std::numbers::pi * (1 - x)) + 1);
  return start + share * (end - start);
}

}  // namespace steepest
