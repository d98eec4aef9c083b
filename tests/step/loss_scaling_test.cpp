// Loss scaling, thresholds and the two halves of a step.
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
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

/// A driver over one parameter a rule.
struct Fixture {
  Fixture(const RuleOptions& options, const StepPolicy& policy, at::ScalarType type = at::kFloat) {
    at::manual_seed(3);
    param = at::randn({6, 8}).to(type);
    std::vector<MemberGroup> groups;
    groups.push_back({"all", options, {{"w", param}}, "test"});
    std::vector<std::unique_ptr<Member>> members;
    members.push_back(make_member(std::move(groups)));
    driver = std::make_unique<StepDriver>(std::move(members), policy);
  }
  void grad(const at::Tensor& value) { param.mutable_grad() = value.to(param.scalar_type()); }
  std::vector<at::Tensor> state() const {
    std::vector<at::Tensor> all{param.clone()};
    for (const NamedState& each : driver->members()[0]->state())
      if (each.tensor.defined()) all.push_back(each.tensor.clone());
    return all;
  }
  at::Tensor param;
  std::unique_ptr<StepDriver> driver;
};

bool same(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  bool equal = a.size() == b.size();
  for (std::size_t i = 0; equal && i < a.size(); ++i) equal = same_bits(a[i], b[i]);
  return equal;
}

LossScaleConfig dynamic(double initial) {
  return {.mode = LossScaling::kDynamic,
          .initial_loss_scale = initial,
          .loss_scale_window = 2,
          .hysteresis = 1};
}

TEST(LossScaling, APowerOfTwoIsTakenOutWithoutATrace) {
  for (const auto& rule : test::rule_cases()) {
    Fixture plain(rule.options, {.max_norm = 1});
    Fixture scaled(
        rule.options,
        {.max_norm = 1, .loss_scale = {.mode = LossScaling::kConstant, .loss_scale = 1024}});
    for (int step = 0; step < 3; ++step) {
      const at::Tensor g = at::randn({6, 8});
      plain.grad(g);
      scaled.grad(g * 1024);
      const StepResult a = plain.driver->step(), b = scaled.driver->step();
      EXPECT_DOUBLE_EQ(a.grad_norm, b.grad_norm) << rule.name;
      EXPECT_EQ(b.loss_scale, 1024);
      EXPECT_EQ(b.text().find(", loss scale 1024") != std::string::npos, true) << b.text();
    }
    EXPECT_TRUE(same(plain.state(), scaled.state())) << rule.name;
  }
}

TEST(LossScaling, AnOverflowIsSkippedWhateverThePolicyAndTheScaleFollows) {
  for (const auto& rule : test::rule_cases())
    for (const MasterFormat masters :
         {MasterFormat::kNone, MasterFormat::kFloat32, MasterFormat::k24Bit}) {
      RuleOptions options = rule.options;
      std::visit([&](auto& o) { o.masters = masters; }, options);
      Fixture x(options, {.loss_scale = dynamic(8)}, at::kHalf);
      x.grad(at::randn({6, 8}));
      EXPECT_TRUE(x.driver->step().applied);
      const auto before = x.state();
      at::Tensor bad = at::randn({6, 8});
      bad[1][2] = std::numeric_limits<double>::infinity();
      x.grad(bad);
      const StepResult result = x.driver->step();
      EXPECT_FALSE(result.applied) << rule.name;
      EXPECT_EQ(result.reason, SkipReason::kOverflow);
      EXPECT_EQ(result.first_non_finite, "w");
      EXPECT_EQ(result.loss_scale, 8);
      EXPECT_EQ(x.driver->scaler().scale(), 4);
      EXPECT_TRUE(same(before, x.state())) << rule.name;
      x.grad(at::randn({6, 8}));
      EXPECT_TRUE(x.driver->step().applied);
      EXPECT_FALSE(same(before, x.state())) << rule.name;
    }
}

TEST(LossScaling, SixteenBitWeightsWithMastersFollowTheFp32Run) {
  // Every rule, Muon included: masters of fp16 weights are the fp32 weights, bit for bit, on equal
  // gradients.
  for (const auto& rule : test::rule_cases()) {
    RuleOptions options = rule.options;
    std::visit([&](auto& o) { o.masters = MasterFormat::kFloat32; }, options);
    Fixture half(options, {.loss_scale = dynamic(64)}, at::kHalf);
    Fixture wide(rule.options, {});
    wide.param.copy_(half.param.to(at::kFloat));
    for (int step = 0; step < 5; ++step) {
      const at::Tensor g = at::randn({6, 8}).to(at::kHalf);
      wide.grad(g.to(at::kFloat));
      half.grad(g.to(at::kFloat) * half.driver->scaler().scale());
      EXPECT_TRUE(half.driver->step().applied);
      EXPECT_TRUE(wide.driver->step().applied);
    }
    at::Tensor master;
    for (const NamedState& each : half.driver->members()[0]->state())
      if (each.key == "master_param") master = each.tensor;
    ASSERT_TRUE(master.defined()) << rule.name;
    // Muon's dialects that keep momentum in the parameter's dtype keep it in fp32 beside masters.
    EXPECT_TRUE(same_bits(master, wide.param)) << rule.name;
    EXPECT_TRUE(same_bits(half.param, wide.param.to(at::kHalf))) << rule.name;
  }
}

