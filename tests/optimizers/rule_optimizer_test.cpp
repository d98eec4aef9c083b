#include "steepest/optimizers/rule_optimizer.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <sstream>

#include "steepest/optimizers/rules.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

at::Tensor param(std::vector<std::int64_t> shape = {2, 2}, double value = 1) {
  return at::full(shape, value, at::kFloat).set_requires_grad(true);
}
void grad(at::Tensor p, double value) { p.mutable_grad() = at::full(p.sizes(), value, at::kFloat); }

TEST(RuleOptimizer, StepsAsTheRuleSays) {
  const at::Tensor p = param();
  AdamW optimizer({p}, {.lr = 0.1, .weight_decay = 0.1});
  grad(p, 1);
  optimizer.step();
  EXPECT_NEAR(p[0][0].item<double>(), 0.89, 1e-6);
  EXPECT_EQ(optimizer.state_of(p)->step, 1);
  EXPECT_EQ(optimizer.state().size(), 1u);
}

TEST(RuleOptimizer, AllocatingStateIsInert) {
  const at::Tensor p = param();
  AdamW optimizer({p}, {.lr = 0.1, .weight_decay = 0.1});
  optimizer.allocate_state();
  EXPECT_EQ(p[0][0].item<double>(), 1.0);
  EXPECT_EQ(optimizer.state_of(p)->step, 0);
  grad(p, 1);
  optimizer.step();
  EXPECT_NEAR(p[0][0].item<double>(), 0.89, 1e-6);
}

TEST(RuleOptimizer, AGroupsOptionsWinEvenWhereTheyEqualADefault) {
  const at::Tensor a = param(), b = param();
  std::vector<RuleGroup<AdamWOptions>> groups;
  groups.push_back(
      {.params = {a},
       .options = {.lr = 1e-3, .weight_decay = 0.01}});  // both are AdamWOptions' defaults
  groups.push_back({.params = {b}, .options = {.lr = 0.5}});
  AdamW optimizer(groups, {.lr = 0.7, .weight_decay = 0.9});
  EXPECT_EQ(optimizer.options(0).lr, 1e-3);
  EXPECT_EQ(optimizer.options(0).weight_decay, 0.01);
  EXPECT_EQ(optimizer.options(1).lr, 0.5);
}

TEST(RuleOptimizer, RefusesBeforeAnythingIsBuilt) {
  const at::Tensor p = param();
  EXPECT_ERROR(ConfigError, AdamW({p}, {.lr = -1, .eps = -1}),
               "adamw.lr is -1; it must be finite and not negative\nadamw.eps is -1; it must be "
               "finite and not negative");
  EXPECT_ERROR(ConfigError, AdamW({p, p}),
               "parameter 1 of group 0 is given twice; it would be updated twice a step; give "
               "every parameter once");
  EXPECT_ERROR(ShapeError, Muon({param({3})}),
               "parameter 0 of group 0 of shape [3] was given to muon; muon orthogonalizes "
               "matrices; a vector has no singular values to even out; put it into a group of "
               "adamw, as build_optimizer does");
  EXPECT_ERROR(ConfigError, AdamW({p * 2}),
               "parameter 0 of group 0 is not a leaf; gradients gather in leaves alone; give the "
               "tensor that the module holds");
}

TEST(RuleOptimizer, AddsGroupsAndRefusesRepeatedOnes) {
  const at::Tensor a = param(), b = param();
  SGD optimizer({a}, {.lr = 1});
  optimizer.add_param_group(RuleGroup<SGDOptions>{.params = {b}, .options = {.lr = 0.5}});
  EXPECT_ERROR(ConfigError, optimizer.add_param_group(RuleGroup<SGDOptions>{.params = {a}}),
               "parameter 0 of group 2 is given twice; it would be updated twice a step; give "
               "every parameter once");
  grad(a, 1);
  grad(b, 1);
  optimizer.step();
  EXPECT_EQ(a[0][0].item<double>(), 0);
  EXPECT_EQ(b[0][0].item<double>(), 0.5);
}

