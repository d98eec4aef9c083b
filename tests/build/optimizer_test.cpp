#include "steepest/build/optimizer.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "steepest/base/error.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

at::Tensor param(std::vector<std::int64_t> shape, double value = 1) {
  return at::full(shape, value, at::kDouble).set_requires_grad(true);
}

ParamSet model() {
  ParamSet params;
  params.add("wte.weight", param({16, 4}), "embedding");
  params.add("blocks.0.up.weight", param({8, 4}), "linear");
  params.add("blocks.0.norm.weight", param({4}), "norm");
  params.add("lm_head.weight", param({16, 4}), "linear");
  return params;
}

void set_grads(const ParamSet& params, double value) {
  for (const Param& each : params) {
    at::Tensor tensor = each.value;
    tensor.mutable_grad() = at::full(tensor.sizes(), value, at::kDouble);
  }
}

TEST(BuildOptimizer, RoutesEveryParameterOnce) {
  const ParamSet params = model();
  const auto optimizer = build_optimizer(MuonConfig{.lr = 0.02, .scalar_lr = 0.003}, params);
  std::map<std::string, std::string> rule_of;
  for (Group* group : optimizer->groups())
    for (const std::string& name : group->params()) {
      EXPECT_FALSE(rule_of.contains(name));
      rule_of[name] = group->rule();
    }
  EXPECT_EQ(rule_of, (std::map<std::string, std::string>{{"wte.weight", "adamw"},
                                                         {"blocks.0.up.weight", "muon"},
                                                         {"blocks.0.norm.weight", "adamw"},
                                                         {"lm_head.weight", "adamw"}}));
  const std::string table = optimizer->describe();
  EXPECT_NE(table.find("blocks.0.up.weight"), std::string::npos);
  EXPECT_NE(table.find("muon"), std::string::npos);
}

TEST(BuildOptimizer, RefusesBadConfigsBeforeBuilding) {
  EXPECT_ERROR(ConfigError, build_optimizer(AdamWConfig{.lr = -1}, model()),
               "optimizer.lr is -1; it must be finite and not negative");
  ParamSet vectors;
  vectors.add("a", param({4}));
  EXPECT_ERROR(ConfigError, build_optimizer(MuonConfig{}, vectors),
               "optimizer asks for a matrix rule, and no parameter of it is a hidden matrix; "
               "everything would silently go to the rule of the rest; use adamw, or set the roles "
               "of the parameters that are matrices");
  EXPECT_ERROR(ConfigError, build_optimizer(AdamWConfig{}, ParamSet()),
               "none of the 0 parameters is trainable; an optimizer without parameters would train "
               "nothing; give a model whose parameters require gradients");
}

TEST(Optimizer, TellsEveryParameterThatIsInTwoGroups) {
  const std::vector<GroupPlan> plans{{"first", AdamWOptions{}, {0, 1, 2}, ""},
                                     {"second", LionOptions{}, {2, 3}, ""},
                                     {"third", LionOptions{}, {0, 0}, ""}};
  const std::string rest =
      "; it would be updated twice a step; let the groups' rules exclude each other";
  EXPECT_ERROR(ConfigError, Optimizer(model(), plans, {}),
               "parameter blocks.0.norm.weight is in two groups, first and second" + rest +
                   "\nparameter wte.weight is in two groups, first and third" + rest +
                   "\nparameter wte.weight is in two groups, third and third" + rest);
}

TEST(Optimizer, ZeroGradReachesEveryMember) {
  const ParamSet params = model();
  const auto optimizer = build_optimizer(MuonConfig{}, params);
  for (int i = 0; i < 3; ++i) {
    set_grads(params, 1);
    optimizer->zero_grad(false);
    for (const Param& each : params) EXPECT_EQ(each.value.grad().abs().sum().item<double>(), 0);
  }
  optimizer->zero_grad();
  for (const Param& each : params) EXPECT_FALSE(each.value.grad().defined());
}

