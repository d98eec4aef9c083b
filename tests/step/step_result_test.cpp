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

TEST(StepResult, ExplainsEveryNormGroupAndMember) {
  const StepResult result{.applied = true,
                          .grad_norm = 10,
                          .max_norm = 1,
                          .clip_factor = 0.1,
                          .loss_scale = 8,
                          .zeros = 4,
                          .step = 3,
                          .skipped = 2,
                          .group_norms = {{"mtp", 20, 0.05}, {"experts", 0.5, 1}},
                          .rates = {{"matrices", 0.02, 0.1}, {"rest", 0.001, 0}},
                          .paths = {{"muon", 0, 48}, {"adamw", 100, 0}}};
  EXPECT_EQ(result.explain(),
            "step 3 applied: gradient norm 10 clipped to 1 (factor 0.1), loss scale 8\n"
            "  norm mtp: 20, factor 0.05\n"
            "  norm experts: 0.5, not clipped\n"
            "  group matrices: lr 0.02, weight decay 0.1\n"
            "  group rest: lr 0.001, weight decay 0\n"
            "  rule muon: 0 parameters through the kernels, 48 through ATen's operators\n"
            "  rule adamw: 100 parameters through the kernels, 0 through ATen's operators\n"
            "  zeros 4, loss scale 8, applied 3, skipped 2\n");
}

TEST(StepResult, PoliciesHaveNames) {
  EXPECT_EQ(parse_spelling<NonFinitePolicy>("skip"), NonFinitePolicy::kSkip);
  EXPECT_EQ(spelling(SkipReason::kNonFinite), "non_finite");
}

}  // namespace
}  // namespace steepest
