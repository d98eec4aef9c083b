#include "steepest/optimizers/sgd.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <array>

#include "steepest/base/error.h"
#include "tests/support/errors.h"
#include "tests/support/worked_examples.h"

namespace steepest {
namespace {

struct Walk {
  at::Tensor w = at::full({1}, 0.0, at::kDouble);
  SGDState s;
  double step(double g, const SGDOptions& o) {
    const std::vector<Slot<SGDState>> slots{{w, at::full({1}, g, at::kDouble), &s}};
    SGDRule::update(slots, o, 1);
    return w.item<double>();
  }
};

// The rate multiplies the velocity, it is not in it: lr 1, then 0.1.
TEST(SGD, TheRateIsOutsideTheVelocity) {
  Walk walk;
  EXPECT_DOUBLE_EQ(walk.step(1, {.lr = 1, .momentum = 0.9}), -1);
  EXPECT_DOUBLE_EQ(walk.step(1, {.lr = 0.1, .momentum = 0.9}), -1.19);
  EXPECT_DOUBLE_EQ(walk.s.momentum_buffer.item<double>(), 1.9);
  Walk nesterov;
  EXPECT_DOUBLE_EQ(nesterov.step(1, {.lr = 1, .momentum = 0.9, .nesterov = true}), -1.9);
  EXPECT_DOUBLE_EQ(nesterov.step(1, {.lr = 0.1, .momentum = 0.9, .nesterov = true}), -2.171);
}

TEST(SGD, WithoutMomentumThereIsNoBuffer) {
  Walk walk;
  walk.step(2, {.lr = 0.5});
  EXPECT_FALSE(walk.s.momentum_buffer.defined());
  EXPECT_DOUBLE_EQ(walk.w.item<double>(), -1);
  EXPECT_DOUBLE_EQ(walk.step(2, {.lr = 0.5, .maximize = true}), 0);
}

TEST(SGD, GivesTheWorkedRows) {
  const auto run = [](const SGDOptions& o) {
    at::Tensor w = worked_matrix(1, 4, 100).clone();
    SGDState s;
    for (int t = 1; t <= 3; ++t) {
      const std::vector<Slot<SGDState>> slots{{w, worked_matrix(1, 4, t), &s}};
      SGDRule::update(slots, o, 1);
    }
    return w;
  };
  const auto expect = [](const at::Tensor& w, std::array<double, 4> want) {
    for (int i = 0; i < 4; ++i)
      EXPECT_NEAR(w[0][i].item<double>(), want[static_cast<std::size_t>(i)], 1e-8);
  };
  expect(run({.lr = 0.1, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.1}),
         {0.22483320, 0.51779282, 0.45260910, 0.30001887});
  expect(run({.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true}),
         {0.25517870, 0.60228438, 0.44057150, 0.27458321});
}

TEST(SGD, RefusesNesterovWithoutMomentum) {
  EXPECT_ERROR(
      ConfigError, validate(SGDOptions{.nesterov = true}, "sgd"),
      "sgd.nesterov is true; it must be false unless momentum is above 0 and dampening is 0");
  EXPECT_ERROR(
      ConfigError, validate(SGDOptions{.momentum = 0.9, .dampening = 0.1, .nesterov = true}, "sgd"),
      "sgd.nesterov is true; it must be false unless momentum is above 0 and dampening is 0");
  EXPECT_NO_THROW(validate(SGDOptions{.momentum = 0.9, .nesterov = true}, "sgd"));
}

// 16-bit weights without masters: steps below half a unit are lost.
TEST(SGD, Bf16WeightsRoundEachStep) {
  at::Tensor w = at::full({1}, 1.0, at::kBFloat16);
  SGDState s;
  for (int i = 0; i < 10; ++i) {
    const std::vector<Slot<SGDState>> slots{{w, at::full({1}, 1.0, at::kBFloat16), &s}};
    SGDRule::update(slots, {.lr = 1e-3}, 1);
  }
  EXPECT_EQ(w.item<double>(), 1.0);
}

}  // namespace
}  // namespace steepest