// Through the base class libtorch takes a parameter that has no state yet a second time; the next
// step looks first.
TEST(RuleOptimizer, GroupsThatCameThroughTheBaseClassAreCheckedBeforeTheStep) {
  const at::Tensor a = param();
  SGD optimizer({a}, {.lr = 1});
  static_cast<torch::optim::Optimizer&>(optimizer).add_param_group(
      torch::optim::OptimizerParamGroup({a}));
  grad(a, 1);
  EXPECT_ERROR(ConfigError, optimizer.step(),
               "parameter 0 of group 1 is given twice; it would be updated twice a step; give "
               "every parameter once");
  EXPECT_EQ(a[0][0].item<double>(), 1);
}

TEST(RuleOptimizer, MissingGradientsSkipAndZeroGradWorks) {
  const at::Tensor a = param(), b = param();
  AdamW optimizer({a, b}, {.lr = 0.1, .weight_decay = 1});
  grad(a, 1);
  optimizer.step();
  EXPECT_EQ(b[0][0].item<double>(), 1);
  EXPECT_EQ(optimizer.state_of(b), nullptr);
  optimizer.zero_grad();
  EXPECT_FALSE(a.grad().defined());
}

TEST(RuleOptimizer, RunsClosuresWithGradients) {
  const at::Tensor p = param();
  SGD optimizer({p}, {.lr = 0.5});
  const at::Tensor loss = optimizer.step([&] {
    optimizer.zero_grad();
    const at::Tensor value = (p * p).sum();
    value.backward();
    return value;
  });
  EXPECT_EQ(loss.item<double>(), 4);
  EXPECT_EQ(p[0][0].item<double>(), 0);
}

TEST(RuleOptimizer, LibtorchsSchedulersDriveIt) {
  const at::Tensor p = param();
  Lion optimizer({p}, {.lr = 1});
  torch::optim::StepLR scheduler(optimizer, 2, 0.1);
  for (int i = 0; i < 3; ++i) {  // libtorch's StepLR counts from its first call
    grad(p, 1);
    optimizer.step();
    scheduler.step();
  }
  EXPECT_NEAR(optimizer.options().lr, 0.1, 1e-12);
}

template <class Optimizer>
void round_trip(typename Optimizer::Options options) {
  const at::Tensor a = param({4, 4}), b = param({4, 4});
  Optimizer first({a}, options);
  for (int i = 1; i <= 3; ++i) {
    grad(a, 0.3 * i);
    first.step();
  }
  std::stringstream stream;
  torch::save(first, stream);
  {
    const at::NoGradGuard no_grad;
    at::Tensor(b).copy_(a);
  }
  Optimizer second({b});
  torch::load(second, stream);
  EXPECT_EQ(second.options(), options);
  EXPECT_EQ(second.state_of(b)->step, 3);
  for (int i = 4; i <= 6; ++i) {
    grad(a, 0.2 * i);
    grad(b, 0.2 * i);
    first.step();
    second.step();
  }
  EXPECT_TRUE(a.equal(b));
}

TEST(RuleOptimizer, SavesAndLoadsBitForBitWithAllOptions) {
  round_trip<AdamW>(
      {.lr = 0.37, .betas = {0.8, 0.9}, .eps = 1e-6, .weight_decay = 0.2, .amsgrad = true});
  round_trip<Adam>({.lr = 0.37, .weight_decay = 0.2});
  round_trip<SGD>({.lr = 0.01, .momentum = 0.9, .nesterov = true});
  round_trip<Lion>({.lr = 0.01});
  round_trip<Muon>({.lr = 0.02, .momentum = 0.9});
}

