// What holds for every rule, whatever its formula.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "steepest/params/param_set.h"
#include "tests/support/devices.h"
#include "tests/support/rule_cases.h"

namespace steepest {
namespace {

using test::RuleCase;
using test::same_bits;
using test::stepped;

class EveryRule : public testing::TestWithParam<std::tuple<RuleCase, at::Device>> {
 protected:
  void SetUp() override { at::manual_seed(7); }
  const RuleCase& rule() const { return std::get<0>(GetParam()); }
  at::TensorOptions here() const { return at::TensorOptions().device(std::get<1>(GetParam())); }
  /// The same numbers on every device.
  at::Tensor randn(at::IntArrayRef shape) const { return at::randn(shape).to(here().device()); }
  at::Tensor full(at::IntArrayRef shape, double value) const {
    return at::full(shape, value, here());
  }
  std::vector<at::Tensor> gradients(at::IntArrayRef shape, int count = 3) const {
    std::vector<at::Tensor> all;
    for (int i = 0; i < count; ++i) all.push_back(randn(shape));
    return all;
  }
};

TEST_P(EveryRule, StridesAndSlicesDoNotShow) {
  const at::Tensor start = randn({12, 20});
  const std::vector<at::Tensor> grads = gradients({12, 20});
  const at::Tensor expected = stepped(rule(), start.clone(), grads);

  std::vector<at::Tensor> transposed;
  for (const at::Tensor& each : grads) transposed.push_back(each.t().contiguous().t());
  EXPECT_TRUE(same_bits(stepped(rule(), start.clone(), transposed), expected)) << "gradients";

  at::Tensor wide = full({12, 40}, 9.0);
  std::vector<at::Tensor> sliced;
  for (const at::Tensor& each : grads) {
    sliced.push_back(wide.clone().slice(1, 0, 40, 2));
    sliced.back().copy_(each);
  }
  EXPECT_TRUE(same_bits(stepped(rule(), start.clone(), sliced), expected)) << "sliced gradients";

  const at::Tensor column_major = start.t().contiguous().t();
  EXPECT_TRUE(same_bits(stepped(rule(), column_major, grads), expected)) << "parameter";

  // A window of a larger tensor: neither dense nor at its start; what lies around it stays.
  at::Tensor around = full({20, 50}, 9.0);
  const at::Tensor window = around.slice(0, 3, 15).slice(1, 5, 45, 2);
  window.copy_(start);
  EXPECT_TRUE(same_bits(stepped(rule(), window, grads), expected)) << "sliced parameter";
  window.fill_(9);
  EXPECT_TRUE(around.eq(9).all().item<bool>()) << "something beside the parameter was written to";
}

TEST_P(EveryRule, PlaceAndLengthDoNotShow) {
  if (!rule().elementwise) GTEST_SKIP() << "a matrix rule mixes elements";
  const at::Tensor start = randn({140});
  const std::vector<at::Tensor> grads = gradients({140});
  const at::Tensor expected = stepped(rule(), start.clone(), grads);
  for (std::int64_t length = 1; length <= 70; ++length) {
    const std::int64_t first = (length * 37) % (140 - length);
    std::vector<at::Tensor> cut;
    for (const at::Tensor& each : grads) cut.push_back(each.slice(0, first, first + length));
    EXPECT_TRUE(same_bits(stepped(rule(), start.slice(0, first, first + length).clone(), cut),
                          expected.slice(0, first, first + length)))
        << length << " elements from " << first;
  }
}

TEST_P(EveryRule, TheNumberOfThreadsDoesNotShow) {
  const int before = at::get_num_threads();
  const at::Tensor start = randn({500, 600});
  const std::vector<at::Tensor> grads = gradients({500, 600}, 2);
  at::set_num_threads(1);
  const at::Tensor one = stepped(rule(), start.clone(), grads).clone();
  at::set_num_threads(2);
  const at::Tensor two = stepped(rule(), start.clone(), grads).clone();
  at::set_num_threads(before);
  EXPECT_TRUE(same_bits(one, two));
}

TEST_P(EveryRule, TheOrderOfParametersDoesNotShow) {
  const auto run = [&](bool reversed) {
    at::manual_seed(3);
    std::vector<at::Tensor> params{randn({6, 8}), randn({8, 6}), randn({6, 8}), randn({1, 9})};
    for (const at::Tensor& each : params) each.mutable_grad() = randn(each.sizes());
    std::vector<at::Tensor> given = params;
    if (reversed) std::reverse(given.begin(), given.end());
    const auto optimizer = rule().build(given);
    optimizer->step();
    optimizer->step();
    return params;
  };
  const auto forward = run(false), backward = run(true);
  for (std::size_t i = 0; i < forward.size(); ++i)
    EXPECT_TRUE(same_bits(forward[i].detach(), backward[i].detach())) << "parameter " << i;
}

TEST_P(EveryRule, AlikeMatricesAreTheSameTogetherAsAlone) {
  if (!here().device().is_cpu() && !rule().elementwise)
    GTEST_SKIP() << "cuBLAS chooses its algorithm by the number of matrices";
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    at::manual_seed(5);
    std::vector<at::Tensor> together, alone, grads;
    for (int i = 0; i < 3; ++i) {
      together.push_back(randn({24, 40}).to(type));
      alone.push_back(together.back().clone());
      grads.push_back(randn({24, 40}).to(type));
      together.back().mutable_grad() = grads.back();
    }
    const auto optimizer = rule().build(together);
    optimizer->step();
    for (std::size_t i = 0; i < alone.size(); ++i)
      EXPECT_TRUE(same_bits(stepped(rule(), alone[i], {grads[i]}), together[i].detach()))
          << at::toString(type) << ", matrix " << i;
  }
}

TEST_P(EveryRule, GradientsAreNeverWrittenTo) {
  const at::Tensor grad = randn({6, 8}), copy = grad.clone();
  stepped(rule(), randn({6, 8}), {grad, grad});
  EXPECT_TRUE(same_bits(grad, copy));
}

TEST_P(EveryRule, AMissingGradientIsNotAZeroGradient) {
  const at::Tensor start = randn({6, 8});
  const std::vector<at::Tensor> grads = gradients({6, 8}, 2);
  const at::Tensor zero = at::zeros({6, 8}, here());
  const at::Tensor with_gap = stepped(rule(), start.clone(), {grads[0], at::Tensor(), grads[1]});
  const auto* muon = std::get_if<MuonOptions>(&rule().options);
  if (muon != nullptr && muon->missing_gradient == MissingGradient::kZero)
    EXPECT_TRUE(same_bits(with_gap, stepped(rule(), start.clone(), {grads[0], zero, grads[1]})));
  else
    EXPECT_TRUE(same_bits(with_gap, stepped(rule(), start.clone(), {grads[0], grads[1]})));
}

TEST_P(EveryRule, ZeroTinyAndHugeGradientsStayFinite) {
  for (const double size : {0.0, 1e-30, 1e-10, 1e10, 1e18}) {
    const at::Tensor grad = randn({6, 8}) * size;
    const at::Tensor w = stepped(rule(), randn({6, 8}), {grad, grad, grad});
    EXPECT_TRUE(at::isfinite(w).all().item<bool>()) << "gradients of size " << size;
  }
}

TEST_P(EveryRule, NaNShows) {
  at::Tensor grad = randn({6, 8});
  grad[2][3] = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor w = stepped(rule(), randn({6, 8}), {grad});
  EXPECT_TRUE(w[2][3].isnan().item<bool>());
  if (rule().elementwise) {
    EXPECT_EQ(w.isnan().sum().item<std::int64_t>(), 1);
  }
}

TEST_P(EveryRule, TakesEmptyAndSingleElements) {
  const at::Tensor empty = stepped(rule(), at::empty({0, 8}, here()), {at::empty({0, 8}, here())});
  EXPECT_EQ(empty.numel(), 0);
  const at::Tensor one = stepped(rule(), full({1, 1}, 0.5), {full({1, 1}, 2.0)});
  EXPECT_TRUE(at::isfinite(one).all().item<bool>());
  EXPECT_NE(one.item<float>(), 0.5f);
}

TEST_P(EveryRule, SixteenBitWeightsGetTheFp32UpdateRoundedOnce) {
  // The first step from equal values: the 16-bit weight is the fp32 one, rounded.
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    const at::Tensor start = randn({6, 8}).to(type), grad = randn({6, 8}).to(type);
    const at::Tensor wide = stepped(rule(), start.to(at::kFloat), {grad.to(at::kFloat)});
    EXPECT_TRUE(same_bits(stepped(rule(), start.clone(), {grad}), wide.to(type)))
        << at::toString(type);
  }
}

