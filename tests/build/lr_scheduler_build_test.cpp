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

TEST(LRSchedulerBuild, RefusesNonsense) {
  ParamSet params;
  params.add("w", at::ones({8, 4}).set_requires_grad(true), "linear");
  const auto optimizer = build_optimizer(AdamWConfig{.lr = 0.5}, params);
  EXPECT_ERROR(ConfigError,
               (LRSchedulerConfig{.lr_warmup_steps = 200}.build(*optimizer, {.max_steps = 100})),
               "lr_scheduler.lr_warmup_steps is 200; it must be below lr_decay_steps (100)");
  EXPECT_ERROR(ConfigError, (LRSchedulerConfig{.min_lr = -1}.build(*optimizer, {.max_steps = 100})),
               "lr_scheduler.min_lr is -1; it must be finite and not negative");
  EXPECT_EQ(optimizer->groups()[0]->lr(), 0.5);
}

}  // namespace
}  // namespace steepest
