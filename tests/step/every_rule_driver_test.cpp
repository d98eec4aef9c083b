// A step that is not applied leaves no trace, whatever the rule.
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <limits>

#include "steepest/base/error.h"
#include "steepest/step/step_driver.h"
#include "tests/support/errors.h"
#include "tests/support/rule_cases.h"

namespace steepest {
namespace {

using test::same_bits;

/// Everything a step may change.
struct Trace {
  std::vector<at::Tensor> tensors;
  std::vector<std::int64_t> counters;
};

Trace trace(const StepDriver& driver, const std::vector<at::Tensor>& params) {
  Trace all;
  for (const at::Tensor& each : params) all.tensors.push_back(each.detach().clone());
  for (const auto& member : driver.members())
    for (const NamedState& each : member->state()) {
      if (each.tensor.defined()) all.tensors.push_back(each.tensor.clone());
      all.counters.push_back(each.step);
    }
  all.counters.push_back(driver.applied());
  return all;
}

bool same(const Trace& a, const Trace& b) {
  bool equal = a.tensors.size() == b.tensors.size() && a.counters == b.counters;
  for (std::size_t i = 0; equal && i < a.tensors.size(); ++i)
    equal = same_bits(a.tensors[i], b.tensors[i]);
  return equal;
}

class EveryRuleDriver : public testing::TestWithParam<test::RuleCase> {};

TEST_P(EveryRuleDriver, AThrownAwayStepLeavesNoTrace) {
  at::manual_seed(9);
  std::vector<at::Tensor> params{at::randn({6, 8}), at::randn({8, 6})};
  std::vector<MemberGroup> groups;
  groups.push_back({"all", GetParam().options, {{"a", params[0]}, {"b", params[1]}}, "test"});
  std::vector<std::unique_ptr<Member>> members;
  members.push_back(make_member(std::move(groups)));
  StepDriver driver(std::move(members), {.max_norm = 1});
  const auto gradients = [&] {
    for (const at::Tensor& each : params) each.mutable_grad() = at::randn(each.sizes());
  };
  gradients();
  EXPECT_TRUE(driver.step().applied);
  const Trace before = trace(driver, params);

  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    gradients();
    params[1].mutable_grad()[3][4] = bad;
    driver.set_policy({.max_norm = 1, .non_finite = NonFinitePolicy::kError});
    EXPECT_ERROR(
        NonFiniteError, driver.step(),
        "the gradient of b is not finite at step 2 (1 NaN or Inf values in all gradients); "
        "such a step would ruin the weights; none of them, and no optimizer state, was "
        "changed; lower the learning rate, clip gradients, or set the policy to skip such "
        "steps");
    EXPECT_TRUE(same(before, trace(driver, params)));
    driver.set_policy({.max_norm = 1, .non_finite = NonFinitePolicy::kSkip});
    EXPECT_FALSE(driver.step().applied);
    EXPECT_TRUE(same(before, trace(driver, params)));
  }
  // The next good step is the one that would have come anyway.
  gradients();
  EXPECT_TRUE(driver.step().applied);
  EXPECT_FALSE(same(before, trace(driver, params)));
}

INSTANTIATE_TEST_SUITE_P(, EveryRuleDriver, testing::ValuesIn(test::rule_cases()),
                         [](const auto& each) {
                           std::string name = each.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace steepest
