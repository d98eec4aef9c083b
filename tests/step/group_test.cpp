#include "steepest/step/group.h"

#include <gtest/gtest.h>

#include "steepest/base/error.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

Group adamw() {
  return Group("all", AdamWOptions{.lr = 0.1, .weight_decay = 0.2}, {"a", "b"}, "one rule for all");
}

TEST(Group, HoldsWhatItWasBuiltWith) {
  const Group group = adamw();
  EXPECT_EQ(group.name(), "all");
  EXPECT_EQ(group.rule(), "adamw");
  EXPECT_EQ(group.lr(), 0.1);
  EXPECT_EQ(group.weight_decay(), 0.2);
  EXPECT_EQ(group.base_lr(), 0.1);
  EXPECT_EQ(group.params(), (std::vector<std::string>{"a", "b"}));
}

TEST(Group, AScheduleLeavesTheBaseAlone) {
  Group group = adamw();
  group.schedule_lr(0.05);
  group.schedule_weight_decay(0);
  EXPECT_EQ(group.lr(), 0.05);
  EXPECT_EQ(group.base_lr(), 0.1);
  EXPECT_EQ(group.weight_decay(), 0);
  EXPECT_EQ(group.base_weight_decay(), 0.2);
}

TEST(Group, SettingALearningRateSetsItsBase) {
  Group group = adamw();
  group.set("lr", 0.3);
  EXPECT_EQ(group.lr(), 0.3);
  EXPECT_EQ(group.base_lr(), 0.3);
  group.set("betas", {0.5, 0.6});
  EXPECT_EQ(group.get("betas"), Json({0.5, 0.6}));
}

TEST(Group, RefusesWhatTheRuleDoesNotHave) {
  Group group("g", SGDOptions{}, {"a"}, "");
  EXPECT_ERROR(ConfigError, group.set("betas", {0.9, 0.99}),
               "g.betas is not known; known here: lr, momentum, dampening, weight_decay, nesterov, "
               "maximize, states, masters, stochastic_rounding, seed");
  EXPECT_ERROR(ConfigError, group.get("betas"),
               "g.betas is not known; known here: lr, momentum, dampening, weight_decay, nesterov, "
               "maximize, states, masters, stochastic_rounding, seed");
  try {
    group.set("momentun", 0.9);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("momentum"), std::string::npos) << error.what();
  }
  EXPECT_EQ(group.options(), RuleOptions(SGDOptions{}));
}

TEST(Group, RefusesValuesOutOfRangeAndChangesNothing) {
  Group group = adamw();
  EXPECT_ERROR(ConfigError, group.set("lr", -1),
               "all.lr is -1; it must be finite and not negative");
  EXPECT_ERROR(ConfigError, group.schedule_lr(std::numeric_limits<double>::quiet_NaN()),
               "all.lr is nan; it must be finite and not negative");
  EXPECT_EQ(group.lr(), 0.1);
  EXPECT_EQ(group.base_lr(), 0.1);
}

TEST(Group, SavesAndLoadsEveryOption) {
  Group saved(
      "all",
      AdamWOptions{
          .lr = 0.37, .betas = {0.8, 0.9}, .eps = 1e-6, .weight_decay = 0.2, .amsgrad = true},
      {"a"}, "");
  saved.schedule_lr(0.01);
  Group fresh("all", AdamWOptions{}, {"a"}, "");
  fresh.load(saved.save(), "here");
  EXPECT_EQ(fresh.options(), saved.options());
  EXPECT_EQ(fresh.base_lr(), 0.37);
  EXPECT_EQ(fresh.lr(), 0.01);
}

TEST(Group, RefusesToLoadAnotherRule) {
  Group saved("all", SGDOptions{}, {"a"}, "");
  Group fresh = adamw();
  EXPECT_ERROR(StateError, fresh.load(saved.save(), "ckpt"),
               "ckpt: group all was saved under the rule 'sgd', here it has 'adamw'; a rule's "
               "state means nothing to "
               "another rule; build the optimizer with the options it was saved with");
  Json bad = adamw().save();
  bad["options"]["lr"] = -1;
  EXPECT_ERROR(ConfigError, fresh.load(bad, "ckpt"),
               "all.lr is -1; it must be finite and not negative");
  bad["options"]["lr"] = 1;
  bad["base_lr"] = "much";
  EXPECT_ERROR(ConfigError, fresh.load(bad, "ckpt"),
               "ckpt: group all.base_lr is the text 'much'; it must be a number");
  EXPECT_EQ(fresh.lr(), 0.1);
}

}  // namespace
}  // namespace steepest
