#include "steepest/step/step_result.h"

#include <fmt/format.h>

namespace steepest {
namespace {

std::string why(SkipReason reason) {
  switch (reason) {
    case SkipReason::kNone:
      return "no reason given";
    case SkipReason::kNonFinite:
      return "a gradient is not finite";
    case SkipReason::kOverflow:
      return "a gradient overflowed";
    case SkipReason::kNormAboveThreshold:
      return "the gradient norm is above the threshold";
  }
  return "";
}

}  // namespace

std::string StepResult::text() const {
  const std::string scaled = loss_scale == 1 ? "" : fmt::format(", loss scale {}", loss_scale);
  if (!applied)
    return fmt::format("step {} skipped: {}{}, gradient norm {:.4g}{}", step + 1, why(reason),
                       first_non_finite ? " (first in " + *first_non_finite + ")" : "", grad_norm,
                       scaled);
  if (clip_factor == 1)
    return fmt::format("step {} applied: gradient norm {:.4g}, not clipped{}", step, grad_norm,
                       scaled);
  return fmt::format("step {} applied: gradient norm {:.4g} clipped to {:.4g} (factor {:.4g}){}",
                     step, grad_norm, max_norm, clip_factor, scaled);
}

}  // namespace steepest
