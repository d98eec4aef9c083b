#include "steepest/optimizers/lion.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "tests/support/worked_examples.h"

namespace steepest {
namespace {

TEST(Lion, GivesTheWorkedRows) {
  at::Tensor w = worked_matrix(1, 4, 100).clone();
  const LionOptions o{.lr = 1e-2, .weight_decay = 0.1};
  LionState s = LionRule::make_state(w, o);
  for (int t = 1; t <= 3; ++t) {
    const std::vector<Slot<LionState>> slots{{w, worked_matrix(1, 4, t), &s}};
    LionRule::update(slots, o, 1);
  }
  const std::array<double, 4> weights{0.22726923, 0.43896289, 0.44183655, 0.40636798};
  const std::array<double, 4> momentum{-0.00331559, -0.00906070, -0.00055709, 0.00323211};
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(w[0][i].item<double>(), weights[static_cast<std::size_t>(i)], 1e-8);
    EXPECT_NEAR(s.exp_avg[0][i].item<double>(), momentum[static_cast<std::size_t>(i)], 1e-8);
  }
  EXPECT_EQ(s.step, 3);
}

TEST(Lion, NanStaysVisible) {
  at::Tensor w = worked_matrix(1, 2, 1).clone(), g = worked_matrix(1, 2, 2).clone();
  g[0][1] = std::numeric_limits<double>::quiet_NaN();
  LionState s = LionRule::make_state(w, {});
  const std::vector<Slot<LionState>> slots{{w, g, &s}};
  LionRule::update(slots, {}, 1);
  EXPECT_TRUE(std::isnan(w[0][1].item<double>()));
  EXPECT_TRUE(std::isfinite(w[0][0].item<double>()));
}

}  // namespace
}  // namespace steepest