INSTANTIATE_TEST_SUITE_P(, EveryRule,
                         testing::Combine(testing::ValuesIn(test::rule_cases()),
                                          testing::ValuesIn(test::devices())),
                         [](const auto& each) {
                           std::string name =
                               std::get<0>(each.param).name + " " + std::get<1>(each.param).str();
                           std::ranges::replace_if(
                               name, [](char c) { return c == ' ' || c == ':'; }, '_');
                           return name;
                         });

TEST(RuleOptimizers, AParamSetAndItsTensorsMakeTheSameOptimizer) {
  const at::Tensor a = at::randn({4, 4}), b = at::randn({4, 4});
  const at::Tensor a2 = a.clone(), b2 = b.clone();
  ParamSet params;
  params.add("a", a.set_requires_grad(true));
  params.add("b", b.set_requires_grad(true));
  AdamW from_set(params, {.lr = 0.1});
  AdamW from_tensors({a2, b2}, {.lr = 0.1});
  for (const at::Tensor& each : {a, b}) each.mutable_grad() = at::full({4, 4}, 0.5);
  for (const at::Tensor& each : {a2, b2}) each.mutable_grad() = at::full({4, 4}, 0.5);
  from_set.step();
  from_tensors.step();
  EXPECT_TRUE(same_bits(a.detach(), a2));
  EXPECT_TRUE(same_bits(b.detach(), b2));
}

}  // namespace
}  // namespace steepest
