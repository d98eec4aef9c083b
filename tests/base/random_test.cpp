#include "steepest/base/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace steepest {
namespace {

// Known answers of the Random123 distribution for philox4x32-10: counter and key all zeros, and all
// ones.
TEST(CounterRandom, GivesPhiloxKnownAnswers) {
  EXPECT_EQ(static_cast<std::uint32_t>(CounterRandom(0).bits(0, 0)), 0x6627e8d5u);
  EXPECT_EQ(CounterRandom(0).bits(0, 0) >> 32, 0xe169c58du);
  EXPECT_EQ(static_cast<std::uint32_t>(CounterRandom(~0ull).bits(~0ull, ~0ull)), 0x408f276du);
  EXPECT_EQ(CounterRandom(~0ull).bits(~0ull, ~0ull) >> 32, 0x41c83b0eu);
}

TEST(CounterRandom, IsAFunctionOfSeedStreamAndIndex) {
  const CounterRandom a(1), b(2);
  EXPECT_EQ(a.bits(3, 4), CounterRandom(1).bits(3, 4));
  EXPECT_NE(a.bits(3, 4), b.bits(3, 4));
  EXPECT_NE(a.bits(3, 4), a.bits(4, 3));
}

TEST(CounterRandom, StaysBelowItsBoundAndReachesAllValues) {
  const CounterRandom random(7);
  int seen[5] = {};
  for (std::uint64_t i = 0; i < 5000; ++i) ++seen[random.below(5, 0, i)];
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
  EXPECT_EQ(random.below(1, 0, 9), 0u);
}

TEST(CounterRandom, HasTheMomentsOfItsDistributions) {
  const CounterRandom random(11);
  double mean = 0, square = 0, uniform = 0;
  const int n = 20000;
  for (std::uint64_t i = 0; i < n; ++i) {
    const double x = random.normal(1, i);
    mean += x / n;
    square += x * x / n;
    uniform += random.uniform(2, i) / n;
  }
  EXPECT_NEAR(mean, 0, 0.03);
  EXPECT_NEAR(square, 1, 0.04);
  EXPECT_NEAR(uniform, 0.5, 0.01);
}

}  // namespace
}  // namespace steepest
