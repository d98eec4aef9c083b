#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "steepest/kernels/codecs.h"
#include "tests/support/every_target.h"

namespace steepest::kernels {
namespace {

using test::on_every_target;

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
float number(std::uint32_t x) { return std::bit_cast<float>(x); }

float wide_bf16(std::uint16_t x) { return number(std::uint32_t{x} << 16); }
/// By the definition of binary16.
float wide_f16(std::uint16_t x) {
  const float sign = x & 0x8000 ? -1.0f : 1.0f;
  const int exponent = (x >> 10) & 31, mantissa = x & 1023;
  if (exponent == 31)
    return mantissa ? std::nanf("") : sign * std::numeric_limits<float>::infinity();
  return sign * (exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                               : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25));
}

/// All bit patterns of 16-bit numbers.
std::vector<std::uint16_t> all_patterns() {
  std::vector<std::uint16_t> all(1 << 16);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  return all;
}

/// Patterns of fp32 that are hard to round, a stride through all of them, and random ones.
std::vector<float> hard_numbers() {
  std::vector<float> all;
  for (std::uint32_t i = 0; i < (1u << 16); ++i)
    for (const std::uint32_t low : {0u, 1u, 0xFFFu, 0x1000u, 0x1001u, 0x7FFFu, 0x8000u, 0x8001u})
      all.push_back(number(i << 16 | low));
  for (std::uint64_t i = 0; i < (std::uint64_t{1} << 32); i += 9973)
    all.push_back(number(static_cast<std::uint32_t>(i)));
  return all;
}

/// The nearest of the two neighbours, ties to the even one; what lies beyond the largest is Inf.
template <class Wide>
std::uint16_t nearest(float x, std::uint16_t infinity, std::uint16_t nan, const Wide& wide) {
  if (std::isnan(x)) return nan;
  const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double a = std::abs(static_cast<double>(x));
  // Patterns of numbers >= 0 are ordered as they are.
  std::uint16_t low = 0, high = infinity;
  if (std::isinf(x)) return sign | infinity;
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (static_cast<double>(wide(middle)) <= a ? low : high) = middle;
  }
  const double step = low + 1 == infinity ? wide(low) - wide(static_cast<std::uint16_t>(low - 1))
                                          : static_cast<double>(wide(high)) - wide(low);
  const double part = (a - wide(low)) / step;
  return sign | (part > 0.5 || (part == 0.5 && low % 2 == 1) ? high : low);
}

TEST(CodecsHalf, DecodeEveryPatternExactlyOnEveryInstructionSet) {
  const auto patterns = all_patterns();
  std::vector<float> values(patterns.size());
  on_every_target([&](const std::string& target) {
    decode_bf16(patterns.data(), values.data(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(bits(values[i]), bits(wide_bf16(patterns[i]))) << target << ' ' << i;
    decode_fp16(patterns.data(), values.data(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float expected = wide_f16(patterns[i]);
      ASSERT_TRUE(std::isnan(expected) ? std::isnan(values[i]) : bits(values[i]) == bits(expected))
          << target << ' ' << i;
    }
  });
}

TEST(CodecsHalf, EncodeToTheNearestEvenOnEveryInstructionSet) {
  const std::vector<float> values = hard_numbers();
  std::vector<std::uint16_t> bf16(values.size()), f16(values.size()), out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    bf16[i] = nearest(values[i], 0x7F80, 0x7FC0, wide_bf16);
    f16[i] = nearest(values[i], 0x7C00, 0x7E00, wide_f16);
  }
  on_every_target([&](const std::string& target) {
    encode_bf16(values.data(), out.data(), out.size());
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], bf16[i]) << target << " bf16 of " << std::hex << bits(values[i]);
    encode_fp16(values.data(), out.data(), out.size());
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], f16[i]) << target << " fp16 of " << std::hex << bits(values[i]);
  });
}

TEST(CodecsHalf, LengthAndAlignmentDoNotShow) {
  std::vector<float> values;
  for (int i = 0; i < 200; ++i) values.push_back(std::sin(static_cast<float>(i)) * 3.0f);
  std::vector<std::uint16_t> whole(200), cut(200);
  encode_fp16(values.data(), whole.data(), 200);
  on_every_target([&](const std::string& target) {
    for (std::size_t n = 0; n <= 100; ++n) {
      std::fill(cut.begin(), cut.end(), 0xABCD);
      encode_fp16(values.data() + 3, cut.data() + 1, n);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(cut[i + 1], whole[i + 3]) << target << ' ' << n;
      ASSERT_EQ(cut[n + 1], 0xABCD) << target << ": written past the end, n " << n;
      ASSERT_EQ(cut[0], 0xABCD);
    }
  });
}

