#include "steepest/report/replay_compare.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "steepest/base/error.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

using Measure = ReplayDifference::Measure;
using Kind = StateComparison::Kind;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

at::Tensor vector(std::vector<double> values) { return at::tensor(values, at::kDouble); }

bool match(const std::vector<double>& ours, const std::vector<double>& theirs,
           const ReplayLimits& limits, const StateComparison& how = {}) {
  return compare_tensors("x", vector(ours), vector(theirs), limits, how).passed();
}

TEST(ReplayCompare, AbsoluteLimitHoldsForEachElement) {
  EXPECT_TRUE(match({1, 0.099}, {1, 0}, {.atol = 0.1}));
  EXPECT_FALSE(match({1, 0.101}, {1, 0}, {.atol = 0.1}));
  EXPECT_TRUE(match({1, -0.099}, {1, 0}, {.atol = 0.1}));
}

TEST(ReplayCompare, RelativeLimitIsOfTheReference) {
  EXPECT_TRUE(match({-10.99}, {-10}, {.rtol = 0.1}));
  EXPECT_FALSE(match({-11.01}, {-10}, {.rtol = 0.1}));
  // |1 - 2| is 0.5 of 2 and 1 of 1.
  EXPECT_TRUE(match({1}, {2}, {.rtol = 0.5}));
  EXPECT_FALSE(match({2}, {1}, {.rtol = 0.5}));
}

TEST(ReplayCompare, AbsoluteAndRelativeAddUp) {
  EXPECT_TRUE(match({11.49}, {10}, {.rtol = 0.1, .atol = 0.5}));
  EXPECT_FALSE(match({11.51}, {10}, {.rtol = 0.1, .atol = 0.5}));
}

TEST(ReplayCompare, NothingAllowedMeansEqual) {
  EXPECT_TRUE(match({1, 2}, {1, 2}, {}));
  EXPECT_FALSE(match({1, std::nextafter(2.0, 3.0)}, {1, 2}, {}));
}

TEST(ReplayCompare, FrobeniusIsRelativeToTheNormOfTheReference) {
  // |b| = 5; |a - b| = 0.499 and 0.501.
  EXPECT_TRUE(match({3.499, 4}, {3, 4}, {.frob = 0.1}));
  EXPECT_FALSE(match({3.501, 4}, {3, 4}, {.frob = 0.1}));
}

TEST(ReplayCompare, EitherLimitIsEnough) {
  const ReplayLimits limits{.rtol = 0, .atol = 0.2, .frob = 0.1};
  EXPECT_TRUE(match({3.4, 4}, {3, 4}, limits));    // by the norm alone
  EXPECT_TRUE(match({0.1, 0.1}, {0, 0}, limits));  // by the elements alone
  EXPECT_FALSE(match({3.6, 4}, {3, 4}, limits));   // by neither
}

TEST(ReplayCompare, ZerosMustBeExactlyZeroUnderTheNorm) {
  EXPECT_TRUE(match({0, 0}, {0, 0}, {.frob = 0.005}));
  EXPECT_FALSE(match({0, 1e-30}, {0, 0}, {.frob = 0.005}));
}

TEST(ReplayCompare, ReportsTheElementNearestToItsLimitAndTheKinderMeasure) {
  // Errors 0.5 of 10.1 allowed, and 0.05 of 0.1 allowed: the second is nearer to its limit.
  const auto worst = compare_tensors("param/1/w", vector({100.5, 0.05}), vector({100, 0}),
                                     {.rtol = 0.1, .atol = 0.1});
  EXPECT_EQ(worst.where, "param/1/w");
  EXPECT_EQ(worst.measure, Measure::kAbsolute);
  EXPECT_DOUBLE_EQ(worst.error, 0.05);
  EXPECT_DOUBLE_EQ(worst.tolerance, 0.1);
  EXPECT_DOUBLE_EQ(worst.ratio, 0.5);

  const auto by_norm =
      compare_tensors("w", vector({3.4, 4}), vector({3, 4}), {.atol = 0.2, .frob = 0.1});
  EXPECT_EQ(by_norm.measure, Measure::kFrobenius);
  EXPECT_NEAR(by_norm.error, 0.08, 1e-12);
  EXPECT_DOUBLE_EQ(by_norm.tolerance, 0.1);
  EXPECT_NEAR(by_norm.ratio, 0.8, 1e-12);
}

TEST(ReplayCompare, NonFiniteElementsMatchOnlyTheirLike) {
  const ReplayLimits loose{.rtol = 1, .atol = 1e300, .frob = 1e300};
  EXPECT_TRUE(match({kNan, kInf, 1}, {kNan, kInf, 1}, loose));
  EXPECT_FALSE(match({kNan, 1}, {1, 1}, loose));
  EXPECT_FALSE(match({1, 1}, {kNan, 1}, loose));
  EXPECT_FALSE(match({kInf, 1}, {1, 1}, loose));
  EXPECT_FALSE(match({1, 1}, {kInf, 1}, loose));
  EXPECT_FALSE(match({-kInf, 1}, {kInf, 1}, loose));
}