TEST(StepPolicy, ALargeNormIsSkippedAndNamed) {
  Fixture x(AdamWOptions{}, {.grad_norm_skip_threshold = 1.0});
  x.grad(at::full({6, 8}, 2.0));
  const auto before = x.state();
  const StepResult result = x.driver->step();
  EXPECT_FALSE(result.applied);
  EXPECT_EQ(result.reason, SkipReason::kNormAboveThreshold);
  EXPECT_EQ(result.text(),
            "step 1 skipped: the gradient norm is above the threshold, gradient norm 13.86");
  EXPECT_TRUE(same(before, x.state()));
  x.grad(at::full({6, 8}, 0.1));
  EXPECT_TRUE(x.driver->step().applied);
}

TEST(StepPolicy, IgnoreLetsNaNThrough) {
  Fixture x(AdamWOptions{}, {.max_norm = 1, .non_finite = NonFinitePolicy::kIgnore});
  at::Tensor g = at::full({6, 8}, 0.1);
  g[0][0] = std::numeric_limits<double>::quiet_NaN();
  x.grad(g);
  const StepResult result = x.driver->step();
  EXPECT_TRUE(result.applied);
  EXPECT_EQ(result.clip_factor, 1);
  EXPECT_EQ(x.param.isnan().sum().item<std::int64_t>(), 1);
}

TEST(StepPolicy, RefusesNonsense) {
  EXPECT_ERROR(ConfigError, Fixture(AdamWOptions{}, {.grad_norm_skip_threshold = 0.0}),
               "policy.grad_norm_skip_threshold is 0; it must be finite and above 0");
  EXPECT_ERROR(ConfigError, Fixture(AdamWOptions{}, {.loss_scale = {.hysteresis = 0}}),
               "policy.hysteresis is 0; it must be 1 or more");
}

TEST(StepHalves, AreTheWhole) {
  Fixture whole(AdamWOptions{.lr = 0.1}, {.max_norm = 0.5}),
      halves(AdamWOptions{.lr = 0.1}, {.max_norm = 0.5});
  const at::Tensor g = at::randn({6, 8});
  whole.grad(g);
  halves.grad(g);
  const StepResult a = whole.driver->step();
  EXPECT_FALSE(halves.driver->prepare_grads());
  const StepResult b = halves.driver->step_with_ready_grads();
  EXPECT_EQ(a.text(), b.text());
  EXPECT_TRUE(same(whole.state(), halves.state()));
  EXPECT_ERROR(
      StateError, halves.driver->step_with_ready_grads(),
      "step_with_ready_grads was called without prepare_grads before it; nothing is known of "
      "the gradients; call prepare_grads, or step, which does both");
}

TEST(ZeroGradients, AreSetInTheSamePassAndOnlyWhereTheStepIsApplied) {
  for (const auto& rule : test::rule_cases())
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
      Fixture kept(rule.options, {.non_finite = NonFinitePolicy::kSkip}, type);
      Fixture zeroed(rule.options, {.non_finite = NonFinitePolicy::kSkip, .zero_gradients = true},
                     type);
      const at::Tensor g = at::randn({6, 8});
      kept.grad(g.clone());
      zeroed.grad(g.t().contiguous().t());
      kept.driver->step();
      zeroed.driver->step();
      EXPECT_TRUE(same(kept.state(), zeroed.state())) << rule.name;
      EXPECT_TRUE(zeroed.param.grad().eq(0).all().item<bool>()) << rule.name;
      EXPECT_FALSE(kept.param.grad().eq(0).any().item<bool>()) << rule.name;
      at::Tensor bad = at::full({6, 8}, 1.0);
      bad[0][0] = std::numeric_limits<double>::quiet_NaN();
      zeroed.grad(bad);
      EXPECT_FALSE(zeroed.driver->step().applied);
      EXPECT_EQ(zeroed.param.grad()[1][1].item<double>(), 1);
    }
}

TEST(Paths, SayWhatRan) {
  Fixture fused(AdamWOptions{}, {}), plain(AdamWOptions{}, {}, at::kDouble),
      matrix(MuonOptions{}, {});
  for (Fixture* each : {&fused, &plain, &matrix}) each->grad(at::randn({6, 8}));
  EXPECT_EQ(fused.driver->step().paths[0].fused, 1);
  EXPECT_EQ(plain.driver->step().paths[0].plain, 1);
  EXPECT_EQ(matrix.driver->step().paths[0].rule, "muon");
}

TEST(Masters, AreTakenAnewFromTheWeights) {
  for (const MasterFormat masters :
       {MasterFormat::kFloat32, MasterFormat::kRemainder, MasterFormat::k24Bit}) {
    Fixture x(SGDOptions{.lr = 1e-4, .masters = masters}, {}, at::kBFloat16);
    x.grad(at::full({6, 8}, 1.0));
    for (int step = 0; step < 3; ++step) x.driver->step();
    x.param.fill_(2);
    x.driver->members()[0]->reload_masters();
    x.grad(at::full({6, 8}, 0.0));
    x.driver->step();
    EXPECT_TRUE(x.param.eq(2).all().item<bool>()) << spelling(masters);
  }
}

}  // namespace
}  // namespace steepest
