#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "steepest/step/member.h"
#include "steepest/step/step_result.h"

namespace steepest {

/// What the driver decides by.
struct StepPolicy {
  double max_norm = 0;  ///< gradients are clipped to this global L2 norm; 0: no clipping
  NonFinitePolicy non_finite = NonFinitePolicy::kError;

  static constexpr auto fields() {
    using O = StepPolicy;
    return std::tuple{
        field("max_norm", &O::max_norm, at_least_zero(),
              "global L2 norm that gradients are clipped to; 0: no clipping"),
        field("non_finite", &O::non_finite, "what a NaN or Inf gradient does: error or skip")};
  }
  bool operator==(const StepPolicy&) const = default;
};

/// The only place that decides whether a step happens: one read of all members' gradients, one
/// decision, one update of every member under the same factor. A step that is not applied leaves no
/// trace.
class StepDriver {
 public:
  StepDriver(std::vector<std::unique_ptr<Member>> members, StepPolicy policy);

  /// NonFiniteError under policy error: names the first parameter whose gradient is not finite;
  /// nothing was changed.
  StepResult step();

  void add(std::unique_ptr<Member> member) { members_.push_back(std::move(member)); }
  const std::vector<std::unique_ptr<Member>>& members() const { return members_; }
  const StepPolicy& policy() const { return policy_; }
  void set_policy(StepPolicy policy);
  std::int64_t applied() const { return applied_; }
  std::int64_t skipped() const { return skipped_; }
  void restore_counters(std::int64_t applied, std::int64_t skipped);

 private:
  std::vector<std::unique_ptr<Member>> members_;
  StepPolicy policy_;
  std::int64_t applied_ = 0, skipped_ = 0;
};

}  // namespace steepest