/// Philox4x32-10 as published.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c, std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0],
                        p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}
std::uint16_t random_bits(const Draw& draw, std::uint64_t element) {
  const std::uint64_t block = element / 8;
  const auto words =
      philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
              static_cast<std::uint32_t>(draw.step), static_cast<std::uint32_t>(draw.step >> 32)},
             draw.seed ^ (draw.param * 0x9E3779B97F4A7C15));
  return static_cast<std::uint16_t>(words[element % 8 / 2] >> (16 * (element % 2)));
}

TEST(CodecsHalf, ByChanceTakesTheBitsOfItsElement) {
  const Draw draw{.seed = 0x123456789ABCDEF0, .step = 7, .param = 42};
  on_every_target([&](const std::string& target) {
    for (const std::uint64_t first :
         {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{34'359'738'363}}) {
      std::vector<float> values(700);
      std::mt19937 random(3);
      std::normal_distribution<float> normal;
      for (float& each : values) each = normal(random);
      std::vector<std::uint16_t> out(values.size());
      encode_bf16_stochastic(values.data(), out.data(), out.size(), draw, first);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::uint32_t up = bits(values[i]) + random_bits(draw, first + i);
        ASSERT_EQ(out[i], up >> 16) << target << ' ' << first << ' ' << i;
      }
      encode_fp16_stochastic(values.data(), out.data(), out.size(), draw, first);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const float a = std::abs(values[i]);
        const float step = std::ldexp(1.0f, std::max(std::ilogb(a), -14) - 10);
        const float whole = std::floor(a / step);
        const bool up = a / step - whole > static_cast<float>(random_bits(draw, first + i)) / 65536;
        ASSERT_EQ(wide_f16(out[i]), std::copysign((whole + up) * step, values[i]))
            << target << ' ' << first << ' ' << i;
      }
    }
  });
}

TEST(CodecsHalf, ByChanceIsRightOnAverageAndKeepsWhatIsExact) {
  constexpr std::size_t kCount = 1 << 17;
  for (const bool half : {false, true}) {
    for (const float x : {1.0f + 0.3f / 1024, -0.1f, 3e-6f, 1000.7f}) {
      const std::vector<float> values(kCount, x);
      std::vector<std::uint16_t> out(kCount);
      std::vector<float> back(kCount);
      const Draw draw{.seed = 1, .step = 2, .param = 3};
      half ? encode_fp16_stochastic(values.data(), out.data(), kCount, draw, 0)
           : encode_bf16_stochastic(values.data(), out.data(), kCount, draw, 0);
      half ? decode_fp16(out.data(), back.data(), kCount)
           : decode_bf16(out.data(), back.data(), kCount);
      double sum = 0;
      float low = back[0], high = back[0];
      for (const float each : back) {
        sum += each;
        low = std::min(low, each);
        high = std::max(high, each);
      }
      // Five standard deviations of a mean of kCount coin tosses between the neighbours.
      EXPECT_NEAR(sum / kCount, x, 5 * 0.5 * (high - low) / std::sqrt(double{kCount}));
      EXPECT_LE(low, x);
      EXPECT_GE(high, x);
    }
    const float exact[] = {0.0f,
                           -0.0f,
                           1.0f,
                           -2.5f,
                           std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity()};
    std::uint16_t out[6], plain[6];
    half ? encode_fp16_stochastic(exact, out, 6, {}, 0)
         : encode_bf16_stochastic(exact, out, 6, {}, 0);
    half ? encode_fp16(exact, plain, 6) : encode_bf16(exact, plain, 6);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(out[i], plain[i]) << half << ' ' << i;
  }
}

TEST(CodecsHalf, ByChanceNeverMakesInfinityOfTheLargestNumbers) {
  const std::vector<float> bf16(100, std::numeric_limits<float>::max()), f16(100, 65503.9f);
  std::vector<std::uint16_t> out(100);
  encode_bf16_stochastic(bf16.data(), out.data(), 100, {}, 0);
  for (const std::uint16_t each : out) EXPECT_EQ(each, 0x7F7F);
  encode_fp16_stochastic(f16.data(), out.data(), 100, {}, 0);
  for (const std::uint16_t each : out) EXPECT_LE(each, 0x7BFF);
  const float nan = std::nanf("");
  encode_bf16_stochastic(&nan, out.data(), 1, {}, 0);
  EXPECT_EQ(out[0], 0x7FC0);
  encode_fp16_stochastic(&nan, out.data(), 1, {}, 0);
  EXPECT_EQ(out[0], 0x7E00);
}

}  // namespace
}  // namespace steepest::kernels
