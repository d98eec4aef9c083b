// Norms beside the main one, gradients out of norm or clipping, exact sums.
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "steepest/base/error.h"
#include "steepest/step/step_driver.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

struct Model {
  std::vector<at::Tensor> params;
  StepDriver driver;

  /// One parameter for each `uses`, SGD of rate 1 from weight 0: a weight is then minus what the
  /// gradient counted as.
  Model(std::vector<NormUse> uses, StepPolicy policy)
      : params(make(uses.size())), driver(members(params, uses), policy) {}

  static std::vector<at::Tensor> make(std::size_t count) {
    std::vector<at::Tensor> all;
    for (std::size_t i = 0; i < count; ++i)
      all.push_back(at::full({1}, 0.0, at::kDouble).set_requires_grad(true));
    return all;
  }
  static std::vector<std::unique_ptr<Member>> members(const std::vector<at::Tensor>& params,
                                                      const std::vector<NormUse>& uses) {
    std::vector<MemberGroup> groups;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const std::string name = "p" + std::to_string(i);
      groups.push_back(
          {"g" + std::to_string(i), SGDOptions{.lr = 1}, {{name, params[i]}}, "", uses[i]});
    }
    std::vector<std::unique_ptr<Member>> all;
    all.push_back(make_member(std::move(groups)));
    return all;
  }
  void grads(const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      params[i].mutable_grad() = at::full({1}, values[i], at::kDouble);
  }
  double moved(std::size_t i) const { return -params[i].item<double>(); }
};

TEST(Norms, EachNormClipsItsOwn) {
  Model model({{}, {}, {.norm_group = "mtp"}, {.norm_group = "mtp"}},
              {.max_norm = 1, .norm_groups = {"mtp", "idle"}});
  model.grads({3, 4, 12, 16});
  const StepResult& result = model.driver.step();
  EXPECT_DOUBLE_EQ(result.grad_norm, 5);
  ASSERT_EQ(result.group_norms.size(), 2u);
  EXPECT_EQ(result.group_norms[0], (GroupNorm{"mtp", 20, 1 / (20 + 1e-6)}));
  EXPECT_EQ(result.group_norms[1], (GroupNorm{"idle", 0, 1}));
  EXPECT_DOUBLE_EQ(model.moved(0), 3 / (5 + 1e-6));
  EXPECT_DOUBLE_EQ(model.moved(1), 4 / (5 + 1e-6));
  EXPECT_DOUBLE_EQ(model.moved(2), 12 / (20 + 1e-6));
  EXPECT_DOUBLE_EQ(model.moved(3), 16 / (20 + 1e-6));
}

TEST(Norms, OutOfTheNormButClippedByIt) {
  Model model({{}, {.in_norm = false}}, {.max_norm = 1});
  model.grads({2, 100});
  EXPECT_DOUBLE_EQ(model.driver.step().grad_norm, 2);
  EXPECT_DOUBLE_EQ(model.moved(1), 100 / (2 + 1e-6));
}

TEST(Norms, InTheNormButNotClipped) {
  Model model({{}, {.clip = false}}, {.max_norm = 1});
  model.grads({3, 4});
  EXPECT_DOUBLE_EQ(model.driver.step().grad_norm, 5);
  EXPECT_DOUBLE_EQ(model.moved(0), 3 / (5 + 1e-6));
  EXPECT_EQ(model.moved(1), 4);
}

TEST(Norms, WithALossScaleEveryFactorUnscales) {
  Model model({{}, {.norm_group = "mtp"}, {.clip = false}},
              {.max_norm = 1,
               .loss_scale = {.mode = LossScaling::kConstant, .loss_scale = 8},
               .norm_groups = {"mtp"}});
  model.grads({8 * 3, 8 * 20, 8 * 4});
  const StepResult& result = model.driver.step();
  EXPECT_DOUBLE_EQ(result.grad_norm, 5);
  EXPECT_DOUBLE_EQ(result.group_norms[0].grad_norm, 20);
  EXPECT_DOUBLE_EQ(model.moved(0), 3 / (5 + 1e-6));
  EXPECT_DOUBLE_EQ(model.moved(1), 20 / (20 + 1e-6));
  EXPECT_DOUBLE_EQ(model.moved(2), 4);
}

// distributed: an "mtp" norm of 20 beside a main norm of 0.5 skips nothing; a main norm of 2 does.
TEST(Norms, OnlyTheMainNormIsHeldAgainstTheThreshold) {
  Model model({{}, {.norm_group = "mtp"}}, {.grad_norm_skip_threshold = 1, .norm_groups = {"mtp"}});
  model.grads({0.5, 20});
  EXPECT_TRUE(model.driver.step().applied);
  model.grads({2, 0.1});
  const StepResult& result = model.driver.step();
  EXPECT_EQ(result.reason, SkipReason::kNormAboveThreshold);
  EXPECT_EQ(result.group_norms[0].clip_factor, 1);
  EXPECT_EQ(model.moved(0), 0.5);
}

