#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "steepest/base/error.h"
#include "steepest/build/optimizer.h"
#include "steepest/recipe/lr_scheduler_config.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

TEST(LRSchedulerBuild, SchedulesEveryGroupFromItsOwnBase) {
  ParamSet params;
  params.add("up.weight", at::ones({8, 4}).set_requires_grad(true), "linear");
  params.add("norm.weight", at::ones({4}).set_requires_grad(true), "norm");
  const auto optimizer = build_optimizer(MuonConfig{.lr = 0.04, .scalar_lr = 0.004}, params);
  const auto scheduler =
      LRSchedulerConfig{
          .lr_warmup_steps = 0, .lr_decay_style = DecayStyle::kLinear, .min_lr = 0.004}
          .build(*optimizer, {.max_steps = 100});
  EXPECT_NEAR(optimizer->groups()[0]->lr(), 0.04, 1e-15);
  scheduler->step(100);
  EXPECT_NEAR(optimizer->groups()[0]->lr(), 0.004, 1e-12);
  EXPECT_NEAR(optimizer->groups()[1]->lr(), 0.0004, 1e-12);
}

TEST(LRSchedulerBuild, SchedulesWeightDecayAndKeepsRatios) {
  ParamSet params;
  params.add("up.weight", at::ones({8, 4}).set_requires_grad(true), "linear");
  params.add("norm.weight", at::ones({4}).set_requires_grad(true), "norm");
  GroupRule half{.role = Role::kNorm};
  half.options["weight_decay"] = 0.2;
  const auto optimizer =
      build_optimizer(AdamWConfig{.lr = 0.5, .weight_decay = 0.4}, params, {}, {half});
  ASSERT_EQ(optimizer->groups().size(), 2u);
  const auto scheduler =
      LRSchedulerConfig{
          .lr_warmup_steps = 0, .start_wd = 0.2, .wd_incr_style = WdIncrStyle::kLinear}
          .build(*optimizer, {.max_steps = 100});
  EXPECT_DOUBLE_EQ(optimizer->groups()[0]->weight_decay(), 0.2);
  EXPECT_DOUBLE_EQ(optimizer->groups()[1]->weight_decay(), 0.1);
  scheduler->step(50);
  EXPECT_DOUBLE_EQ(optimizer->groups()[0]->weight_decay(), 0.3);
  EXPECT_DOUBLE_EQ(optimizer->groups()[1]->weight_decay(), 0.15);
  // A group that comes later is under the schedule too, and so is a base that is changed.
  ParamSet more;
  more.add("late.weight", at::ones({4, 4}).set_requires_grad(true), "linear");
  EXPECT_DOUBLE_EQ(
      optimizer->add_group("late", AdamWOptions{.weight_decay = 0.8}, more).weight_decay(), 0.6);
  scheduler->step(50);
  EXPECT_DOUBLE_EQ(optimizer->groups()[0]->weight_decay(), 0.4);
  EXPECT_DOUBLE_EQ(optimizer->groups()[1]->weight_decay(), 0.2);
  EXPECT_DOUBLE_EQ(optimizer->groups()[2]->weight_decay(), 0.8);
}

// As in AutoModel: there is no ratio to a base of zero.
TEST(LRSchedulerBuild, AWeightDecayOverABaseOfZeroIsEverybodys) {
  ParamSet params;
  params.add("up.weight", at::ones({8, 4}).set_requires_grad(true), "linear");
  params.add("norm.weight", at::ones({4}).set_requires_grad(true), "norm");
  const auto optimizer =
      build_optimizer(MuonConfig{.lr = 0.5, .weight_decay = 0}, params, StepPolicy{});
  const auto scheduler =
      LRSchedulerConfig{.lr_warmup_steps = 0, .start_wd = 0.25, .end_wd = 0.25}.build(
          *optimizer, {.max_steps = 100});
  EXPECT_EQ(optimizer->groups()[0]->weight_decay(), 0.25);
  EXPECT_EQ(optimizer->groups()[1]->weight_decay(), 0.25);
}

TEST(LRSchedulerBuild, RefusesNonsense) {
  ParamSet params;
  params.add("w", at::ones({8, 4}).set_requires_grad(true), "linear");
  const auto optimizer = build_optimizer(AdamWConfig{.lr = 0.5}, params);
  EXPECT_ERROR(ConfigError,
               (LRSchedulerConfig{.lr_warmup_steps = 200}.build(*optimizer, {.max_steps = 100})),
               "lr_scheduler.lr_warmup_steps is 200; it must be below lr_decay_steps (100)");
  EXPECT_ERROR(ConfigError, (LRSchedulerConfig{.min_lr = -1}.build(*optimizer, {.max_steps = 100})),
               "lr_scheduler.min_lr is -1; it must be finite and not negative");
  EXPECT_ERROR(ConfigError,
               (LRSchedulerConfig{.min_lr = 0.75}.build(*optimizer, {.max_steps = 100})),
               "lr_scheduler.min_lr is 0.75; it must be at most max_lr (0.5)");
  EXPECT_ERROR(ConfigError,
               (LRSchedulerConfig{.end_wd = 0.5}.build(*optimizer, {.max_steps = 100})),
               "lr_scheduler.wd_incr_style is constant; it must be linear or cosine where end_wd "
               "(0.5) is above start_wd (0.01)");
  EXPECT_EQ(optimizer->groups()[0]->lr(), 0.5);
}

}  // namespace
}  // namespace steepest
