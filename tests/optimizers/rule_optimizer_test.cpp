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

constexpr const char* kForeignOptions =
    "group 1 holds options of another optimizer than sgd; their fields mean nothing to this rule; "
    "add the group with a steepest::RuleGroup, or without options";

TEST(RuleOptimizer, LibtorchsOwnGroupsKeepTheirOptions) {
  const at::Tensor a = param(), b = param(), c = param();
  SGD optimizer({a}, {.lr = 1});
  EXPECT_ERROR(ConfigError,
               optimizer.add_param_group(torch::optim::OptimizerParamGroup(
                   {b}, std::make_unique<torch::optim::SGDOptions>(0.1))),
               kForeignOptions);
  EXPECT_ERROR(ConfigError,
               optimizer.add_param_group(torch::optim::OptimizerParamGroup(
                   {b}, std::make_unique<RuleOptionsHolder<LionOptions>>(LionOptions{}))),
               kForeignOptions);
  EXPECT_EQ(optimizer.param_groups().size(), 1u);
  // 1e-3 is SGDOptions' default, which libtorch's own function would take for not set.
  optimizer.add_param_group(torch::optim::OptimizerParamGroup(
      {b}, std::make_unique<RuleOptionsHolder<SGDOptions>>(SGDOptions{.lr = 1e-3})));
  optimizer.add_param_group(torch::optim::OptimizerParamGroup({c}));
  EXPECT_EQ(optimizer.options(1).lr, 1e-3);
  EXPECT_EQ(optimizer.options(2).lr, 1);
}

constexpr const char* kReplaced =
    "another tensor has taken the place of parameter 0 of group 0; the state belongs to the tensor "
    "that was there, and would be lost; give the old tensor new values (copy_, set_data), erase "
    "its "
    "state first, or build the optimizer anew";

TEST(RuleOptimizer, AReplacedParameterIsRefusedOnceItHasState) {
  const at::Tensor a = param(), b = param(), c = param();
  AdamW optimizer({a}, {.lr = 0.1, .weight_decay = 0});
  optimizer.param_groups()[0].params()[0] = b;  // before any state: nothing is lost
  grad(b, 1);
  optimizer.step();
  EXPECT_NEAR(b[0][0].item<double>(), 0.9, 1e-6);

  optimizer.param_groups()[0].params()[0] = c;
  grad(c, 1);
  EXPECT_ERROR(StateError, optimizer.step(), kReplaced);
  EXPECT_ERROR(StateError, optimizer.allocate_state(), kReplaced);
  EXPECT_EQ(c[0][0].item<double>(), 1);
  EXPECT_EQ(optimizer.state_of(c), nullptr);
  EXPECT_EQ(optimizer.state_of(b)->step, 1);
  optimizer.state().erase(b.unsafeGetTensorImpl());
  optimizer.step();
  EXPECT_NEAR(c[0][0].item<double>(), 0.9, 1e-6);
}

TEST(RuleOptimizer, ParametersMayBeTakenOutAndTheirStateGoesWithThem) {
  const at::Tensor a = param(), b = param(), c = param();
  AdamW optimizer({a, b}, {.lr = 0.1, .weight_decay = 0});
  for (const at::Tensor& each : {a, b, c}) grad(each, 1);
  optimizer.step();
  auto& params = optimizer.param_groups()[0].params();
  params.erase(params.begin());
  params.push_back(c);
  optimizer.step();
  EXPECT_EQ(optimizer.state_of(a), nullptr);
  EXPECT_EQ(optimizer.state_of(b)->step, 2);
  EXPECT_EQ(optimizer.state_of(c)->step, 1);
  EXPECT_NEAR(a[0][0].item<double>(), 0.9, 1e-6);
}

// Module::to gives the parameters other memory.
TEST(RuleOptimizer, AConvertedModuleIsFollowedAndCheckedAnew) {
  torch::nn::Linear module(4, 3);
  AdamW optimizer(module->parameters(), {.lr = 0.1});
  for (const at::Tensor& each : module->parameters()) each.mutable_grad() = at::ones(each.sizes());
  optimizer.step();
  module->zero_grad();
  module->to(at::kDouble);
  for (const at::Tensor& each : module->parameters())
    each.mutable_grad() = at::ones(each.sizes(), at::kDouble);
  optimizer.step();
  EXPECT_EQ(module->weight.scalar_type(), at::kDouble);
  EXPECT_EQ(optimizer.state_of(module->weight)->step, 2);

  // A matrix that became a vector is nothing that muon can orthogonalize; without state, too.
  const at::Tensor w = param({4, 2});
  Muon muon({w});
  w.set_data(at::ones({8}));
  w.mutable_grad() = at::ones({8});
  EXPECT_ERROR(ShapeError, muon.step(),
               "parameter 0 of group 0 of shape [8] was given to muon; muon orthogonalizes "
               "matrices; a vector has no singular values to even out; put it into a group of "
               "adamw, as build_optimizer does");
}

