#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
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

TEST(CodecsMaster, RemaindersHaveThePublishedExamples) {
  struct {
    std::uint32_t master;
    std::uint16_t narrow;
    std::int16_t remainder;
  } const examples[] = {{0x3F80C000, 0x3F81, -16384},
                        {0x3F808000, 0x3F81, -32768},
                        {0xBF80FFFF, 0xBF81, -1},
                        {0x7F7FFFFF, 0x7F80, -1},
                        {0x40490FDB, 0x4049, 4059}};
  for (const auto& each : examples) {
    const float master = number(each.master);
    std::uint16_t narrow;
    std::int16_t remainder;
    float back;
    split_remainder(&master, &narrow, &remainder, 1);
    EXPECT_EQ(narrow, each.narrow);
    EXPECT_EQ(remainder, each.remainder);
    join_remainder(&narrow, &remainder, &back, 1);
    EXPECT_EQ(bits(back), each.master);
  }
}

/// STEEPEST_EXHAUSTIVE=1 goes through all 2^32 patterns, which takes half a minute.
TEST(CodecsMaster, RemaindersGiveEveryPatternBack) {
  const bool all = std::getenv("STEEPEST_EXHAUSTIVE") != nullptr;
  constexpr std::size_t kCount = 1 << 16;
  std::vector<float> masters(kCount), back(kCount);
  std::vector<std::uint16_t> narrow(kCount);
  std::vector<std::int16_t> remainder(kCount);
  on_every_target([&](const std::string& target) {
    for (std::uint64_t high = 0; high < (1 << 16); high += all ? 1 : 257) {
      for (std::size_t low = 0; low < kCount; ++low)
        masters[low] = number(static_cast<std::uint32_t>(high << 16 | low));
      split_remainder(masters.data(), narrow.data(), remainder.data(), kCount);
      join_remainder(narrow.data(), remainder.data(), back.data(), kCount);
      for (std::size_t low = 0; low < kCount; ++low)
        ASSERT_EQ(bits(back[low]), high << 16 | low) << target;
    }
  });
}

TEST(CodecsMaster, ErrorCodesHaveThePublishedExamples) {
  struct {
    float master;
    std::uint16_t narrow;
    std::int8_t code8;
    std::int16_t code16;
  } const examples[] = {{1.0009765625f, 0x3F80, 32, 8192},
                        {1.001f, 0x3F80, 33, 8389},
                        {-0.3f, 0xBE9A, 102, 26213},
                        {3.14159274f, 0x4049, 16, 4059},
                        {0.001f, 0x3A83, 18, 4719}};
  on_every_target([&](const std::string& target) {
    for (const auto& each : examples) {
      std::uint16_t narrow;
      std::int8_t code8;
      std::int16_t code16;
      encode_bf16_error8(&each.master, &narrow, &code8, 1);
      EXPECT_EQ(narrow, each.narrow) << target << ' ' << each.master;
      EXPECT_EQ(code8, each.code8) << target << ' ' << each.master;
      encode_bf16_error16(&each.master, &narrow, &code16, 1);
      EXPECT_EQ(code16, each.code16) << target << ' ' << each.master;
    }
    // The published one that does not come back: one fp32 ulp off.
    const float master = number(0x3F803FF1);
    std::uint16_t narrow;
    std::int16_t code16;
    float back;
    encode_bf16_error16(&master, &narrow, &code16, 1);
    decode_bf16_error16(&narrow, &code16, &back, 1);
    EXPECT_EQ(bits(back), 0x3F803FF2u) << target;
  });
}

TEST(CodecsMaster, ErrorCodesStayWithinTheirBounds) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> masters(100'003), back(masters.size());
  for (float& each : masters)
    each = normal(random) * std::ldexp(1.0f, static_cast<int>(random() % 20) - 10);
  std::vector<std::uint16_t> narrow(masters.size());
  std::vector<std::int8_t> code8(masters.size());
  std::vector<std::int16_t> code16(masters.size());
  const auto worst = [&] {
    double most = 0;
    for (std::size_t i = 0; i < masters.size(); ++i)
      most = std::max(most, std::abs(double{back[i]} - masters[i]) / std::abs(masters[i]));
    return most;
  };
  on_every_target([&](const std::string& target) {
    encode_bf16_error8(masters.data(), narrow.data(), code8.data(), masters.size());
    decode_bf16_error8(narrow.data(), code8.data(), back.data(), masters.size());
    EXPECT_LE(worst(), 1.55e-5) << target;
    encode_bf16_error16(masters.data(), narrow.data(), code16.data(), masters.size());
    decode_bf16_error16(narrow.data(), code16.data(), back.data(), masters.size());
    EXPECT_LE(worst(), 1.2e-7) << target;
    // fp16 has three bits more.
    encode_fp16_error8(masters.data(), narrow.data(), code8.data(), masters.size());
    decode_fp16_error8(narrow.data(), code8.data(), back.data(), masters.size());
    for (std::size_t i = 0; i < masters.size(); ++i) {
      if (std::abs(masters[i]) <= 6.2e-5f) continue;  // subnormal in fp16
      ASSERT_NEAR(back[i], masters[i], std::abs(masters[i]) * 1.55e-5 / 8 * 1.01) << target;
    }
    encode_fp16_error16(masters.data(), narrow.data(), code16.data(), masters.size());
    decode_fp16_error16(narrow.data(), code16.data(), back.data(), masters.size());
    for (std::size_t i = 0; i < masters.size(); ++i) {
      if (std::abs(masters[i]) <= 6.2e-5f) continue;  // subnormal in fp16
      ASSERT_NEAR(back[i], masters[i], std::abs(masters[i]) * 1.2e-7) << target;
    }
  });
}

TEST(CodecsMaster, EveryInstructionSetGivesTheSameBits) {
  std::vector<float> masters;
  for (std::uint64_t i = 0; i < (std::uint64_t{1} << 32); i += 40'009)
    masters.push_back(number(static_cast<std::uint32_t>(i)));
  const std::size_t n = masters.size();
  std::vector<std::uint16_t> first_narrow, narrow(n);
  std::vector<std::int8_t> first_code, code(n);
  std::vector<std::uint32_t> first_back;
  std::vector<float> back(n);
  on_every_target([&](const std::string& target) {
    encode_fp16_error8(masters.data(), narrow.data(), code.data(), n);
    decode_fp16_error8(narrow.data(), code.data(), back.data(), n);
    std::vector<std::uint32_t> back_bits(n);
    for (std::size_t i = 0; i < n; ++i)
      back_bits[i] = std::isnan(back[i]) ? 0x7FC00000 : bits(back[i]);
    if (first_narrow.empty()) {
      first_narrow = narrow;
      first_code = code;
      first_back = back_bits;
    }
    EXPECT_EQ(narrow, first_narrow) << target;
    EXPECT_EQ(code, first_code) << target;
    EXPECT_EQ(back_bits, first_back) << target;
  });
}

TEST(CodecsMaster, ExactWeightsHaveCodeZeroAndNothingIsKeptBesideInf) {
  const float values[] = {1.0f,          -0.5f,  0.0f, std::numeric_limits<float>::infinity(),
                          std::nanf(""), 3.4e38f};
  std::uint16_t narrow[6];
  std::int8_t code[6];
  encode_bf16_error8(values, narrow, code, 6);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(code[i], 0) << i;
}

}  // namespace
}  // namespace steepest::kernels
