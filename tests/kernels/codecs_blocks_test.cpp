#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "steepest/kernels/codecs.h"
#include "tests/support/every_target.h"

namespace steepest::kernels {
namespace {

using test::on_every_target;

TEST(CodecsBlocks, HaveThePublishedCodes) {
  const std::int8_t momentum[] = {-127, -123, -119, -114, -109, -103, -98, -91, -85, -77, -69,
                                  -60,  -51,  -40,  -28,  -15,  0,    15,  28,  40,  51,  60,
                                  69,   77,   85,   91,   98,   103,  109, 114, 119, 123};
  const std::uint8_t variance[] = {8,   16,  24,  32,  40,  48,  56,  64,  72,  80,  88,
                                   96,  104, 112, 120, 128, 135, 143, 151, 159, 167, 175,
                                   183, 191, 199, 207, 215, 223, 231, 239, 247, 255};
  float x[32], v[32];
  for (int i = 0; i < 32; ++i) {
    x[i] = static_cast<float>(i - 16) / 16;
    const float r = static_cast<float>(i + 1) / 32;
    v[i] = r * r;
  }
  on_every_target([&](const std::string& target) {
    std::int8_t code[32];
    std::uint8_t root[32];
    std::uint16_t scale;
    encode_softsign8(x, code, &scale, 32);
    EXPECT_EQ(scale, 0x3C00) << target;  // 1
    for (int i = 0; i < 32; ++i) EXPECT_EQ(code[i], momentum[i]) << target << ' ' << i;
    encode_sqrt8(v, root, &scale, 32, /*published=*/true);
    EXPECT_EQ(scale, 0x3C00) << target;
    for (int i = 0; i < 32; ++i) EXPECT_EQ(root[i], variance[i]) << target << ' ' << i;
  });
}

TEST(CodecsBlocks, TheWorkedStepOfFlashAdamW) {
  const float m[] = {0.01f, -0.02f, 0.005f, 0}, v[] = {1e-5f, 4e-5f, 2.5e-6f, 0};
  std::int8_t code[4];
  std::uint8_t root[4];
  std::uint16_t scale;
  encode_softsign8(m, code, &scale, 4);
  EXPECT_EQ(std::vector<int>(code, code + 4), (std::vector<int>{85, -127, 51, 0}));
  encode_sqrt8(v, root, &scale, 4, true);
  EXPECT_EQ(std::vector<int>(root, root + 4), (std::vector<int>{128, 255, 64, 0}));
  float s;
  decode_fp16(&scale, &s, 1);
  EXPECT_NEAR(s, 0.0063246f, 0.0063246f / 2048);
}

/// The formulas of the header, element by element, on any instruction set's result.
TEST(CodecsBlocks, EveryInstructionSetAndLengthGivesTheFormulas) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> x(4000);
  for (float& each : x) each = normal(random) * std::exp(2 * normal(random));
  on_every_target([&](const std::string& target) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{31}, std::size_t{32}, std::size_t{33},
                                std::size_t{77}, std::size_t{512}, std::size_t{3999}}) {
      std::vector<std::int8_t> soft(n), linear(n);
      std::vector<std::uint8_t> root(n), published(n);
      const std::size_t blocks = (n + 31) / 32;
      std::vector<std::uint16_t> soft_scale(blocks), linear_scale(blocks), root_scale(blocks),
          published_scale(blocks);
      std::vector<float> squares(n), back(n);
      for (std::size_t i = 0; i < n; ++i) squares[i] = x[i] * x[i];
      encode_softsign8(x.data(), soft.data(), soft_scale.data(), n);
      encode_linear8(x.data(), linear.data(), linear_scale.data(), n);
      encode_sqrt8(squares.data(), root.data(), root_scale.data(), n, false);
      encode_sqrt8(squares.data(), published.data(), published_scale.data(), n, true);
      for (std::size_t b = 0; b < blocks; ++b) {
        float most = 0, most_root = 0;
        for (std::size_t i = 32 * b; i < std::min(n, 32 * b + 32); ++i) {
          most = std::max(most, std::abs(x[i]));
          most_root = std::max(most_root, std::sqrt(squares[i]));
        }
        std::uint16_t scale;
        encode_fp16(&most, &scale, 1);
        ASSERT_EQ(soft_scale[b], scale) << target;
        ASSERT_EQ(linear_scale[b], scale) << target;
        for (std::size_t i = 32 * b; i < std::min(n, 32 * b + 32); ++i) {
          const float q = x[i] / most, y = (q + q) / (1 + std::abs(q));
          ASSERT_EQ(soft[i], std::floor(127 * y + 0.5f)) << target << ' ' << i;
          ASSERT_EQ(linear[i], std::floor(127 * q + 0.5f)) << target << ' ' << i;
          const float r = std::floor(255 * std::sqrt(squares[i]) / most_root + 0.5f);
          ASSERT_EQ(published[i], r) << target << ' ' << i;
          ASSERT_EQ(root[i], std::max(r, squares[i] > 0 ? 1.0f : 0.0f)) << target << ' ' << i;
        }
      }
      decode_softsign8(soft.data(), soft_scale.data(), back.data(), n);
      for (std::size_t i = 0; i < n; ++i) {
        float s;
        decode_fp16(&soft_scale[i / 32], &s, 1);
        const auto q = static_cast<float>(soft[i]);
        ASSERT_EQ(back[i], q / (254 - std::abs(q)) * s) << target << ' ' << i;
        const float y = q / 127, by_step = y / (2 - std::abs(y)) * s;
        ASSERT_NEAR(back[i], by_step, 2.4e-7 * std::abs(by_step)) << target << ' ' << i;
      }
      decode_linear8(linear.data(), linear_scale.data(), back.data(), n);
      for (std::size_t i = 0; i < n; ++i) {
        float s;
        decode_fp16(&linear_scale[i / 32], &s, 1);
        ASSERT_EQ(back[i], static_cast<float>(linear[i]) * (s / 127)) << target << ' ' << i;
      }
      decode_sqrt8(root.data(), root_scale.data(), back.data(), n);
      for (std::size_t i = 0; i < n; ++i) {
        float s;
        decode_fp16(&root_scale[i / 32], &s, 1);
        const float r = static_cast<float>(root[i]) * (s / 255);
        ASSERT_EQ(back[i], r * r) << target << ' ' << i;
      }
    }
  });
}