TEST(Optimizer, OneNormOverAllMembers) {
  const ParamSet params = model();
  const auto optimizer = build_optimizer(MuonConfig{}, params, {.max_norm = 1});
  set_grads(params, 0.5);
  // 64 + 32 + 4 + 64 values of 0.5: sqrt(164 * 0.25).
  EXPECT_NEAR(optimizer->step().grad_norm, std::sqrt(41.0), 1e-12);
}

TEST(Optimizer, SetsRatesOfAllGroupsAndRefusesUnknownOnes) {
  const auto optimizer = build_optimizer(MuonConfig{}, model());
  optimizer->set("lr", 0.05);
  for (Group* group : optimizer->groups()) EXPECT_EQ(group->lr(), 0.05);
  optimizer->set("betas", {0.5, 0.6});  // the Muon group has none: only the others change
  EXPECT_ERROR(ConfigError, optimizer->set("nonsense", 1),
               "no group has an option 'nonsense'; the rules here are adamw, muon");
  EXPECT_ERROR(ConfigError, optimizer->set("lr", -1),
               "matrices.lr is -1; it must be finite and not negative");
  for (Group* group : optimizer->groups()) EXPECT_EQ(group->lr(), 0.05);
  EXPECT_ERROR(ConfigError, optimizer->group("matrixes"),
               "there is no group 'matrixes'; did you mean 'matrices'?");
  EXPECT_EQ(&optimizer->group("matrices"), optimizer->groups()[0]);
}

// A group added in mid-run follows the schedule from that moment, from its own base.
TEST(Optimizer, AGroupAddedLaterIsScheduled) {
  ParamSet params;
  params.add("a", param({1}));
  const auto optimizer = build_optimizer(
      RuleConfig{.matrices = SGDOptions{.lr = 1}, .rest = SGDOptions{.lr = 1}}, params);
  LRScheduler scheduler(*optimizer,
                        {.style = DecayStyle::kCosine, .max_lr = 1, .decay_steps = 100});
  scheduler.step(50);
  ParamSet more;
  more.add("b", param({1}));
  Group& added = optimizer->add_group("late", SGDOptions{.lr = 0.5}, more);
  EXPECT_NEAR(added.lr(), 0.25, 1e-12);
  scheduler.step(25);
  EXPECT_NEAR(optimizer->groups()[0]->lr(), 0.1464466, 1e-6);
  EXPECT_NEAR(added.lr(), 0.5 * 0.1464466, 1e-6);
  EXPECT_ERROR(ConfigError, optimizer->add_group("late", SGDOptions{}, more),
               "there is a group 'late' already; choose another name");
  EXPECT_ERROR(ConfigError, optimizer->add_group("again", SGDOptions{}, more),
               "parameter b is in the optimizer already; it would be updated twice a step");
}

TEST(Optimizer, MissingGradientsAreSkipped) {
  const ParamSet params = model();
  const auto optimizer = build_optimizer(AdamWConfig{.lr = 0.1, .weight_decay = 0.5}, params);
  const StepResult result = optimizer->step();
  EXPECT_TRUE(result.applied);
  for (const Param& each : params) EXPECT_TRUE(each.value.equal(at::ones_like(each.value)));
}

TEST(Optimizer, AllocatingStateIsInert) {
  const ParamSet params = model();
  const auto optimizer = build_optimizer(AdamWConfig{.lr = 0.1, .weight_decay = 0.1}, params);
  optimizer->allocate_state();
  for (const NamedState& each : optimizer->state()) {
    EXPECT_EQ(each.step, 0);
    if (each.tensor.defined()) {
      EXPECT_EQ(each.tensor.abs().sum().item<double>(), 0);
    }
  }
  for (const Param& each : params) EXPECT_TRUE(each.value.equal(at::ones_like(each.value)));
  set_grads(params, 1);
  optimizer->step();
  EXPECT_NEAR(params[2].value[0].item<double>(), 0.89, 1e-7);
}

}  // namespace
}  // namespace steepest