TEST(RuleOptimizer, RefusesArchivesThatDoNotFitAndChangesNothing) {
  const at::Tensor a = param({5, 4}), b = param({4, 4});
  AdamW saved({a}, {.lr = 0.3});
  grad(a, 1);
  saved.step();
  const auto text = [&] {
    std::stringstream stream;
    torch::save(saved, stream);
    return stream.str();
  }();
  AdamW other({b}, {.lr = 0.1});
  std::stringstream one(text), two(text), three(text);
  EXPECT_ERROR(StateError, torch::load(other, one),
               "state exp_avg of parameter 0 of group 0 has shape [5, 4], here it is [4, 4]; a "
               "state must have the shape of "
               "its parameter; load into the model it was saved from");
  EXPECT_EQ(other.options().lr, 0.1);
  EXPECT_EQ(other.state_of(b), nullptr);
  SGD sgd({a});
  EXPECT_ERROR(StateError, torch::load(sgd, two),
               "the archive holds the rule 'adamw', this optimizer is 'sgd'; a rule's state means "
               "nothing to another rule");
  AdamW wide({a, param()});
  EXPECT_ERROR(StateError, torch::load(wide, three),
               "group 0 of the archive holds 1 parameters, here it has 2; build the optimizer as "
               "it was when saved");
}

TEST(RuleOptimizer, ASparseGradientStopsTheStepBeforeAnyWeightMoves) {
  const at::Tensor a = param(), b = param();
  AdamW optimizer({a, b});
  grad(a, 1);
  at::Tensor(b).mutable_grad() = at::ones({2, 2}).to_sparse();
  EXPECT_ERROR(
      LayoutError, optimizer.step(),
      "the gradient of parameter 1 of group 0 is sparse; the rules here work on every element of a "
      "dense gradient; call to_dense() on it, or build the embedding with sparse false");
  EXPECT_EQ(a[0][0].item<double>(), 1);
  EXPECT_EQ(optimizer.state_of(a), nullptr);
}

TEST(RuleOptimizer, OptionsOfAnotherOptimizerAreRefused) {
  const at::Tensor a = param(), b = param();
  std::vector<RuleGroup<AdamWOptions>> groups{{.params = {a}}, {.params = {b}}};
  AdamW optimizer(groups);
  optimizer.param_groups()[1].set_options(std::make_unique<torch::optim::SGDOptions>(0.1));
  grad(a, 1);
  EXPECT_ERROR(ConfigError, optimizer.step(),
               "group 1 holds options of another optimizer than adamw; their fields mean nothing "
               "to this rule; add the group with "
               "a steepest::RuleGroup, or without options");
  EXPECT_EQ(a[0][0].item<double>(), 1);
}

TEST(RuleOptimizer, AParameterPushedIntoAGroupTwiceIsFound) {
  const at::Tensor a = param();
  SGD optimizer({a}, {.lr = 1});
  optimizer.param_groups()[0].params().push_back(a);
  grad(a, 1);
  EXPECT_ERROR(ConfigError, optimizer.step(),
               "parameter 1 of group 0 is given twice; it would be updated twice a step; give "
               "every parameter once");
  EXPECT_EQ(a[0][0].item<double>(), 1);
}

TEST(RuleOptimizer, GroupsMayBeWrittenInPlace) {
  const at::Tensor a = param(), b = param();
  Muon optimizer({{.params = {a}, .options = {.lr = 0.25}}, {.params = {b}}});
  EXPECT_EQ(optimizer.options(0).lr, 0.25);
  EXPECT_EQ(optimizer.options(1), MuonOptions{});
}

TEST(RuleOptimizer, ABadOptionSetBetweenStepsIsCaughtBeforeTheStep) {
  const at::Tensor p = param();
  AdamW optimizer({p});
  optimizer.options().lr = -1;
  grad(p, 1);
  EXPECT_ERROR(ConfigError, optimizer.step(),
               "adamw: group 0.lr is -1; it must be finite and not negative");
  EXPECT_EQ(p[0][0].item<double>(), 1);
}

}  // namespace
}  // namespace steepest