TEST(RuleOptimizer, AStateOnAnotherDeviceIsRefused) {
  const at::Tensor p = param();
  AdamW optimizer({p});
  grad(p, 1);
  optimizer.step();
  optimizer.state_of(p)->exp_avg = at::ones({2, 2}, at::TensorOptions().device(at::kMeta));
  EXPECT_ERROR(StateError, optimizer.step(),
               "a state of parameter 0 of group 0 was made for another storage, shape or device; "
               "states and masters cannot be changed, nor a parameter resized or moved, once steps "
               "were made; set them before the first step, or build the optimizer anew and load");
}

TEST(RuleOptimizer, ParametersThatShareMemoryAreRefused) {
  const at::Tensor whole = at::ones({6, 4});
  const auto leaf = [](const at::Tensor& t) { return t.detach().set_requires_grad(true); };
  const at::Tensor top = leaf(whole.slice(0, 0, 3)), bottom = leaf(whole.slice(0, 3, 6)),
                   left = leaf(whole.slice(1, 0, 2)), right = leaf(whole.slice(1, 2, 4));
  EXPECT_NO_THROW(AdamW({top, bottom}));
  EXPECT_NO_THROW(AdamW({left, right}));
  EXPECT_ERROR(LayoutError, AdamW({top, param(), left}),
               "parameters 0 of group 0 and 2 of group 0 share memory; what they share would be "
               "updated twice a step; give one of them, or parts that do not overlap");
  EXPECT_ERROR(LayoutError, AdamW({leaf(at::ones({10}).unfold(0, 4, 2))}),
               "parameter 0 of group 0 overlaps itself; several of its elements are the same "
               "memory, so an in-place update is undefined; give a clone");

  SGD optimizer({top}, {.lr = 1});
  constexpr const char* kShared =
      "parameters 0 of group 0 and 0 of group 1 share memory; what they share would be updated "
      "twice a step; give one of them, or parts that do not overlap";
  EXPECT_ERROR(LayoutError, optimizer.add_param_group(RuleGroup<SGDOptions>{.params = {left}}),
               kShared);
  EXPECT_EQ(optimizer.param_groups().size(), 1u);
  static_cast<torch::optim::Optimizer&>(optimizer).add_param_group(
      torch::optim::OptimizerParamGroup({left}));
  grad(top, 1);
  EXPECT_ERROR(LayoutError, optimizer.step(), kShared);
  EXPECT_TRUE(whole.eq(1).all().item<bool>());

  // Tied after construction.
  const at::Tensor a = param(), b = param();
  SGD later({a, b}, {.lr = 1});
  b.set_data(a.detach());
  EXPECT_ERROR(LayoutError, later.step(),
               "parameters 0 of group 0 and 1 of group 0 share memory; what they share would be "
               "updated twice a step; give one of them, or parts that do not overlap");
}

TEST(RuleOptimizer, AStateOfAnotherOptimizerIsRefused) {
  const at::Tensor a = param(), b = param();
  AdamW optimizer({a, b});
  grad(a, 1);
  grad(b, 1);
  optimizer.state()[a.unsafeGetTensorImpl()];  // looked up without find: an empty entry is none
  optimizer.state()[b.unsafeGetTensorImpl()] = std::make_unique<RuleStateHolder<LionRule::State>>();
  constexpr const char* kForeign =
      "the state of parameter 1 of group 0 is not one of adamw; another optimizer's fields mean "
      "nothing to this rule; erase it from state(), or load what this rule saved";
  EXPECT_ERROR(StateError, optimizer.step(), kForeign);
  EXPECT_EQ(a[0][0].item<double>(), 1);
  EXPECT_EQ(optimizer.state_of(a), nullptr);
  EXPECT_ERROR(StateError, optimizer.state_of(b), kForeign);
  std::stringstream stream;
  EXPECT_ERROR(StateError, torch::save(optimizer, stream), kForeign);
  optimizer.state()[b.unsafeGetTensorImpl()] = std::make_unique<torch::optim::AdamParamState>();
  EXPECT_ERROR(StateError, optimizer.step(), kForeign);
  optimizer.state().erase(b.unsafeGetTensorImpl());
  optimizer.step();
  EXPECT_EQ(optimizer.state_of(b)->step, 1);
}

}  // namespace
}  // namespace steepest
