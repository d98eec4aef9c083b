#include "steepest/step/step_driver.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "steepest/base/error.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

struct Two {
  at::Tensor a, b;
  StepDriver driver;

  explicit Two(StepPolicy policy, RuleOptions first = SGDOptions{.lr = 1},
               RuleOptions second = SGDOptions{.lr = 1})
      : a(at::full({1, 1}, 0.0, at::kDouble).set_requires_grad(true)),
        b(at::full({1, 1}, 0.0, at::kDouble).set_requires_grad(true)),
        driver(members(a, b, first, second), policy) {}

  static std::vector<std::unique_ptr<Member>> members(at::Tensor a, at::Tensor b, RuleOptions first,
                                                      RuleOptions second) {
    std::vector<std::unique_ptr<Member>> all;
    std::vector<MemberGroup> one, two;
    one.push_back({"one", first, {{"a", a}}, ""});
    two.push_back({"two", second, {{"b", b}}, ""});
    all.push_back(make_member(std::move(one)));
    all.push_back(make_member(std::move(two)));
    return all;
  }
  void grads(double ga, double gb) {
    a.mutable_grad() = at::full({1, 1}, ga, at::kDouble);
    b.mutable_grad() = at::full({1, 1}, gb, at::kDouble);
  }
};

// 3 and 4 make 5: members of different rules are clipped by one norm.
TEST(StepDriver, ClipsAllMembersByOneNorm) {
  Two two({.max_norm = 1});
  two.grads(3, 4);
  const StepResult result = two.driver.step();
  EXPECT_TRUE(result.applied);
  EXPECT_DOUBLE_EQ(result.grad_norm, 5);
  EXPECT_NEAR(result.clip_factor, 0.2, 1e-6);
  EXPECT_NEAR(two.a.item<double>(), -0.6, 1e-6);
  EXPECT_NEAR(two.b.item<double>(), -0.8, 1e-6);
  EXPECT_EQ(result.step, 1);
}

TEST(StepDriver, ANormBelowTheLimitIsLeftAlone) {
  Two two({.max_norm = 10});
  two.grads(3, 4);
  EXPECT_EQ(two.driver.step().clip_factor, 1);
  EXPECT_EQ(two.a.item<double>(), -3);
}

TEST(StepDriver, CountsZeros) {
  Two two({});
  two.grads(0, 4);
  EXPECT_EQ(two.driver.step().zeros, 1);
}

TEST(StepDriver, ANonFiniteGradientIsAnErrorThatNamesItAndChangesNothing) {
  Two two({.max_norm = 1}, AdamWOptions{.lr = 1}, MuonOptions{.lr = 1});
  two.grads(3, 4);
  two.driver.step();
  const double a = two.a.item<double>(), b = two.b.item<double>();
  const auto before = two.driver.members()[1]->state();
  const at::Tensor momentum = before[1].tensor.clone();
  two.grads(1, std::numeric_limits<double>::quiet_NaN());
  EXPECT_ERROR(NonFiniteError, two.driver.step(),
               "the gradient of b is not finite at step 2 (1 NaN or Inf values in all gradients); "
               "such a step would "
               "ruin the weights; none of them, and no optimizer state, was changed; lower the "
               "learning rate, clip "
               "gradients, or set the policy to skip such steps");
  EXPECT_EQ(two.a.item<double>(), a);
  EXPECT_EQ(two.b.item<double>(), b);
  const auto after = two.driver.members()[1]->state();
  EXPECT_EQ(after[0].step, 1);
  EXPECT_TRUE(after[1].tensor.equal(momentum));
  EXPECT_EQ(two.driver.applied(), 1);
}

// Steps 1, 2 (thrown away), 3 end with the bits of steps 1 and 3 alone.
TEST(StepDriver, ASkippedStepLeavesNoTrace) {
  const std::vector<RuleOptions> rules{AdamWOptions{}, AdamOptions{.weight_decay = 0.1},
                                       SGDOptions{.lr = 0.1, .momentum = 0.9}, LionOptions{},
                                       MuonOptions{}};
  for (const RuleOptions& rule : rules) {
    Two skipping({.max_norm = 1, .non_finite = NonFinitePolicy::kSkip}, rule, rule);
    Two straight({.max_norm = 1}, rule, rule);
    for (Two* each : {&skipping, &straight}) {
      each->grads(0.3, -0.4);
      each->driver.step();
    }
    skipping.grads(1, std::numeric_limits<double>::infinity());
    const StepResult result = skipping.driver.step();
    EXPECT_FALSE(result.applied);
    EXPECT_EQ(result.reason, SkipReason::kNonFinite);
    EXPECT_FALSE(std::isfinite(result.grad_norm));
    EXPECT_EQ(result.first_non_finite, "b");
    EXPECT_EQ(result.skipped, 1);
    for (Two* each : {&skipping, &straight}) {
      each->grads(0.5, 0.1);
      EXPECT_EQ(each->driver.step().step, 2);
    }
    EXPECT_TRUE(skipping.a.equal(straight.a)) << rule_name(rule);
    EXPECT_TRUE(skipping.b.equal(straight.b)) << rule_name(rule);
  }
}

TEST(StepDriver, ASparseGradientStopsTheStepBeforeAnyWeightMoves) {
  Two two({});
  two.grads(1, 1);
  two.b.mutable_grad() = two.b.grad().to_sparse();
  EXPECT_ERROR(LayoutError, two.driver.step(),
               "the gradient of parameter b is sparse; the rules here work on every element of a "
               "dense gradient; call to_dense() on it, or build the embedding with sparse false");
  EXPECT_EQ(two.a.item<double>(), 0);
  EXPECT_EQ(two.driver.applied(), 0);
}

TEST(StepDriver, RefusesAPolicyOfNonsense) {
  EXPECT_ERROR(ConfigError, Two({.max_norm = -1}),
               "policy.max_norm is -1; it must be finite and not negative");
}

}  // namespace
}  // namespace steepest
