#include "steepest/kernels/packed_bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "steepest/kernels/codecs.h"

namespace steepest::kernels {
namespace {

float half_of(std::uint32_t two, int which) {
  const std::uint32_t bits = which == 0 ? two << 16 : two & 0xffff0000u;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

TEST(PackedBf16, OnlyPanelsOf48And32Exist) { EXPECT_EQ(bf16_tile(16), nullptr); }

// Small integers: every sum is exact, whatever the order of the additions.
TEST(PackedBf16, IsTheSumOfProductsOfPairs) {
  if (bf16_tile(48) == nullptr) GTEST_SKIP() << "this processor has no bf16 products";
  std::mt19937 random(3);
  for (const std::size_t width : {32, 48}) {
    constexpr std::size_t kPairs = 13, kLeft = 40;
    std::vector<float> values(2 * kPairs * (kLeft + width));
    for (float& each : values) each = static_cast<float>(random() % 17) - 8;
    std::vector<std::uint32_t> units(values.size() / 2);
    encode_bf16(values.data(), reinterpret_cast<std::uint16_t*>(units.data()), values.size());
    const std::uint32_t* const left = units.data();
    const std::uint32_t* const right = left + kPairs * kLeft;
    std::vector<float> tile(8 * width + 1, -7.0f);
    bf16_tile(width)(left, kLeft, right, kPairs, tile.data());
    for (std::size_t r = 0; r < 8; ++r)
      for (std::size_t c = 0; c < width; ++c) {
        float sum = 0;
        for (std::size_t k = 0; k < kPairs; ++k)
          for (const int half : {0, 1})
            sum += half_of(left[k * kLeft + r], half) * half_of(right[k * width + c], half);
        ASSERT_EQ(tile[r * width + c], sum) << width << ' ' << r << ' ' << c;
      }
    EXPECT_EQ(tile[8 * width], -7.0f);
  }
}

}  // namespace
}  // namespace steepest::kernels
