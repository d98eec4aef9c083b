#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "steepest/base/fields.h"
#include "steepest/gradients/norm_policy.h"
#include "steepest/step/step_factors.h"

namespace steepest {

enum class SkipReason { kNone, kNonFinite, kOverflow, kNormAboveThreshold };
inline const auto& spellings(SkipReason) {
  static constexpr Spelling<SkipReason> kAll[] = {
      {SkipReason::kNone, "none"},
      {SkipReason::kNonFinite, "non_finite"},
      {SkipReason::kOverflow, "overflow"},
      {SkipReason::kNormAboveThreshold, "norm_above_threshold"}};
  return kAll;
}

/// How many parameters of a member went which way in an update.
struct MemberPaths {
  std::string_view rule;
  std::int64_t fused = 0;  ///< through the kernels
  std::int64_t plain = 0;  ///< through ATen's operators
};

/// The rates that a group was, or would have been, updated with.
struct GroupRates {
  std::string group;
  double lr = 0, weight_decay = 0;
  bool operator==(const GroupRates&) const = default;
};

/// What a step did. A step that was not applied changed nothing: no weight, moment or counter.
struct StepResult {
  bool applied = false;
  SkipReason reason = SkipReason::kNone;
  double grad_norm = 0;      ///< main L2 norm, unscaled, before clipping; NaN or Inf when a
                             ///< gradient is
  double max_norm = 0;       ///< the limit in force, 0: none
  double clip_factor = 1;    ///< what gradients were multiplied by to keep it
  double loss_scale = 1;     ///< that the gradients came with
  std::int64_t zeros = 0;    ///< gradient values that are exactly 0
  std::int64_t step = 0;     ///< updates applied so far, this one included
  std::int64_t skipped = 0;  ///< steps thrown away so far, this one included
  std::optional<std::string> first_non_finite;  ///< first parameter whose gradient is not finite
  std::vector<GroupNorm> group_norms;           ///< of every norm beside the main one
  std::vector<GroupRates> rates;                ///< of every group, members in order
  std::vector<MemberPaths> paths;               ///< of an applied step, a member each

  /// One line for logs: "step 12 applied: gradient norm 3.2 clipped to 1 (factor 0.31)".
  std::string text() const;
  /// That line, and one for every norm, group and member.
  std::string explain() const;
};

}  // namespace steepest
