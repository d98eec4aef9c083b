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
  std::optional<double> grad_norm_skip_threshold;  ///< steps of a larger main norm are skipped
  bool zero_gradients = false;  ///< set gradients to zero in the pass that reads them
  LossScaleConfig loss_scale;
  std::vector<std::string> norm_groups = {};  ///< names that groups' NormUse may give
  bool exact_norm = false;                    ///< squares are added without rounding

  static constexpr auto fields() {
    using O = StepPolicy;
    return std::tuple_cat(
        norm_policy_fields<O>(),
        std::tuple{field("zero_gradients", &O::zero_gradients,
                         "set gradients to zero in the pass that reads them, where the step is "
                         "applied")});
  }
  static void check(const StepPolicy& o, Rules& rules);
  bool operator==(const StepPolicy&) const = default;
};

/// The only place that decides whether a step happens: one read of all members' gradients, one
/// decision, one update of every member, into whose factors loss scale and clipping are folded:
/// gradients are never written to but to set them to zero. A step that is not applied leaves no
/// trace.
///
/// Norms: every gradient counts in the main norm, in the norm that its group names, or (in_norm
/// false) in none; each is clipped by its norm, those in none by the main one. Only the main norm
/// is held against the skip threshold. A value that is not finite, wherever it is, concerns the
/// whole step; zeros are counted everywhere.
class StepDriver {
 public:
  /// ConfigError: a policy that does not hold, or a group whose norm_group the policy lacks (the
  /// nearest is named).
  StepDriver(std::vector<std::unique_ptr<Member>> members, StepPolicy policy);

  /// prepare_grads and step_with_ready_grads. NonFiniteError under policy error: names the first
  /// parameter whose gradient is not finite; nothing was changed. The result is good until the next
  /// step.
  const StepResult& step();
  /// The first half: reads the gradients and moves the loss scale. True: one is not finite, and the
  /// step will be skipped.
  bool prepare_grads();
  /// The second half: decides and updates. StateError without prepare_grads before it. Gradients
  /// must not change in between.
  const StepResult& step_with_ready_grads();

  void add(std::unique_ptr<Member> member);
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
    std::int64_t non_finite, zeros;
    double main_squares;
    std::optional<std::string> first_non_finite;
    double loss_scale, inverse;
  };
  /// Asks every member, into owners_ and gradients_.
  void collect_gradients();
  /// Adds the squares that were read up: into squares_, the main norm's first.
  void add_squares();
  bool not_finite(const Ready& ready) const;
  void take_rates();

  std::vector<std::unique_ptr<Member>> members_;
  StepPolicy policy_;
  LossScaler scaler_;
  GradientReader reader_;
  std::optional<Ready> ready_;
  // Kept from step to step, so that a step allocates nothing.
  std::vector<at::Tensor> gradients_;
  std::vector<GradientOf> owners_;
  std::vector<double> squares_;
  std::vector<ExactSquares> exact_;
  StepResult result_;
  std::int64_t applied_ = 0, skipped_ = 0;
};

}  // namespace steepest