TEST(Norms, AValueThatIsNotFiniteConcernsTheWholeStepWhereverItIs) {
  for (const NormUse& use : {NormUse{.norm_group = "mtp"}, NormUse{.in_norm = false}}) {
    Model model({{}, use}, {.non_finite = NonFinitePolicy::kSkip, .norm_groups = {"mtp"}});
    model.grads({1, std::numeric_limits<double>::quiet_NaN()});
    const StepResult& result = model.driver.step();
    EXPECT_EQ(result.reason, SkipReason::kNonFinite);
    EXPECT_EQ(result.first_non_finite, "p1");
    EXPECT_EQ(result.grad_norm, 1);
    EXPECT_EQ(model.moved(0), 0);
  }
}

TEST(Norms, ANameThatThePolicyLacksIsRefused) {
  EXPECT_ERROR(ConfigError, Model({{.norm_group = "mpt"}}, {.norm_groups = {"mtp"}}),
               "group g0 has the norm_group 'mpt', which is none of norm_groups; a misspelt name "
               "would silently clip these gradients by a norm of their own; did you mean 'mtp'?");
  EXPECT_ERROR(ConfigError, Model({{.norm_group = "experts"}}, {}),
               "group g0 has the norm_group 'experts', which is none of norm_groups; a misspelt "
               "name would silently clip these gradients by a norm of their own; add 'experts' to "
               "norm_groups");
  Model model({{.norm_group = "mtp"}}, {.max_norm = 3, .norm_groups = {"mtp"}});
  EXPECT_THROW(model.driver.set_policy({.max_norm = 1}), ConfigError);
  EXPECT_EQ(model.driver.policy().max_norm, 3);
}

TEST(Norms, ContradictionsAreRefused) {
  EXPECT_ERROR(ConfigError,
               Model({{.norm_group = "mtp", .in_norm = false}}, {.norm_groups = {"mtp"}}),
               "g0.in_norm is false; it must be true where norm_group is given; leave out one of "
               "the two");
  EXPECT_ERROR(ConfigError, Model({{}}, {.norm_groups = {"a", "a"}}),
               "policy.norm_groups is [a, a]; it must be names that differ and are not empty");
}

TEST(Norms, OtherNormsBetweenTheHalvesAskForANewRead) {
  Model model({{}}, {});
  model.grads({1});
  model.driver.prepare_grads();
  model.driver.set_policy({.norm_groups = {"mtp"}});
  EXPECT_THROW(model.driver.step_with_ready_grads(), StateError);
  EXPECT_TRUE(model.driver.step().applied);
}

// 2^54 + 1 + 1 + 1: in fp64 each 1 is lost; exactly it is 2^54 + 3, in any order.
TEST(Norms, AnExactNormDoesNotDependOnOrder) {
  for (const bool exact : {false, true}) {
    Model model({{}, {}, {}, {}}, {.exact_norm = exact});
    for (const std::vector<double>& order :
         {std::vector<double>{0x1p27, 1, 1, 1}, std::vector<double>{1, 1, 0x1p27, 1}}) {
      model.grads(order);
      const double norm = model.driver.step().grad_norm;
      EXPECT_EQ(exact ? norm : std::sqrt(0x1p54 + 4), std::sqrt(0x1p54 + 4));
    }
  }
  // Parameters of many magnitudes, cut otherwise: the same bits.
  const at::Tensor g =
      at::randn({1000}, at::kDouble).mul(at::randn({1000}, at::kDouble).mul(20).exp());
  std::vector<double> norms;
  for (const std::int64_t cut : {1, 500, 999}) {
    std::vector<MemberGroup> groups;
    groups.push_back({"all", SGDOptions{.lr = 1}, {}, ""});
    for (const auto& [from, to] : {std::pair<std::int64_t, std::int64_t>{0, cut}, {cut, 1000}}) {
      at::Tensor w = at::full({to - from}, 0.0, at::kDouble).set_requires_grad(true);
      w.mutable_grad() = g.slice(0, from, to).clone();
      groups[0].params.push_back({"w" + std::to_string(from), w});
    }
    std::vector<std::unique_ptr<Member>> members;
    members.push_back(make_member(std::move(groups)));
    norms.push_back(StepDriver(std::move(members), {.exact_norm = true}).step().grad_norm);
  }
  EXPECT_EQ(norms[0], norms[1]);
  EXPECT_EQ(norms[0], norms[2]);
}

TEST(Norms, TheResultTellsTheRatesOfEveryGroup) {
  Model model({{}, {}}, {});
  model.grads({1, 1});
  model.driver.members()[0]->groups()[1]->set("lr", 0.25);
  const StepResult& result = model.driver.step();
  ASSERT_EQ(result.rates.size(), 2u);
  EXPECT_EQ(result.rates[0], (GroupRates{"g0", 1, 0}));
  EXPECT_EQ(result.rates[1], (GroupRates{"g1", 0.25, 0}));
}

}  // namespace
}  // namespace steepest
