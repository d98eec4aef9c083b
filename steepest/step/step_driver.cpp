#include "steepest/step/step_driver.h"

#include <fmt/format.h>

#include <cmath>

#include "steepest/base/error.h"
#include "steepest/gradients/clip.h"

namespace steepest {
namespace {

bool not_finite(const GradientStats& stats) {
  return stats.non_finite > 0 || !std::isfinite(stats.norm());
}

}  // namespace

StepDriver::StepDriver(std::vector<std::unique_ptr<Member>> members, StepPolicy policy)
    : members_(std::move(members)) {
  set_policy(policy);
}

void StepDriver::set_policy(const StepPolicy& policy) {
  validate(policy, "policy");
  if (!(policy.loss_scale == scaler_.config())) scaler_ = LossScaler(policy.loss_scale);
  policy_ = policy;
}

void StepDriver::restore_counters(std::int64_t applied, std::int64_t skipped) {
  applied_ = applied;
  skipped_ = skipped;
}

StepResult StepDriver::step() {
  prepare_grads();
  return step_with_ready_grads();
}

bool StepDriver::prepare_grads() {
  std::vector<at::Tensor> grads;
  std::vector<std::string> names;
  for (const auto& member : members_) member->gradients(grads, names);
  reader_.read(grads);
  Ready ready{{}, {}, scaler_.scale(), scaler_.inverse()};
  for (std::size_t i = 0; i < grads.size(); ++i) {
    ready.stats += reader_.stats()[i];
    if (reader_.stats()[i].non_finite > 0 && !ready.first_non_finite)
      ready.first_non_finite = names[i];
  }
  const bool found = not_finite(ready.stats);
  if (scaler_.enabled()) scaler_.update(found);
  ready_ = std::move(ready);
  return found && (scaler_.enabled() || policy_.non_finite != NonFinitePolicy::kIgnore);
}

// norm = sqrt(sum g^2) / s;  factor = min(1, max_norm / (norm + 1e-6)) / s
StepResult StepDriver::step_with_ready_grads() {
  if (!ready_)
    throw StateError({.what = "step_with_ready_grads was called without prepare_grads before it",
                      .why = "nothing is known of the gradients",
                      .remedy = "call prepare_grads, or step, which does both"});
  const Ready ready = *std::exchange(ready_, std::nullopt);
  {
    // What was put in their place since must fit as well.
    std::vector<at::Tensor> grads;
    std::vector<std::string> names;
    for (const auto& member : members_) member->gradients(grads, names);
  }

  StepResult result;
  result.grad_norm = ready.stats.norm() * ready.inverse;
  result.max_norm = policy_.max_norm;
  result.loss_scale = ready.loss_scale;
  result.zeros = ready.stats.zeros;
  result.step = applied_;
  result.first_non_finite = ready.first_non_finite;

  if (not_finite(ready.stats)) {
    if (scaler_.enabled()) {
      result.reason = SkipReason::kOverflow;
    } else if (policy_.non_finite == NonFinitePolicy::kError) {
      throw NonFiniteError(
          {.what = fmt::format("the gradient of {} is not finite at step {} ({} NaN or Inf values "
                               "in all gradients)",
                               result.first_non_finite.value_or("every parameter, by its norm,"),
                               applied_ + 1, ready.stats.non_finite),
           .why = "such a step would ruin the weights; none of them, and no optimizer state, was "
                  "changed",
           .remedy =
               "lower the learning rate, clip gradients, or set the policy to skip such steps"});
    } else if (policy_.non_finite == NonFinitePolicy::kSkip) {
      result.reason = SkipReason::kNonFinite;
    }
  } else if (policy_.grad_norm_skip_threshold &&
             result.grad_norm > *policy_.grad_norm_skip_threshold) {
    result.reason = SkipReason::kNormAboveThreshold;
  }
  if (result.reason != SkipReason::kNone) {
    result.skipped = ++skipped_;
    return result;
  }

  // A norm that is not finite clips nothing: policy ignore lets the values through as they are.
  if (std::isfinite(result.grad_norm))
    result.clip_factor = clip_factor(result.grad_norm, policy_.max_norm);
  for (const auto& member : members_)
    result.paths.push_back(
        member->update(result.clip_factor * ready.inverse, policy_.zero_gradients));
  result.applied = true;
  result.step = ++applied_;
  result.skipped = skipped_;
  return result;
}

}  // namespace steepest
