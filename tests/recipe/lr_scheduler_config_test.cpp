#include "steepest/recipe/lr_scheduler_config.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace steepest {
namespace {

// AutoModel's resolved values for base lr 3e-4 over 500 updates: warm-up 50, init 3e-5, min 3e-6.
TEST(LRSchedulerConfig, FillsWhatIsUnsetAsAutoModelDoes) {
  const Schedule s = LRSchedulerConfig{}.shape({500}, 3e-4);
  EXPECT_EQ(s.style, DecayStyle::kCosine);
  EXPECT_EQ(s.warmup_steps, 50);
  EXPECT_EQ(s.decay_steps, 500);
  EXPECT_NEAR(s.init_lr * 3e-4, 3e-5, 1e-18);
  EXPECT_NEAR(s.min_lr * 3e-4, 3e-6, 1e-18);
  EXPECT_NEAR(s.at(1) * 3e-4, 3.54e-5, 1e-17);
  EXPECT_EQ(LRSchedulerConfig{}.shape({100'000}, 1).warmup_steps, 1000);
}

TEST(LRSchedulerConfig, AbsoluteRatesBecomeFactors) {
  const Schedule s =
      LRSchedulerConfig{.lr_warmup_steps = 0, .max_lr = 0.2, .min_lr = 0.05}.shape({10}, 0.1);
  EXPECT_DOUBLE_EQ(s.at(0), 2);
  EXPECT_DOUBLE_EQ(s.at(10), 0.5);
  EXPECT_EQ((LRSchedulerConfig{.min_lr_ratio = 0.05}.shape({10}, 0.1).min_lr), 0.05);
}

// As in AutoModel, the defaults of init_lr and min_lr come from the base rate also where max_lr is
// given.
TEST(LRSchedulerConfig, DefaultsComeFromTheBaseRate) {
  const Schedule s = LRSchedulerConfig{.max_lr = 0.03}.shape({500}, 3e-4);
  EXPECT_NEAR(s.init_lr * 3e-4, 3e-5, 1e-18);
  EXPECT_NEAR(s.min_lr * 3e-4, 3e-6, 1e-18);
}

TEST(LRSchedulerConfig, RefusesContradictions) {
  EXPECT_ERROR(ConfigError, validate(LRSchedulerConfig{.min_lr = 0.1, .min_lr_ratio = 0.1}, "s"),
               "s.min_lr_ratio is 0.1; it must be unset where min_lr is given");
  EXPECT_ERROR(ConfigError,
               validate(LRSchedulerConfig{.lr_decay_style = DecayStyle::kWarmupStableDecay}, "s"),
               "s.wsd_decay_steps is null; it must be given for a warm-up-stable-decay schedule");
}

}  // namespace
}  // namespace steepest
