#include "steepest/linalg/coefficient_sets.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"

namespace steepest {
namespace {

/// The composed polynomial of a list at one singular value, in fp64.
double p(CoefficientSet set, int steps, double x) {
  for (const auto& [a, b, c] : coefficient_schedule(coefficients(set), steps, false))
    x = a * x + b * std::pow(x, 3) + c * std::pow(x, 5);
  return x;
}

TEST(CoefficientSets, GiveThePublishedPolynomials) {
  EXPECT_NEAR(p(CoefficientSet::kSimple, 5, 0.6), 0.722876, 1e-6);
  EXPECT_NEAR(p(CoefficientSet::kSimple, 5, 0.8), 1.119204, 1e-6);
  EXPECT_NEAR(p(CoefficientSet::kQuintic, 5, 0.6), 1.018629, 1e-6);
  EXPECT_NEAR(p(CoefficientSet::kQuintic, 5, 0.8), 1.005632, 1e-6);
  EXPECT_NEAR(p(CoefficientSet::kPolarExpress, 5, 0.6), 0.871286, 1e-6);
  EXPECT_NEAR(p(CoefficientSet::kPolarExpress, 5, 0.8), 1.033750, 1e-6);
}

// Bounds of the published lists over normalised singular values from 0.01 on.
TEST(CoefficientSets, KeepSingularValuesNearOne) {
  const auto check = [](CoefficientSet set, double low, double high) {
    for (double x = 0.01; x <= 1; x += 1e-4) {
      EXPECT_GE(p(set, 5, x), low - 1e-4);
      EXPECT_LE(p(set, 5, x), high + 1e-4);
    }
  };
  check(CoefficientSet::kSimple, 0.6818, 1.1344);
  check(CoefficientSet::kQuintic, 0.9778, 1.0318);
  check(CoefficientSet::kPolarExpress, 0.8589, 1.1411);
}

TEST(CoefficientSets, RefusePartialCycles) {
  EXPECT_ERROR(ConfigError, coefficient_schedule(coefficients(CoefficientSet::kQuintic), 6, false),
               "6 Newton-Schulz steps do not go through a list of 5 coefficients a whole number of "
               "times; a restarted list "
               "maps values near 1 close to 0 or below, which can turn the update around; take a "
               "multiple of 5, or set "
               "allow_partial_cycle");
  EXPECT_EQ(coefficient_schedule(coefficients(CoefficientSet::kQuintic), 6, true)[5],
            coefficients(CoefficientSet::kQuintic)[0]);
  EXPECT_EQ(coefficient_schedule(coefficients(CoefficientSet::kSimple), 7, false).size(), 7u);
  EXPECT_ERROR(ConfigError, coefficient_schedule({}, 5, false),
               "the list of Newton-Schulz coefficients is empty");
  EXPECT_ERROR(ConfigError, coefficient_schedule(coefficients(CoefficientSet::kSimple), 0, false),
               "Newton-Schulz takes 0 steps; it needs at least 1");
}

}  // namespace
}  // namespace steepest
