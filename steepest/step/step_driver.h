#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "steepest/gradients/statistics.h"
#include "steepest/precision/loss_scaler.h"
#include "steepest/step/member.h"
#include "steepest/step/step_result.h"

namespace steepest {

/// What the driver decides by.
struct StepPolicy {
  double max_norm = 0;  ///< gradients are clipped to this global L2 norm; 0: no clipping
  NonFinitePolicy non_finite = NonFinitePolicy::kError;
  std::optional<double> grad_norm_skip_threshold;  ///< steps of a larger norm are skipped
  bool zero_gradients = false;  ///< set gradients to zero in the pass that reads them
  LossScaleConfig loss_scale;

  static constexpr auto fields() {
    using O = StepPolicy;
    return std::tuple{
        field("max_norm", &O::max_norm, at_least_zero(),
              "global L2 norm that gradients are clipped to; 0: no clipping"),
        field("non_finite", &O::non_finite,
              "what a NaN or Inf gradient does: error, skip or ignore"),
        field("grad_norm_skip_threshold", &O::grad_norm_skip_threshold, above_zero(),
              "a step whose gradient norm is larger is skipped; null: none is"),
        field("zero_gradients", &O::zero_gradients,
              "set gradients to zero in the pass that reads them, where the step is applied")};
  }
  static void check(const StepPolicy& o, Rules& rules) { check_fields(o.loss_scale, rules); }
  bool operator==(const StepPolicy&) const = default;
};

/// The only place that decides whether a step happens: one read of all members' gradients, one
/// decision, one update of every member under the same factor, into which loss scale and clipping
/// are folded: gradients are never written to but to set them to zero. A step that is not applied
/// leaves no trace.
class StepDriver {
 public:
  StepDriver(std::vector<std::unique_ptr<Member>> members, StepPolicy policy);

  /// prepare_grads and step_with_ready_grads. NonFiniteError under policy error: names the first
  /// parameter whose gradient is not finite; nothing was changed.
  StepResult step();
  /// The first half: reads the gradients and moves the loss scale. True: one is not finite, and the
  /// step will be skipped.
  bool prepare_grads();
  /// The second half: decides and updates. StateError without prepare_grads before it. Gradients
  /// must not change in between.
  StepResult step_with_ready_grads();

  void add(std::unique_ptr<Member> member) { members_.push_back(std::move(member)); }
  const std::vector<std::unique_ptr<Member>>& members() const { return members_; }
  const StepPolicy& policy() const { return policy_; }
  /// A loss scale whose config changes starts anew.
  void set_policy(const StepPolicy& policy);
  const LossScaler& scaler() const { return scaler_; }
  LossScaler& scaler() { return scaler_; }
  std::int64_t applied() const { return applied_; }
  std::int64_t skipped() const { return skipped_; }
  void restore_counters(std::int64_t applied, std::int64_t skipped);

 private:
  /// What was read of the gradients, and the scale they came with.
  struct Ready {
    GradientStats stats;
    std::optional<std::string> first_non_finite;
    double loss_scale, inverse;
  };

  std::vector<std::unique_ptr<Member>> members_;
  StepPolicy policy_;
  LossScaler scaler_;
  GradientReader reader_;
  std::optional<Ready> ready_;
  std::int64_t applied_ = 0, skipped_ = 0;
};

}  // namespace steepest
