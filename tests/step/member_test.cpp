#include "steepest/step/member.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "steepest/base/error.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

at::Tensor param(std::vector<std::int64_t> shape, double value = 1) {
  return at::full(shape, value, at::kDouble).set_requires_grad(true);
}

std::unique_ptr<Member> member_of(RuleOptions options, std::vector<MemberParam> params) {
  std::vector<MemberGroup> groups;
  groups.push_back({"g", std::move(options), std::move(params), "test"});
  return make_member(std::move(groups));
}

TEST(Member, EveryRuleHasOne) {
  const at::Tensor w = param({2, 3});
  for (const RuleOptions& options :
       {RuleOptions(AdamWOptions{}), RuleOptions(AdamOptions{}), RuleOptions(SGDOptions{}),
        RuleOptions(LionOptions{}), RuleOptions(MuonOptions{})})
    EXPECT_EQ(member_of(options, {{"w", w}})->rule(), rule_name(options));
}

TEST(Member, RefusesMixedRulesAndBadOptionsAndShapes) {
  std::vector<MemberGroup> mixed;
  mixed.push_back({"a", AdamWOptions{}, {}, ""});
  mixed.push_back({"b", SGDOptions{}, {}, ""});
  EXPECT_ERROR(ConfigError, make_member(std::move(mixed)),
               "group b has the rule 'sgd' in a member of rule 'adamw'");
  EXPECT_ERROR(ConfigError, make_member({}), "an optimizer member needs at least one group");
  EXPECT_ERROR(ConfigError, member_of(AdamWOptions{.lr = -1}, {{"w", param({2})}}),
               "g.lr is -1; it must be finite and not negative");
  EXPECT_ERROR(
      ShapeError, member_of(MuonOptions{}, {{"w", param({2})}}),
      "parameter w of shape [2] was given to muon; muon orthogonalizes matrices; a vector has no "
      "singular values to even out; put it into a group of adamw, as build_optimizer does");
}

TEST(Member, AMissingGradientTouchesNothing) {
  at::Tensor a = param({2}), b = param({2});
  auto member = member_of(AdamWOptions{.lr = 0.1, .weight_decay = 0.5}, {{"a", a}, {"b", b}});
  a.mutable_grad() = at::ones({2}, at::kDouble);
  member->update(1, false);
  EXPECT_NE(a[0].item<double>(), 1.0);
  EXPECT_EQ(b[0].item<double>(), 1.0);
  for (const NamedState& each : member->state()) EXPECT_EQ(each.param, "a");
}

TEST(Member, FoldsTheFactorIntoTheGradient) {
  at::Tensor a = param({1});
  auto member = member_of(SGDOptions{.lr = 1}, {{"a", a}});
  a.mutable_grad() = at::full({1}, 10.0, at::kDouble);
  member->update(0.1, false);
  EXPECT_NEAR(a.item<double>(), 0.0, 1e-12);
  EXPECT_EQ(a.grad().item<double>(), 10.0);  // the caller's gradient stays
}

TEST(Member, StateComesAndGoesByName) {
  at::Tensor a = param({2}), b = param({2});
  auto member = member_of(AdamWOptions{.lr = 0.1}, {{"a", a}, {"b", b}});
  a.mutable_grad() = at::full({2}, 2.0, at::kDouble);
  b.mutable_grad() = at::full({2}, 3.0, at::kDouble);
  member->update(1, false);
  std::map<std::string, at::Tensor> saved;
  for (const NamedState& each : member->state())
    saved[each.param + "/" + each.key] =
        each.tensor.defined() ? each.tensor.clone() : at::scalar_tensor(each.step, at::kLong);
  const StateSource source = [&](std::string_view p, std::string_view k) {
    const auto found = saved.find(std::string(p) + "/" + std::string(k));
    return found == saved.end() ? at::Tensor() : found->second;
  };
  // The other order of registration: each state finds its parameter.
  at::Tensor a2 = param({2}), b2 = param({2});
  auto other = member_of(AdamWOptions{.lr = 0.1}, {{"b", b2}, {"a", a2}});
  other->check_state(source);
  other->load_state(source);
  for (const NamedState& each : other->state()) {
    if (each.key == "step") {
      EXPECT_EQ(each.step, 1);
    }
    if (each.key == "exp_avg") {
      EXPECT_NEAR(each.tensor[0].item<double>(), each.param == "a" ? 0.2 : 0.3, 1e-12);
      EXPECT_NE(each.tensor.data_ptr(),
                saved[each.param + "/exp_avg"].data_ptr());  // copied in, not shared
    }
  }
}

TEST(Member, RefusesStatesThatDoNotFit) {
  auto member = member_of(AdamWOptions{}, {{"a", param({4, 4})}});
  std::map<std::string, at::Tensor> saved{{"step", at::scalar_tensor(3, at::kLong)},
                                          {"exp_avg", at::zeros({5, 4}, at::kDouble)},
                                          {"exp_avg_sq", at::zeros({4, 4}, at::kDouble)}};
  const StateSource source = [&](std::string_view, std::string_view k) {
    const auto found = saved.find(std::string(k));
    return found == saved.end() ? at::Tensor() : found->second;
  };
  EXPECT_ERROR(StateError, member->check_state(source),
               "state exp_avg of a has shape [5, 4], here it is [4, 4]; a state must have the "
               "shape of its parameter; "
               "load into the model it was saved from");
  saved.erase("exp_avg");
  EXPECT_ERROR(StateError, member->check_state(source),
               "state exp_avg of a is missing; it was saved under other options, or by another "
               "program; build the "
               "optimizer with the options it was saved with");
  saved["step"] = at::zeros({2}, at::kLong);
  EXPECT_ERROR(StateError, member->check_state(source),
               "state step of a has 2 values; it is a single counter");
}

TEST(Member, KeepsStepCountsBeyondTwoToThe24) {
  at::Tensor a = param({1});
  auto member = member_of(AdamWOptions{}, {{"a", a}});
  std::map<std::string, at::Tensor> saved{{"step", at::scalar_tensor(16'777'216, at::kLong)},
                                          {"exp_avg", at::zeros({1}, at::kDouble)},
                                          {"exp_avg_sq", at::zeros({1}, at::kDouble)}};
  const StateSource source = [&](std::string_view, std::string_view k) {
    const auto found = saved.find(std::string(k));
    return found == saved.end() ? at::Tensor() : found->second;
  };
  member->load_state(source);
  a.mutable_grad() = at::ones({1}, at::kDouble);
  member->update(1, false);
  EXPECT_EQ(member->state().front().step, 16'777'217);
}

}  // namespace
}  // namespace steepest
