#include "steepest/linalg/gram_restarts.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace steepest {
namespace {

std::vector<NsCoefficients> five(CoefficientSet set) {
  return coefficient_schedule(coefficients(set), 5, false);
}

// The paper's list, divided by its safety factor 1.01: tuples 1 to 8 of Polar Express, four digits.
const std::vector<NsCoefficients> kEight = {{8.2051, -22.9019, 16.4607}, {4.0664, -2.8612, 0.5184},
                                            {3.9096, -2.8234, 0.5250},   {3.2856, -2.4153, 0.4853},
                                            {2.2779, -1.6198, 0.3985},   {1.8726, -1.2307, 0.3585},
                                            {1.8564, -1.2132, 0.3568},   {1.8750, -1.2500, 0.3750}};

struct Case {
  std::string name;
  std::vector<NsCoefficients> tuples;
  std::vector<int> before;
  double spread;
};

// Positions and scores that the reference finds.
TEST(GramRestarts, AreWhereTheReferencePutsThem) {
  const std::vector<NsCoefficients> pe(kEight.begin(), kEight.begin() + 5);
  for (const Case& each :
       {Case{"simple", five(CoefficientSet::kSimple), {3}, 62.52},
        Case{"quintic", five(CoefficientSet::kQuintic), {2}, 53.24},
        Case{"pe_dion", five(CoefficientSet::kPolarExpress), {2}, 118.6},
        Case{"pe_eo", pe, {1}, 630.7}, Case{"pe_eo(8)", kEight, {1, 3}, 170.3}}) {
    const auto count = static_cast<int>(each.before.size());
    const auto dense = gram_restarts(each.tuples, count, 10000);
    ASSERT_TRUE(dense.has_value()) << each.name;
    EXPECT_EQ(dense->before, each.before) << each.name;
    EXPECT_NEAR(dense->spread / each.spread, 1, 1e-3) << each.name;
    const auto quick = fewest_gram_restarts(each.tuples);
    ASSERT_TRUE(quick.has_value()) << each.name;
    EXPECT_EQ(quick->before, each.before) << each.name;
  }
  EXPECT_FALSE(gram_restarts(kEight, 1, 10000).has_value());
}

TEST(GramRestarts, WithoutOneTheFactorGrows) {
  const auto none = gram_restarts(five(CoefficientSet::kSimple), 0);
  ASSERT_TRUE(none.has_value());
  EXPECT_TRUE(none->before.empty());
  EXPECT_GT(none->spread, 1e6);
  EXPECT_FALSE(gram_restarts(kEight, 0).has_value());
}

TEST(GramRestarts, AreMoreWhereLessSpreadIsAllowed) {
  const auto two = fewest_gram_restarts(five(CoefficientSet::kSimple), 40);
  ASSERT_TRUE(two.has_value());
  EXPECT_EQ(two->before, (std::vector<int>{2, 3}));
  EXPECT_EQ(fewest_gram_restarts(five(CoefficientSet::kQuintic), 40)->before,
            (std::vector<int>{1, 3}));
  EXPECT_FALSE(fewest_gram_restarts(five(CoefficientSet::kPolarExpress), 40).has_value());
}

TEST(GramRestarts, HaveNoPlaceInShortLongAndCubicLists) {
  EXPECT_FALSE(fewest_gram_restarts(coefficients(CoefficientSet::kSimple)).has_value());
  EXPECT_FALSE(fewest_gram_restarts(std::vector<NsCoefficients>{}).has_value());
  EXPECT_FALSE(fewest_gram_restarts(
                   std::vector<NsCoefficients>(11, coefficients(CoefficientSet::kSimple)[0]))
                   .has_value());
  EXPECT_FALSE(fewest_gram_restarts(std::vector<NsCoefficients>(5, {1.5, -0.5, 0})).has_value());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(fewest_gram_restarts(std::vector<NsCoefficients>(5, {nan, nan, nan})).has_value());
}

}  // namespace
}  // namespace steepest
