#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "steepest/base/fields.h"

namespace steepest {

/// What to do with a step whose gradients hold NaN or Inf.
enum class NonFinitePolicy { kError, kSkip };
inline const auto& spellings(NonFinitePolicy) {
  static constexpr Spelling<NonFinitePolicy> kAll[] = {{NonFinitePolicy::kError, "error"},
                                                       {NonFinitePolicy::kSkip, "skip"}};
  return kAll;
}

enum class SkipReason { kNone, kNonFinite };
inline const auto& spellings(SkipReason) {
  static constexpr Spelling<SkipReason> kAll[] = {{SkipReason::kNone, "none"},
                                                  {SkipReason::kNonFinite, "non_finite"}};
  return kAll;
}

/// What a step did. A step that was not applied changed nothing: no weight, moment or counter.
struct StepResult {
  bool applied = false;
  SkipReason reason = SkipReason::kNone;
  double grad_norm = 0;      ///< global L2 norm before clipping; NaN or Inf when a gradient is
  double max_norm = 0;       ///< the limit in force, 0: none
  double clip_factor = 1;    ///< what gradients were multiplied by
  std::int64_t zeros = 0;    ///< gradient values that are exactly 0
  std::int64_t step = 0;     ///< updates applied so far, this one included
  std::int64_t skipped = 0;  ///< steps thrown away so far, this one included
  std::optional<std::string> first_non_finite;  ///< first parameter whose gradient is not finite

  /// One line for logs: "step 12 applied: norm 3.2 clipped to 1 (factor 0.31)".
  std::string text() const;
};

}  // namespace steepest
