#include "steepest/step/step_result.h"

#include <fmt/format.h>

namespace steepest {

std::string StepResult::text() const {
  if (!applied)
    return fmt::format(
        "step {} skipped: {}{}, gradient norm {:.4g}", step + 1,
        reason == SkipReason::kNonFinite ? "a gradient is not finite" : "no reason given",
        first_non_finite ? " (first in " + *first_non_finite + ")" : "", grad_norm);
  if (clip_factor == 1)
    return fmt::format("step {} applied: gradient norm {:.4g}, not clipped", step, grad_norm);
  return fmt::format("step {} applied: gradient norm {:.4g} clipped to {:.4g} (factor {:.4g})",
                     step, grad_norm, max_norm, clip_factor);
}

}  // namespace steepest
