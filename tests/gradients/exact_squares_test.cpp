#include "steepest/gradients/exact_squares.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace steepest {
namespace {

template <class T>
double sum_of(const std::vector<T>& values) {
  ExactSquares sum;
  sum.add(std::span<const T>(values));
  return sum.value();
}

TEST(ExactSquares, ByHand) {
  EXPECT_EQ(ExactSquares().value(), 0);
  EXPECT_EQ(sum_of<float>({3, -4}), 25);
  EXPECT_EQ(sum_of<double>({3, -4, 0.5}), 25.25);
  EXPECT_EQ(sum_of<float>({0, -0.0f}), 0);
}

TEST(ExactSquares, KeepsWhatFp64Drops) {
  // 2^54 + 1 + 1: each 1 alone is half of the last place of 2^54 and would be lost.
  const float large = 0x1p27f;
  EXPECT_EQ(sum_of<float>({large, 1, 1}), 0x1p54);
  EXPECT_EQ(sum_of<float>({large, 1, 1, 1}), 0x1p54 + 4);  // 2^54 + 3: nearer to + 4
  EXPECT_EQ(sum_of<double>({0x1p600, 0x1p-600}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sum_of<double>({0x1p500, 0x1p474, 0x1p-300}), std::nextafter(0x1p1000, 0x1p1001));
}

TEST(ExactSquares, TiesGoToEven) {
  EXPECT_EQ(sum_of<double>({0x1p27, 1, 1}), 0x1p54);                // half: down to even
  EXPECT_EQ(sum_of<double>({0x1p27, 2, 1, 1}), 0x1p54 + 8);         // half of an odd: up
  EXPECT_EQ(sum_of<double>({0x1p27, 1, 1, 0x1p-500}), 0x1p54 + 4);  // just above half
}

TEST(ExactSquares, SubnormalSums) {
  const double least = std::numeric_limits<double>::denorm_min();  // 2^-1074
  EXPECT_EQ(sum_of<double>({0x1p-537}), least);
  EXPECT_EQ(sum_of<double>({0x1p-538}), 0);                              // a quarter
  EXPECT_EQ(sum_of<double>({0x1p-538, 0x1p-538}), 0);                    // half: even is 0
  EXPECT_EQ(sum_of<double>({0x1p-538, 0x1p-538, 0x1p-1074}), least);     // above half
  EXPECT_EQ(sum_of<double>({0x1p-537, 0x1p-538, 0x1p-538}), 2 * least);  // 1.5: even is 2
  EXPECT_EQ(sum_of<double>({least}), 0);
  // The square of the smallest fp32 is a normal fp64.
  EXPECT_EQ(sum_of<float>({std::numeric_limits<float>::denorm_min()}), 0x1p-298);
}

TEST(ExactSquares, TheLargest) {
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ(sum_of<double>({most}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sum_of<float>({std::numeric_limits<float>::max()}),
            std::pow(static_cast<double>(std::numeric_limits<float>::max()), 2));
}

TEST(ExactSquares, PassesOverWhatIsNotFinite) {
  EXPECT_EQ(sum_of<float>({2, std::nanf(""), std::numeric_limits<float>::infinity()}), 4);
  EXPECT_EQ(sum_of<double>({2, std::nan(""), -std::numeric_limits<double>::infinity()}), 4);
}

TEST(ExactSquares, ManyTermsOfOneExponent) {
  // More than fit into 64 bits before they are passed on.
  const std::vector<float> values(200'000, std::nextafter(2.0f, 0.0f));
  const double square = std::pow(static_cast<double>(values[0]), 2);  // 48 bits: exact
  EXPECT_EQ(sum_of(values), square * 200'000);                        // 66 bits, rounded once
}

TEST(ExactSquares, OrderAndPartsDoNotShow) {
  EXPECT_TRUE(rc::check([] {
    auto bits =
        *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::arbitrary<std::uint32_t>());
    std::vector<float> values;
    for (const std::uint32_t each : bits) values.push_back(std::bit_cast<float>(each));
    ExactSquares whole;
    whole.add(std::span<const float>(values));
    const auto cut = *rc::gen::inRange<std::size_t>(0, values.size() + 1);
    std::reverse(values.begin(), values.end());
    ExactSquares left, right;
    left.add(std::span<const float>(values).first(cut));
    for (const float each : std::span<const float>(values).subspan(cut)) {
      const std::vector<double> one{static_cast<double>(each)};
      right.add(std::span<const double>(one));
    }
    left.add(right);
    RC_ASSERT(left.digits() == whole.digits());
    RC_ASSERT(left.value() == whole.value());
  }));
}

TEST(ExactSquares, AgreesWithLongDoubleWhereThatIsExact) {
  EXPECT_TRUE(rc::check([] {
    // Values of 11 bits within 2^20 of each other: their squares' sum has fewer than 64 bits.
    const auto parts = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-1023, 1024));
    std::vector<float> values;
    long double sum = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const float x = std::ldexp(static_cast<float>(parts[i]), static_cast<int>(i % 10));
      values.push_back(x);
      sum += static_cast<long double>(x) * x;
    }
    RC_ASSERT(sum_of(values) == static_cast<double>(sum));
  }));
}

TEST(ExactSquares, ClearStartsAnew) {
  ExactSquares sum;
  const std::vector<float> values{5};
  sum.add(std::span<const float>(values));
  sum.clear();
  EXPECT_EQ(sum.value(), 0);
  EXPECT_EQ(sum.digits(), ExactSquares().digits());
}

}  // namespace
}  // namespace steepest
