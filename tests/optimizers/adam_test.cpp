#include "steepest/optimizers/adam.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <cmath>

#include "tests/support/worked_examples.h"

namespace steepest {
namespace {

template <class R>
struct One {
  at::Tensor w;
  typename R::State s;
  typename R::Options o;
  One(double start, typename R::Options options)
      : w(at::full({1}, start, at::kDouble)), s(R::make_state(w, options)), o(options) {}
  double step(double g, double factor = 1) {
    const std::vector<Slot<typename R::State>> slots{{w, at::full({1}, g, at::kDouble), &s}};
    R::update(slots, o, factor);
    return w.item<double>();
  }
};

struct Case {
  std::string name;
  AdamWOptions options;
  std::vector<double> grads;  // one a step, for a weight that starts at 1
  double want;
};
const Case kCases[] = {
    // A first step is lr * sign(g), whatever the size of g.
    {"tiny_gradient", {.lr = 0.1, .eps = 0, .weight_decay = 0}, {1e-6}, 0.9},
    {"huge_gradient", {.lr = 0.1, .eps = 0, .weight_decay = 0}, {1e30}, 0.9},
    // eps outside the root: 3 / (sqrt(9) + 3) = 1/2.
    {"eps_outside_root", {.lr = 0.1, .eps = 3, .weight_decay = 0}, {3}, 0.95},
    // Decay takes lr * wd * w = 0.05 beside the step, not through the moments.
    {"decoupled_decay", {.lr = 0.1, .eps = 0, .weight_decay = 0.5}, {2}, 0.85},
    // Decay goes first: 1 (1 - 0.1) - 0.1 = 0.8; after the step it would be 0.81.
    {"decay_before_step", {.lr = 0.1, .eps = 1e-8, .weight_decay = 1}, {1}, 0.8},
    // m is 1/2, then -1/4; m^ is -1/3. Fails if the betas are swapped.
    {"betas_in_order", {.lr = 0.3, .betas = {0.5, 0}, .eps = 0, .weight_decay = 0}, {1, -1}, 0.8},
    {"maximize", {.lr = 0.1, .eps = 0, .weight_decay = 0, .maximize = true}, {1}, 1.1},
};

class AdamWByHand : public testing::TestWithParam<Case> {};
TEST_P(AdamWByHand, MovesOneWeight) {
  One<AdamWRule> one(1, GetParam().options);
  double w = 1;
  for (const double g : GetParam().grads) w = one.step(g);
  EXPECT_NEAR(w, GetParam().want, 1e-8);
}
INSTANTIATE_TEST_SUITE_P(, AdamWByHand, testing::ValuesIn(kCases),
                         [](const auto& each) { return each.param.name; });

// Every update of a constant gradient has the size lr: the step count is kept and used.
TEST(AdamW, AConstantGradientMovesByLrEachStep) {
  One<AdamWRule> one(1, {.lr = 1e-2, .eps = 1e-12, .weight_decay = 0});
  for (int i = 1; i <= 10; ++i) EXPECT_NEAR(one.step(1), 1 - 0.01 * i, 1e-9);
  EXPECT_EQ(one.s.step, 10);
}

// L2 decay goes through the moments: g' = 0.5 + 0.3 * 2 = 1.1.
TEST(Adam, L2DecayEntersTheMoments) {
  One<AdamRule> one(2, {.lr = 1e-3, .weight_decay = 0.3});
  one.s.step = 4;
  one.s.exp_avg.fill_(0.2);
  one.s.exp_avg_sq.fill_(0.04);
  const double w = one.step(0.5);
  EXPECT_NEAR(one.s.exp_avg.item<double>(), 0.29, 1e-12);
  EXPECT_NEAR(one.s.exp_avg_sq.item<double>(), 0.04117, 1e-12);
  const double m = 0.29 / (1 - std::pow(0.9, 5)), v = 0.04117 / (1 - std::pow(0.999, 5));
  EXPECT_NEAR(w, 2 - 1e-3 * m / (std::sqrt(v) + 1e-8), 1e-12);
}

at::Tensor three_steps(auto rule, auto options) {
  using R = decltype(rule);
  at::Tensor w = worked_matrix(1, 4, 100).clone();
  auto state = R::make_state(w, options);
  for (int t = 1; t <= 3; ++t) {
    at::Tensor g = worked_matrix(1, 4, t);
    if (t == 3) g = g.mul(0.01);
    const std::vector<Slot<AdamState>> slots{{w, g, &state}};
    R::update(slots, options, 1);
  }
  return w;
}
void expect_row(const at::Tensor& w, std::array<double, 4> want) {
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(w[0][i].item<double>(), want[static_cast<std::size_t>(i)], 1e-8);
}

TEST(Adam, GivesTheWorkedRows) {
  expect_row(three_steps(AdamWRule{}, AdamWOptions{.lr = 1e-2, .weight_decay = 0.1}),
             {0.22127068, 0.43617686, 0.45950661, 0.40140878});
  expect_row(three_steps(AdamRule{}, AdamOptions{.lr = 1e-2, .weight_decay = 0.1}),
             {0.21322535, 0.43605134, 0.45830255, 0.40036784});
  expect_row(
      three_steps(AdamRule{},
                  AdamOptions{.lr = 1e-2, .weight_decay = 0.1, .decoupled_weight_decay = true}),
      {0.22127068, 0.43617686, 0.45950661, 0.40140878});
  expect_row(
      three_steps(
          AdamWRule{},
          AdamWOptions{.lr = 1e-2, .betas = {0.9, 0.5}, .weight_decay = 0.1, .amsgrad = true}),
      {0.21889080, 0.43573536, 0.45852231, 0.40184739});
}

TEST(AdamW, TheFactorIsTheGradients) {
  One<AdamWRule> scaled(1, {.lr = 0.1, .eps = 0.5}), plain(1, {.lr = 0.1, .eps = 0.5});
  EXPECT_EQ(scaled.step(8, 0.25), plain.step(2));
}

// bf16 weights are updated in fp32 and rounded once; the moments have the weight's type.
TEST(AdamW, SixteenBitWeightsRoundOnce) {
  at::Tensor w = at::full({3}, 1.0, at::kBFloat16);
  AdamWOptions o{.lr = 0.01, .weight_decay = 0};
  AdamState s = AdamWRule::make_state(w, o);
  EXPECT_EQ(s.exp_avg.scalar_type(), at::kBFloat16);
  const std::vector<Slot<AdamState>> slots{{w, at::full({3}, 2.0, at::kFloat), &s}};
  AdamWRule::update(slots, o, 1);
  EXPECT_EQ(w[0].item<double>(), 0.98828125);  // 0.99 to the nearest bf16
}

// An element's result depends on its values alone: not on its position, the tensor's length or its
// strides.
TEST(AdamW, PositionLengthAndStridesDoNotShow) {
  EXPECT_TRUE(rc::check([] {
    const auto rows = *rc::gen::inRange<std::int64_t>(1, 9),
               cols = *rc::gen::inRange<std::int64_t>(1, 40);
    const at::Tensor start = at::randn({rows, cols}), grad = at::randn({rows, cols});
    const AdamWOptions o{.lr = 0.1, .weight_decay = 0.3};
    const auto run = [&](const at::Tensor& w, const at::Tensor& g) {
      AdamState s = AdamWRule::make_state(w, o);
      const std::vector<Slot<AdamState>> slots{{w, g, &s}};
      AdamWRule::update(slots, o, 0.7);
      AdamWRule::update(slots, o, 1);
      return w.clone();
    };
    const at::Tensor whole = run(start.clone(), grad);
    at::Tensor base = start.t().clone(at::MemoryFormat::Contiguous);
    run(base.t(), grad.t().contiguous().t());
    RC_ASSERT(base.t().equal(whole));
    for (std::int64_t r = 0; r < rows; ++r)
      RC_ASSERT(run(start[r].clone(), grad[r]).equal(whole[r]));
    const at::Tensor one =
        run(start[0][cols - 1].clone().reshape({1}), grad[0][cols - 1].reshape({1}));
    RC_ASSERT(one[0].item<float>() == whole[0][cols - 1].item<float>());
  }));
}

TEST(AdamW, EmptyTensorsAreFine) {
  at::Tensor w = at::empty({0, 3});
  AdamState s = AdamWRule::make_state(w, {});
  const std::vector<Slot<AdamState>> slots{{w, at::empty({0, 3}), &s}};
  AdamWRule::update(slots, {}, 1);
  EXPECT_EQ(s.step, 1);
}

}  // namespace
}  // namespace steepest
