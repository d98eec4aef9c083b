#include "steepest/step/step_driver.h"

#include <fmt/format.h>

#include <cmath>

#include "steepest/gradients/clip.h"
#include "steepest/gradients/statistics.h"

namespace steepest {

StepDriver::StepDriver(std::vector<std::unique_ptr<Member>> members, StepPolicy policy)
    : members_(std::move(members)) {
  set_policy(policy);
}

void StepDriver::set_policy(StepPolicy policy) {
  validate(policy, "policy");
  policy_ = policy;
}

void StepDriver::restore_counters(std::int64_t applied, std::int64_t skipped) {
  applied_ = applied;
  skipped_ = skipped;
}

StepResult StepDriver::step() {
  std::vector<at::Tensor> grads;
  std::vector<std::string> names;
  for (const auto& member : members_) member->gradients(grads, names);
  const GradientStats stats = gradient_statistics(grads);

  StepResult result;
  result.grad_norm = stats.norm();
  result.max_norm = policy_.max_norm;
  result.zeros = stats.zeros;
  result.step = applied_;
  result.skipped = skipped_;

  if (stats.non_finite > 0 || !std::isfinite(result.grad_norm)) {
    if (stats.first_non_finite) result.first_non_finite = names[*stats.first_non_finite];
    if (policy_.non_finite == NonFinitePolicy::kError)
      throw NonFiniteError(
          {.what = fmt::format("the gradient of {} is not finite at step {} ({} NaN or Inf values "
                               "in all gradients)",
                               result.first_non_finite.value_or("every parameter, by its norm,"),
                               applied_ + 1, stats.non_finite),
           .why = "such a step would ruin the weights; none of them, and no optimizer state, was "
                  "changed",
           .remedy =
               "lower the learning rate, clip gradients, or set the policy to skip such steps"});
    result.reason = SkipReason::kNonFinite;
    result.skipped = ++skipped_;
    return result;
  }

  result.clip_factor = clip_factor(result.grad_norm, policy_.max_norm);
  for (const auto& member : members_) member->update(result.clip_factor);
  result.applied = true;
  result.step = ++applied_;
  return result;
}

}  // namespace steepest
