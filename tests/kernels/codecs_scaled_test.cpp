#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "steepest/kernels/codecs.h"
#include "tests/support/every_target.h"

namespace steepest::kernels {
namespace {

using test::on_every_target;

/// By the definition of E4M3.
float wide(std::uint8_t x) {
  const float sign = x & 0x80 ? -1.0f : 1.0f;
  const int exponent = (x >> 3) & 15, mantissa = x & 7;
  if ((x & 0x7F) == 0x7F) return std::nanf("");
  return sign * (exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                               : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10));
}

TEST(CodecsScaled, EveryE4m3PatternComesBack) {
  std::vector<std::uint8_t> all(256), again(256);
  for (std::size_t i = 0; i < 256; ++i) all[i] = static_cast<std::uint8_t>(i);
  std::vector<float> values(256);
  on_every_target([&](const std::string& target) {
    decode_e4m3_scaled(all.data(), 1, values.data(), 256);
    for (std::size_t i = 0; i < 256; ++i) {
      const float expected = wide(all[i]);
      ASSERT_TRUE(std::isnan(expected) ? std::isnan(values[i])
                                       : std::bit_cast<std::uint32_t>(values[i]) ==
                                             std::bit_cast<std::uint32_t>(expected))
          << target << ' ' << i;
    }
    encode_e4m3_scaled(values.data(), 1, again.data(), 256);
    for (std::size_t i = 0; i < 256; ++i)
      ASSERT_EQ(again[i], (i & 0x7F) == 0x7F ? 0x7F : all[i]) << target;
  });
}

TEST(CodecsScaled, RoundToTheNearestEvenAndStayAtTheLargest) {
  std::vector<float> values;
  for (std::uint64_t i = 0; i < (std::uint64_t{1} << 32); i += 65'521)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(i)));
  for (int i = 0; i < 126; ++i) {
    // Halfway between neighbours, and beside it.
    const float middle =
        (wide(static_cast<std::uint8_t>(i)) + wide(static_cast<std::uint8_t>(i + 1))) / 2;
    for (const float each : {middle, std::nextafter(middle, 1e9f), std::nextafter(middle, -1e9f)}) {
      values.push_back(each);
      values.push_back(-each);
    }
  }
  std::vector<std::uint8_t> codes(values.size());
  on_every_target([&](const std::string& target) {
    encode_e4m3_scaled(values.data(), 1, codes.data(), codes.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (std::isnan(values[k])) {
        ASSERT_EQ(codes[k], 0x7F) << target;
        continue;
      }
      const float a = std::min(std::abs(values[k]), 448.0f);
      std::uint8_t best = 0;
      for (std::uint8_t c = 1; c < 0x7F; ++c) {
        const float d = std::abs(wide(c) - a), now = std::abs(wide(best) - a);
        if (d < now || (d == now && c % 2 == 0)) best = c;
      }
      ASSERT_EQ(codes[k], best | (std::signbit(values[k]) ? 0x80 : 0))
          << target << ' ' << values[k];
    }
  });
}

TEST(CodecsScaled, AScaleOfZeroCountsAsOne) {
  const float zeros[3] = {};
  std::uint8_t codes[3];
  std::uint16_t halves[3];
  float back[3];
  encode_e4m3_scaled(zeros, 0, codes, 3);
  decode_e4m3_scaled(codes, 0, back, 3);
  for (const float each : back) EXPECT_EQ(each, 0);
  encode_fp16_scaled(zeros, 0, halves, 3);
  decode_fp16_scaled(halves, 0, back, 3);
  for (const float each : back) EXPECT_EQ(each, 0);
}

TEST(CodecsScaled, RoundTripsStayWithinTheirBounds) {
  std::vector<float> x(1001), back(1001);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(static_cast<float>(i)) * std::exp(-static_cast<float>(i % 30));
  std::vector<std::uint8_t> codes(x.size());
  std::vector<std::uint16_t> halves(x.size());
  on_every_target([&](const std::string& target) {
    const float most = largest_magnitude(x.data(), x.size());
    float by_hand = 0;
    for (const float each : x) by_hand = std::max(by_hand, std::abs(each));
    EXPECT_EQ(most, by_hand) << target;
    encode_e4m3_scaled(x.data(), most / 448, codes.data(), x.size());
    decode_e4m3_scaled(codes.data(), most / 448, back.data(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_NEAR(back[i], x[i], std::abs(x[i]) / 16 + most * std::exp2(-18.8))
          << target << ' ' << i;
    encode_fp16_scaled(x.data(), most / 32752, halves.data(), x.size());
    decode_fp16_scaled(halves.data(), most / 32752, back.data(), x.size());
    // A hundredth more than half a step for the two roundings of the scale.
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_NEAR(back[i], x[i], std::abs(x[i]) * 1.01 / 2048 + most * std::exp2(-40.0)) << target;
  });
}

TEST(CodecsScaled, TheLargestMagnitudeShowsNaN) {
  std::vector<float> x(70, 1.0f);
  EXPECT_EQ(largest_magnitude(x.data(), 0), 0.0f);
  x[69] = -3;
  EXPECT_EQ(largest_magnitude(x.data(), 70), 3.0f);
  x[5] = std::nanf("");
  EXPECT_TRUE(std::isnan(largest_magnitude(x.data(), 70)));
}

}  // namespace
}  // namespace steepest::kernels
