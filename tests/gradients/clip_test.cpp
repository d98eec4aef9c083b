#include "steepest/gradients/clip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace steepest {
namespace {

TEST(Clip, ScalesDownToTheLimitAndNeverUp) {
  EXPECT_NEAR(clip_factor(10, 1), 0.1, 1e-7);
  EXPECT_DOUBLE_EQ(clip_factor(10, 1), 1 / (10 + 1e-6));
  EXPECT_EQ(clip_factor(0.5, 1), 1);
  EXPECT_EQ(clip_factor(0, 1), 1);
}

TEST(Clip, ZeroMeansNoLimit) { EXPECT_EQ(clip_factor(1e9, 0), 1); }

TEST(Clip, ANormThatIsNotFiniteGivesNoFactor) {
  EXPECT_TRUE(std::isnan(clip_factor(std::numeric_limits<double>::infinity(), 1)));
  EXPECT_TRUE(std::isnan(clip_factor(std::nan(""), 0)));
}

}  // namespace
}  // namespace steepest
