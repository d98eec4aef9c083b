#include "steepest/schedule/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace steepest {

void Schedule::check(const Schedule& o, Rules& rules) {
  rules.require(!(o.min_lr > o.max_lr), "min_lr", o.min_lr,
                "at most max_lr (" + to_text(o.max_lr) + ")");
  rules.require(!(o.init_lr > o.max_lr), "init_lr", o.init_lr,
                "at most max_lr (" + to_text(o.max_lr) + ")");
  rules.require(o.warmup_steps < o.decay_steps, "lr_warmup_steps", o.warmup_steps,
                "below lr_decay_steps (" + to_text(o.decay_steps) + ")");
  if (o.style == DecayStyle::kWarmupStableDecay)
    rules.require(o.wsd_decay_steps > 0 && o.wsd_decay_steps <= o.decay_steps - o.warmup_steps,
                  "wsd_decay_steps", o.wsd_decay_steps,
                  "above 0 and at most lr_decay_steps - lr_warmup_steps (" +
                      to_text(o.decay_steps - o.warmup_steps) + ")");
}

double Schedule::at(std::int64_t step) const {
  if (warmup_steps > 0 && step <= warmup_steps)
    return init_lr +
           (max_lr - init_lr) * static_cast<double>(step) / static_cast<double>(warmup_steps);
  if (style == DecayStyle::kConstant) return max_lr;
  if (step > decay_steps) return min_lr;
  const double range = max_lr - min_lr;
  if (style == DecayStyle::kInverseSquareRoot) {
    const auto warm = static_cast<double>(std::max<std::int64_t>(warmup_steps, 1));
    const auto now = static_cast<double>(std::max<std::int64_t>(step, 1));
    return std::max(min_lr, max_lr * std::sqrt(warm) / std::sqrt(now));
  }
  if (style == DecayStyle::kWarmupStableDecay) {
    const std::int64_t start = decay_steps - wsd_decay_steps;
    if (step <= start) return max_lr;
    const double x = static_cast<double>(step - start) / static_cast<double>(wsd_decay_steps);
    double share = 0;
    switch (wsd_style) {
      case WsdDecay::kLinear:
        share = 1 - x;
        break;
      case WsdDecay::kCosine:
        share = 0.5 * (std::cos(std::numbers::pi * x) + 1);
        break;
      case WsdDecay::kExponential:
        share = 2 * std::pow(0.5, x) - 1;
        break;
      case WsdDecay::kMinusSqrt:
        share = 1 - std::sqrt(x);
        break;
    }
    return min_lr + share * range;
  }
  const std::int64_t length = decay_steps - warmup_steps;
  const double x =
      length > 0 ? static_cast<double>(step - warmup_steps) / static_cast<double>(length) : 1.0;
  const double share =
      style == DecayStyle::kLinear ? 1 - x : 0.5 * (std::cos(std::numbers::pi * x) + 1);
  return min_lr + share * range;
}

}  // namespace steepest
