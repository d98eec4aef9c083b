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

std::string StepResult::explain() const {
  std::string all = text() + "\n";
  for (const GroupNorm& each : group_norms)
    all += fmt::format(
        "  norm {}: {:.4g}{}\n", each.name, each.grad_norm,
        each.clip_factor == 1 ? ", not clipped" : fmt::format(", factor {:.4g}", each.clip_factor));
  for (const GroupRates& each : rates)
    all += fmt::format("  group {}: lr {:.4g}, weight decay {:.4g}\n", each.group, each.lr,
                       each.weight_decay);
  for (const MemberPaths& each : paths)
    all +=
        fmt::format("  rule {}: {} parameters through the kernels, {} through ATen's operators\n",
                    each.rule, each.fused, each.plain);
  all += fmt::format("  zeros {}, loss scale {}, applied {}, skipped {}\n", zeros, loss_scale, step,
                     skipped);
  return all;
}

}  // namespace steepest