TEST(CodecsBlocks, ErrorsStayWithinTheirBounds) {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> x(3200), v(3200), back(3200);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = i % 32 == 0 ? 1.0f : uniform(random);
    v[i] = x[i] * x[i];
  }
  std::vector<std::int8_t> code(3200);
  std::vector<std::uint8_t> root(3200);
  std::vector<std::uint16_t> scales(100);
  encode_softsign8(x.data(), code.data(), scales.data(), 3200);
  decode_softsign8(code.data(), scales.data(), back.data(), 3200);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(back[i], x[i], 7.86e-3) << i;
  encode_sqrt8(v.data(), root.data(), scales.data(), 3200, false);
  decode_sqrt8(root.data(), scales.data(), back.data(), 3200);
  for (std::size_t i = 0; i < v.size(); ++i) EXPECT_NEAR(back[i], v[i], 3.93e-3) << i;
}

TEST(CodecsBlocks, ABlockThatIsNotFiniteSaysSoAndItsNeighboursStay) {
  for (const float bad : {std::nanf(""), -std::nanf(""), std::numeric_limits<float>::infinity()}) {
    std::vector<float> x(96, 0.5f), back(96);
    x[40] = bad;
    std::vector<std::int8_t> code(96);
    std::vector<std::uint8_t> root(96);
    std::vector<std::uint16_t> scales(3);
    encode_softsign8(x.data(), code.data(), scales.data(), 96);
    decode_softsign8(code.data(), scales.data(), back.data(), 96);
    for (std::size_t i = 0; i < 96; ++i) EXPECT_EQ(std::isnan(back[i]), i / 32 == 1) << i;
    encode_sqrt8(x.data(), root.data(), scales.data(), 96, false);
    decode_sqrt8(root.data(), scales.data(), back.data(), 96);
    for (std::size_t i = 0; i < 96; ++i) EXPECT_EQ(std::isnan(back[i]), i / 32 == 1) << i;
  }
}

TEST(CodecsBlocks, WhatIsAboveTheLargestScaleSaturates) {
  on_every_target([](const std::string& target) {
    // 8465434 is 32955 steps of 65504 / 255, which is 187 above 2^15.
    for (const float big : {65504.0f, 1e5f, 8465434.0f, 1e10f, 1e18f}) {
      const float x[] = {big, -big, 0.0f, 1.0f}, v[] = {big * big, 0.0f, 1.0f, 65504.0f};
      std::int8_t code[4];
      std::uint8_t root[4];
      std::uint16_t scale;
      float back[4];
      encode_softsign8(x, code, &scale, 4);
      EXPECT_EQ(scale, 0x7BFF) << target << ' ' << big;
      EXPECT_EQ(std::vector<int>(code, code + 4), (std::vector<int>{127, -127, 0, 0}))
          << target << ' ' << big;
      decode_softsign8(code, &scale, back, 4);
      EXPECT_EQ(back[1], -65504.0f) << target;
      encode_linear8(x, code, &scale, 4);
      EXPECT_EQ(std::vector<int>(code, code + 4), (std::vector<int>{127, -127, 0, 0}))
          << target << ' ' << big;
      for (const bool published : {false, true}) {
        encode_sqrt8(v, root, &scale, 4, published);
        EXPECT_EQ(scale, 0x7BFF) << target << ' ' << big;
        EXPECT_EQ(std::vector<int>(root, root + 4),
                  (std::vector<int>{255, 0, published ? 0 : 1, 1}))
            << target << ' ' << big;
      }
    }
  });
}

TEST(CodecsBlocks, ZerosStayZerosAndTinyBlocksVanish) {
  const std::vector<float> zeros(32), tiny(32, 1e-9f);
  std::vector<float> back(32);
  std::vector<std::int8_t> code(32);
  std::uint16_t scale;
  for (const auto* each : {&zeros, &tiny}) {
    encode_softsign8(each->data(), code.data(), &scale, 32);
    decode_softsign8(code.data(), &scale, back.data(), 32);
    EXPECT_EQ(back, zeros);
  }
}

}  // namespace
}  // namespace steepest::kernels
