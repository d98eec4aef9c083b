#include "steepest/step/step_result.h"

#include <gtest/gtest.h>

#include <limits>

namespace steepest {
namespace {

TEST(StepResult, TellsOfAnAppliedStep) {
  StepResult result{.applied = true, .grad_norm = 3.25, .step = 12};
  EXPECT_EQ(result.text(), "step 12 applied: gradient norm 3.25, not clipped");
}

TEST(StepResult, TellsOfClippingOnce) {
  StepResult result{.applied = true, .grad_norm = 10, .max_norm = 1, .clip_factor = 0.1, .step = 3};
  EXPECT_EQ(result.text(), "step 3 applied: gradient norm 10 clipped to 1 (factor 0.1)");
}

TEST(StepResult, TellsWhyAStepWasSkipped) {
  StepResult result{.reason = SkipReason::kNonFinite,
                    .grad_norm = std::numeric_limits<double>::infinity(),
                    .step = 4,
                    .skipped = 1,
                    .first_non_finite = "b"};
  EXPECT_EQ(result.text(),
            "step 5 skipped: a gradient is not finite (first in b), gradient norm inf");
}

TEST(StepResult, PoliciesHaveNames) {
  EXPECT_EQ(parse_spelling<NonFinitePolicy>("skip"), NonFinitePolicy::kSkip);
  EXPECT_EQ(spelling(SkipReason::kNonFinite), "non_finite");
}

}  // namespace
}  // namespace steepest
