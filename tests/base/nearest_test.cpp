#include "steepest/base/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace steepest {
namespace {

constexpr std::array<std::string_view, 5> kNames{"lr", "betas", "weight_decay", "momentum",
                                                 "nesterov"};

TEST(Nearest, FindsSlipsOfTheFinger) {
  EXPECT_EQ(nearest("momentun", kNames), "momentum");
  EXPECT_EQ(nearest("weight-decay", kNames), "weight_decay");
  EXPECT_EQ(nearest("wieght_decay", kNames), "weight_decay");
  EXPECT_EQ(nearest("LR", kNames), "lr");
  EXPECT_EQ(nearest("beta", kNames), "betas");
}

TEST(Nearest, FindsParts) { EXPECT_EQ(nearest("decay", kNames), "weight_decay"); }

TEST(Nearest, NamesNothingThatIsFar) {
  EXPECT_EQ(nearest("warmup", kNames), std::nullopt);
  EXPECT_EQ(nearest("", kNames), std::nullopt);
  EXPECT_EQ(nearest(std::string(1'000'000, 'x'), kNames), std::nullopt);
}

}  // namespace
}  // namespace steepest
