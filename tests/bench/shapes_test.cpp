#include "bench/shapes.h"

#include <gtest/gtest.h>

#include "bench/workloads.h"

namespace steepest::bench {
namespace {

TEST(Shapes, AreGpt2Smalls) {
  EXPECT_EQ(gpt2_small().size(), 148u);
  EXPECT_EQ(elements(gpt2_small()), 124'439'808);
  EXPECT_EQ(gpt2_matrices().size(), 48u);
  EXPECT_EQ(elements(gpt2_matrices()), 12 * 12 * 768 * 768);
}

TEST(Shapes, OfTheRecipesMatrices) {
  EXPECT_EQ(recipe_matrices().size(), 16u);
  EXPECT_EQ(elements(recipe_matrices()), 4 * 12 * 128 * 128);
}

TEST(Shapes, LargeIsAboveTheCacheAndQuickIsNot) {
  EXPECT_EQ(elements(large(false)), 64 << 20);
  EXPECT_LT(elements(large(true)), 1 << 20);
  EXPECT_EQ(gpt2(true).size(), 148u);
  EXPECT_LT(elements(gpt2(true)), 3 << 20);
}

}  // namespace
}  // namespace steepest::bench
