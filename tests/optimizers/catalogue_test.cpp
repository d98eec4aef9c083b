#include "steepest/optimizers/catalogue.h"

#include <gtest/gtest.h>

#include "steepest/base/json_fields.h"

namespace steepest {
namespace {

TEST(Catalogue, NamesEveryRuleOnce) {
  ASSERT_EQ(catalogue().size(), std::variant_size_v<RuleOptions>);
  for (const RuleEntry& each : catalogue()) {
    EXPECT_EQ(find_rule(each.name), &each);
    EXPECT_EQ(rule_name(default_options(each)), each.name);
    EXPECT_FALSE(each.states.empty());
    EXPECT_FALSE(each.summary.empty());
    EXPECT_FALSE(each.source.empty());
  }
  EXPECT_EQ(find_rule("nothing"), nullptr);
  EXPECT_TRUE(find_rule("muon")->matrices_only);
}

TEST(Catalogue, DefaultsAreValidAndEveryFieldHasHelp) {
  for (const RuleEntry& each : catalogue()) {
    EXPECT_NO_THROW(validate(default_options(each), each.name));
    std::visit(
        [](const auto& options) {
          for_each_field<std::decay_t<decltype(options)>>(
              [](const auto& field) { EXPECT_FALSE(field.help.empty()) << field.name; });
        },
        default_options(each));
  }
}

TEST(Catalogue, TheOriginalsDefaults) {
  EXPECT_EQ(AdamOptions{}.weight_decay, 0);
  EXPECT_EQ(AdamWOptions{}.weight_decay, 0.01);
  EXPECT_EQ(AdamWOptions{}.betas, (Betas{0.9, 0.999}));
  EXPECT_EQ(SGDOptions{}.lr, 1e-3);
  EXPECT_EQ(LionOptions{}.betas, (Betas{0.9, 0.99}));
}

}  // namespace
}  // namespace steepest