TEST(ReplayCompare, DtypesAndStridesDoNotMatter) {
  const at::Tensor theirs = vector({1, 2, 3, 4}).view({2, 2});
  EXPECT_TRUE(compare_tensors("x", theirs.to(at::kBFloat16), theirs, {}).passed());
  EXPECT_TRUE(compare_tensors("x", vector({1, 3, 2, 4}).view({2, 2}).t(), theirs, {}).passed());
  EXPECT_FALSE(compare_tensors("x", theirs.t(), theirs, {}).passed());
}

TEST(ReplayCompare, EmptyTensorsMatch) {
  EXPECT_TRUE(compare_tensors("x", at::zeros({0, 3}), at::zeros({0, 3}), {}).passed());
  EXPECT_TRUE(compare_tensors("x", at::zeros({0, 3}), at::zeros({0, 3}), {},
                              {.kind = Kind::kColumnsUpToSign})
                  .passed());
}

TEST(ReplayCompare, AbsoluteValues) {
  EXPECT_TRUE(match({-1, 2}, {1, -2}, {}, {.kind = Kind::kAbsolute}));
  EXPECT_FALSE(match({-1, 2}, {1, -2.5}, {}, {.kind = Kind::kAbsolute}));
}

TEST(ReplayCompare, WholeColumnsMayBeNegatedSingleElementsMayNot) {
  const at::Tensor theirs = vector({1, 2, 3, 4}).view({2, 2});
  const StateComparison how{.kind = Kind::kColumnsUpToSign};
  EXPECT_TRUE(compare_tensors("q", vector({1, -2, 3, -4}).view({2, 2}), theirs, {}, how).passed());
  EXPECT_FALSE(compare_tensors("q", vector({1, -2, 3, 4}).view({2, 2}), theirs, {}, how).passed());
  EXPECT_FALSE(compare_tensors("q", vector({-1, -2, 3, 4}).view({2, 2}), theirs, {}, how).passed());
  // Each matrix of a batch for itself.
  const at::Tensor batch = vector({1, 2, 3, 4, 1, 2, 3, 4}).view({2, 2, 2});
  EXPECT_TRUE(
      compare_tensors("q", vector({1, 2, 3, 4, -1, 2, -3, 4}).view({2, 2, 2}), batch, {}, how)
          .passed());
}

TEST(ReplayCompare, CodesMayDifferByTheirNumber) {
  EXPECT_TRUE(match({5, 7}, {6, 7}, {.frob = 0.0}, {.kind = Kind::kCodes, .number = 1}));
  EXPECT_FALSE(match({5, 9}, {6, 7}, {.frob = 10.0}, {.kind = Kind::kCodes, .number = 1}));
}

TEST(ReplayCompare, OwnRelativeLimitReplacesTheFiles) {
  EXPECT_TRUE(match({1.0019}, {1}, {}, {.kind = Kind::kRelative, .number = 2e-3}));
  EXPECT_FALSE(match({1.0021}, {1}, {.atol = 1}, {.kind = Kind::kRelative, .number = 2e-3}));
}

TEST(ReplayCompare, SkippedIsNotCompared) {
  EXPECT_TRUE(match({1}, {1000}, {}, {.kind = Kind::kSkip}));
}

TEST(ReplayCompare, ShapesMustAgree) {
  EXPECT_ERROR(ShapeError,
               compare_tensors("state/m/w", at::zeros({2, 3}), at::zeros({3, 2}), {.atol = 1}),
               "state/m/w has shape [2, 3] here, [3, 2] in the file");
}

TEST(ReplayCompare, CountersAreNumbers) {
  EXPECT_TRUE(compare_counter("state/step/w", 6, at::full({}, 6.0, at::kFloat)).passed());
  EXPECT_TRUE(compare_counter("state/step/w", 6, at::full({1}, 6, at::kLong)).passed());
  const auto off = compare_counter("state/step/w", 5, at::full({}, 6.0, at::kFloat));
  EXPECT_FALSE(off.passed());
  EXPECT_EQ(off.error, 1);
  EXPECT_EQ(off.measure, Measure::kCount);
  EXPECT_ERROR(ShapeError, compare_counter("state/step/w", 5, at::zeros({2})),
               "state/step/w has 2 values in the file; it is a single counter");
}

TEST(ReplayCompare, MeasuresHaveNames) {
  EXPECT_EQ(name(Measure::kAbsolute), "absolute");
  EXPECT_EQ(name(Measure::kFrobenius), "frobenius");
  EXPECT_EQ(name(Measure::kCount), "count");
}

}  // namespace
}  // namespace steepest
