// The statistics of a gradient beyond 2^31 - 1 elements.
#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "steepest/gradients/statistics.h"
#include "tests/support/mirrored_memory.h"

namespace steepest {
namespace {

TEST(LargeGradient, EveryElementCounts) {
  constexpr std::int64_t kMany = std::int64_t{1} << 31, kLast = 8;
  const test::MirroredMemory memory(2 * kMany, 2 * kLast);
  ASSERT_NE(memory.data(), nullptr);
  const at::Tensor g = at::from_blob(memory.data(), {kMany + kLast}, at::kBFloat16);
  g.slice(0, 0, test::MirroredMemory::kMirror / 2).fill_(1);
  g.slice(0, kMany, kMany + 2).fill_(3);
  g[kMany + kLast - 1] = std::numeric_limits<double>::quiet_NaN();
  const std::array<at::Tensor, 1> all{g};
  GradientStats stats = gradient_statistics(all);
  EXPECT_EQ(stats.count, kMany + kLast);
  EXPECT_EQ(stats.zeros, kLast - 3);
  EXPECT_EQ(stats.non_finite, 1);
  g[kMany + kLast - 1] = 0;
  stats = gradient_statistics(all);
  EXPECT_EQ(stats.non_finite, 0);
  EXPECT_EQ(stats.sum_of_squares, static_cast<double>(kMany) + 18);
}

}  // namespace
}  // namespace steepest
