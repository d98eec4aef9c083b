#include "steepest/recipe/optimizer_config.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace steepest {
namespace {

TEST(OptimizerConfig, HasAutoModelsDefaults) {
  EXPECT_EQ(AdamWConfig{}.lr, 1e-4);
  EXPECT_EQ(AdamConfig{}.weight_decay, 0.01);
  EXPECT_EQ(MuonConfig{}.lr, 5e-4);
  EXPECT_EQ(MuonConfig{}.weight_decay, 0);
  EXPECT_EQ(MuonConfig{}.mu, 0.95);
  EXPECT_FALSE(MuonConfig{}.nesterov);
  EXPECT_EQ(MuonConfig{}.scalar_betas, (Betas{0.9, 0.999}));
}

TEST(OptimizerConfig, RefusesNonsense) {
  EXPECT_ERROR(ConfigError, validate(OptimizerConfig(MuonConfig{.scalar_opt = "sgd"}), "optimizer"),
               "optimizer.scalar_opt is sgd; it must be adamw or lion");
  EXPECT_ERROR(ConfigError, validate(OptimizerConfig(AdamWConfig{.lr = -1}), "o"),
               "o.lr is -1; it must be finite and not negative");
  EXPECT_ERROR(ConfigError,
               validate(OptimizerConfig(RuleConfig{.rest = LionOptions{.lr = -1}}), "o"),
               "o.lr is -1; it must be finite and not negative");
}

TEST(OptimizerConfig, KnowsItsBaseRate) {
  EXPECT_EQ(base_lr(MuonConfig{.lr = 0.3}), 0.3);
  EXPECT_EQ(base_lr(RuleConfig{.matrices = SGDOptions{.lr = 0.7}}), 0.7);
  EXPECT_EQ(base_weight_decay(MuonConfig{.weight_decay = 0.3}), 0.3);
  EXPECT_EQ(base_weight_decay(RuleConfig{.matrices = SGDOptions{.weight_decay = 0.7}}), 0.7);
}

}  // namespace
}  // namespace steepest
