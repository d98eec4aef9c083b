#include "steepest/optimizers/rule_options.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace steepest {
namespace {

TEST(RuleOptions, RatesAreReachedThroughAnyRule) {
  for (RuleOptions options :
       {RuleOptions(AdamWOptions{}), RuleOptions(AdamOptions{}), RuleOptions(SGDOptions{}),
        RuleOptions(LionOptions{}), RuleOptions(MuonOptions{})}) {
    set_lr(options, 0.25);
    set_weight_decay(options, 0.125);
    EXPECT_EQ(lr(options), 0.25);
    EXPECT_EQ(weight_decay(options), 0.125);
    set_lr(options, -1);
    EXPECT_ERROR(ConfigError, validate(options, "g"),
                 "g.lr is -1; it must be finite and not negative");
  }
}

}  // namespace
}  // namespace steepest
