// Groups of every rule's libtorch optimizer: their order, their options, and where they come from.
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/serialize/input-archive.h>
#include <torch/serialize/output-archive.h>

#include <sstream>

#include "tests/support/rule_cases.h"

namespace steepest {
namespace {

using test::same_bits;

/// Options of two groups that differ from the defaults and from each other wherever numbers can.
template <class R>
std::pair<typename R::Options, typename R::Options> two_options();
template <>
std::pair<AdamWOptions, AdamWOptions> two_options<AdamWRule>() {
  return {{.lr = 0.37, .betas = {0.8, 0.9}, .eps = 1e-6, .weight_decay = 0.2},
          {.lr = 0.02, .betas = {0.5, 0.7}, .eps = 1e-4, .weight_decay = 0.4, .amsgrad = true}};
}
template <>
std::pair<AdamOptions, AdamOptions> two_options<AdamRule>() {
  return {{.lr = 0.37, .betas = {0.8, 0.9}, .eps = 1e-6, .weight_decay = 0.2},
          {.lr = 0.02, .betas = {0.5, 0.7}, .weight_decay = 0.4, .decoupled_weight_decay = true}};
}
template <>
std::pair<SGDOptions, SGDOptions> two_options<SGDRule>() {
  return {{.lr = 0.37, .momentum = 0.8, .weight_decay = 0.2, .nesterov = true},
          {.lr = 0.02, .momentum = 0.5, .dampening = 0.3, .maximize = true}};
}
template <>
std::pair<LionOptions, LionOptions> two_options<LionRule>() {
  return {{.lr = 0.37, .betas = {0.8, 0.95}, .weight_decay = 0.2},
          {.lr = 0.02, .betas = {0.5, 0.7}, .weight_decay = 0.4}};
}
template <>
std::pair<MuonOptions, MuonOptions> two_options<MuonRule>() {
  MuonOptions second = MuonOptions::dion();
  second.lr = 0.02;
  return {{.lr = 0.37, .momentum = 0.8, .weight_decay = 0.2}, second};
}

template <class R>
class Groups : public testing::Test {
 protected:
  using Optimizer = RuleOptimizer<R>;
  using Options = typename R::Options;

  /// Four parameters, the same every time.
  static std::vector<at::Tensor> params() {
    at::manual_seed(5);
    std::vector<at::Tensor> all;
    for (int i = 0; i < 4; ++i) all.push_back(at::randn({4, 6}).set_requires_grad(true));
    return all;
  }
  static void step(Optimizer& optimizer, const std::vector<at::Tensor>& params, int seed) {
    at::manual_seed(seed);
    for (const at::Tensor& each : params) each.mutable_grad() = at::randn(each.sizes());
    optimizer.step();
  }
  static void expect_same(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_TRUE(same_bits(a[i].detach(), b[i].detach())) << "parameter " << i;
  }
};
using AllRules = testing::Types<AdamWRule, AdamRule, SGDRule, LionRule, MuonRule>;
TYPED_TEST_SUITE(Groups, AllRules);

TYPED_TEST(Groups, TheirOrderDoesNotShow) {
  using Group = RuleGroup<typename TypeParam::Options>;
  const auto [one, two] = two_options<TypeParam>();
  const auto a = this->params(), b = this->params();
  RuleOptimizer<TypeParam> forward(std::vector<Group>{{{a[0], a[1]}, one}, {{a[2], a[3]}, two}});
  RuleOptimizer<TypeParam> backward(std::vector<Group>{{{b[3], b[2]}, two}, {{b[1], b[0]}, one}});
  for (int i = 0; i < 3; ++i) {
    this->step(forward, a, i);
    this->step(backward, b, i);
  }
  this->expect_same(a, b);
}

TYPED_TEST(Groups, SplittingOneDoesNotShow) {
  using Group = RuleGroup<typename TypeParam::Options>;
  const auto options = two_options<TypeParam>().first;
  const auto a = this->params(), b = this->params();
  RuleOptimizer<TypeParam> whole(a, options);
  RuleOptimizer<TypeParam> split(
      std::vector<Group>{{{b[0]}, options}, {{b[1], b[2]}, options}, {{b[3]}, options}});
  for (int i = 0; i < 3; ++i) {
    this->step(whole, a, i);
    this->step(split, b, i);
  }
  this->expect_same(a, b);
}

TYPED_TEST(Groups, AParamSetAndItsTensorsMakeTheSameOptimizer) {
  const auto options = two_options<TypeParam>().second;
  const auto a = this->params(), b = this->params();
  ParamSet set;
  for (std::size_t i = 0; i < a.size(); ++i) set.add("w" + std::to_string(i), a[i]);
  RuleOptimizer<TypeParam> named(set, options), plain(b, options);
  for (int i = 0; i < 3; ++i) {
    this->step(named, a, i);
    this->step(plain, b, i);
  }
  this->expect_same(a, b);
}

// A loader that brings moments back and not the rates resumes at the constructor's.
TYPED_TEST(Groups, EveryOptionOfEachComesBackFromAnArchive) {
  using Group = RuleGroup<typename TypeParam::Options>;
  const auto [one, two] = two_options<TypeParam>();
  const auto a = this->params(), b = this->params();
  RuleOptimizer<TypeParam> saved(std::vector<Group>{{{a[0], a[1]}, one}, {{a[2], a[3]}, two}});
  for (int i = 0; i < 3; ++i) this->step(saved, a, i);
  std::stringstream stream;
  {
    torch::serialize::OutputArchive archive;
    saved.save(archive);
    archive.save_to(stream);
  }
  {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < a.size(); ++i) at::Tensor(b[i]).copy_(a[i]);
  }
  RuleOptimizer<TypeParam> loaded(std::vector<Group>{{{b[0], b[1]}}, {{b[2], b[3]}}});
  ASSERT_NE(loaded.options(0), one);
  torch::serialize::InputArchive archive;
  archive.load_from(stream);
  loaded.load(archive);
  EXPECT_EQ(loaded.options(0), one);
  EXPECT_EQ(loaded.options(1), two);
  for (int i = 3; i < 6; ++i) {
    this->step(saved, a, i);
    this->step(loaded, b, i);
  }
  this->expect_same(a, b);
}

// Through the base class, without knowing the rule.
TYPED_TEST(Groups, RatesAreSetThroughTheBaseClass) {
  const auto [one, two] = two_options<TypeParam>();
  const auto a = this->params(), b = this->params();
  auto wanted = one;
  wanted.lr = 0.05;
  RuleOptimizer<TypeParam> changed(a, one), built(b, wanted);
  for (auto& group : static_cast<torch::optim::Optimizer&>(changed).param_groups())
    group.options().set_lr(0.05);
  EXPECT_EQ(changed.options(), wanted);
  this->step(changed, a, 1);
  this->step(built, b, 1);
  this->expect_same(a, b);
}

TYPED_TEST(Groups, DefaultsAreThoseOfGroupsAddedLaterAlone) {
  const auto options = two_options<TypeParam>().first;
  const auto a = this->params();
  RuleOptimizer<TypeParam> optimizer({a[0]}, options);
  optimizer.defaults().set_lr(0.125);
  EXPECT_EQ(optimizer.options(0), options);
  static_cast<torch::optim::Optimizer&>(optimizer).add_param_group(
      torch::optim::OptimizerParamGroup({a[1]}));
  auto later = options;
  later.lr = 0.125;
  EXPECT_EQ(optimizer.options(1), later);
  EXPECT_EQ(optimizer.options(0), options);
}

}  // namespace
}  // namespace steepest
