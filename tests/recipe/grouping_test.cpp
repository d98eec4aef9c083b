#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "steepest/recipe/optimizer_config.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

ParamInfo info(std::string name, std::vector<std::int64_t> shape, Role role) {
  ParamInfo param;
  param.name = std::move(name);
  param.shape = std::move(shape);
  param.role = role;
  return param;
}

std::vector<ParamInfo> model() {
  return {info("wte.weight", {256, 64}, Role::kEmbedding),
          info("blocks.0.up.weight", {128, 64}, Role::kHidden),
          info("blocks.0.norm.weight", {64}, Role::kNorm),
          info("blocks.1.up.weight", {128, 64}, Role::kHidden),
          info("experts.w", {4, 8, 8}, Role::kHidden),
          info("lm_head.weight", {256, 64}, Role::kOutput)};
}

using Table = std::map<std::string, std::vector<std::size_t>>;
Table table(const std::vector<GroupPlan>& plans) {
  Table all;
  for (const GroupPlan& each : plans) all[each.name] = each.params;
  return all;
}
const GroupPlan& named(const std::vector<GroupPlan>& plans, std::string_view name) {
  for (const GroupPlan& each : plans)
    if (each.name == name) return each;
  throw std::out_of_range(std::string(name));
}

TEST(Grouping, MuonsGroupsAreAutoModels) {
  const auto plans =
      plan_groups(MuonConfig{.lr = 0.02, .weight_decay = 0.1, .scalar_lr = 0.003}, {}, model());
  EXPECT_EQ(table(plans),
            (Table{{"matrices", {1, 3}}, {"embeddings", {0}}, {"output", {5}}, {"rest", {2, 4}}}));
  EXPECT_EQ(lr(named(plans, "matrices").options), 0.02);
  EXPECT_EQ(lr(named(plans, "embeddings").options), 0.003);
  EXPECT_EQ(weight_decay(named(plans, "embeddings").options), 0);
  EXPECT_EQ(lr(named(plans, "output").options), 0.02 / 8);  // lr / sqrt(64)
  EXPECT_EQ(weight_decay(named(plans, "rest").options), 0.1);
}

TEST(Grouping, OwnMuonTakesStacksAndNeverDecaysVectors) {
  const auto plans =
      plan_groups(RuleConfig{.matrices = MuonOptions{}, .rest = AdamWOptions{.weight_decay = 0.1}},
                  {}, model());
  EXPECT_EQ(table(plans), (Table{{"matrices", {1, 3, 4}}, {"rest", {0, 5}}, {"vectors", {2}}}));
  EXPECT_EQ(weight_decay(named(plans, "rest").options), 0.1);
  EXPECT_EQ(weight_decay(named(plans, "vectors").options), 0);
}

TEST(Grouping, OneRuleIsOneGroup) {
  EXPECT_EQ(table(plan_groups(AdamWConfig{}, {}, model())), (Table{{"all", {0, 1, 2, 3, 4, 5}}}));
}

TEST(Grouping, FrozenParametersAreNowhere) {
  auto params = model();
  params[0].trainable = false;
  EXPECT_EQ(table(plan_groups(AdamWConfig{}, {}, params)), (Table{{"all", {1, 2, 3, 4, 5}}}));
}

TEST(Grouping, TheFirstMatchWinsAndChangesSingleFields) {
  GroupRule first{.name_pattern = "blocks\\.0\\."}, second{.name_pattern = "blocks"};
  first.options["lr"] = 0.5;
  second.options["weight_decay"] = 0.01;  // equal to the default of adamw: it counts all the same
  const auto plans =
      plan_groups(AdamWConfig{.lr = 0.1, .weight_decay = 0.3}, {first, second}, model());
  EXPECT_EQ(table(plans), (Table{{"all", {0, 4, 5}}, {"groups[0]", {1, 2}}, {"groups[1]", {3}}}));
  EXPECT_EQ(lr(named(plans, "groups[0]").options), 0.5);
  EXPECT_EQ(weight_decay(named(plans, "groups[0]").options), 0.3);
  EXPECT_EQ(weight_decay(named(plans, "groups[1]").options), 0.01);
  EXPECT_EQ(lr(named(plans, "groups[1]").options), 0.1);
}

TEST(Grouping, AGroupOverSeveralRulesIsSplit) {
  GroupRule rule{.name_pattern = "blocks"};
  rule.options["lr"] = 0.5;
  EXPECT_EQ(table(plan_groups(MuonConfig{}, {rule}, model())),
            (Table{{"embeddings", {0}},
                   {"output", {5}},
                   {"rest", {4}},
                   {"groups[0].matrices", {1, 3}},
                   {"groups[0].rest", {2}}}));
}

TEST(Grouping, AGroupCanHaveAnotherOptimizer) {
  GroupRule rule{.role = Role::kEmbedding};
  rule.optimizer = Json{{"_target_", "lion"}, {"lr", 0.25}};
  const auto plans = plan_groups(MuonConfig{}, {rule}, model());
  EXPECT_EQ(rule_name(named(plans, "groups[0]").options), "lion");
  EXPECT_EQ(lr(named(plans, "groups[0]").options), 0.25);
}

TEST(Grouping, RefusesWhatWouldSilentlyDoNothing) {
  GroupRule rule{.name_pattern = "lm_haed.weight"};
  EXPECT_ERROR(ConfigError, plan_groups(AdamWConfig{}, {rule}, model()),
               "groups[0] matches none of the 6 trainable parameters: pattern 'lm_haed.weight'; an "
               "empty group is nearly always "
               "a misspelt pattern, or an earlier group took its parameters; the nearest name is "
               "'lm_head.weight'; fix the "
               "pattern or set optional: true");
  rule.optional = true;
  EXPECT_NO_THROW(plan_groups(AdamWConfig{}, {rule}, model()));
  EXPECT_ERROR(ConfigError, plan_groups(AdamWConfig{}, {GroupRule{.name_pattern = "a("}}, model()),
               "groups[0].match.name: 'a(' is no regular expression; at position 2: missing "
               "closing parenthesis");
  GroupRule field{.role = Role::kNorm};
  field.options["bettas"] = Json({0.9, 0.9});
  EXPECT_ERROR(ConfigError, plan_groups(AdamWConfig{}, {field}, model()),
               "groups[0].bettas is not known; did you mean 'betas'?");
  EXPECT_ERROR(ConfigError, plan_groups(AdamWConfig{}, {}, {}),
               "none of the 0 parameters is trainable; an optimizer without parameters would train "
               "nothing; give a model whose "
               "parameters require gradients");
  GroupRule forced{.role = Role::kNorm};
  forced.optimizer = Json{{"_target_", "steepest.Muon"}};
  EXPECT_ERROR(ConfigError, plan_groups(AdamWConfig{}, {forced}, model()),
               "groups[0].optimizer asks for a matrix rule, and no parameter of it is a hidden "
               "matrix; everything would silently "
               "go to the rule of the rest; use adamw, or set the roles of the parameters that are "
               "matrices");
  const std::vector<ParamInfo> vectors{info("a", {4}, Role::kVector)};
  EXPECT_ERROR(ConfigError, plan_groups(MuonConfig{}, {}, vectors),
               "optimizer asks for a matrix rule, and no parameter of it is a hidden matrix; "
               "everything would silently go to the rule of "
               "the rest; use adamw, or set the roles of the parameters that are matrices");
}

// A recipe is mended in one go: bad patterns, groups that match nothing and bad values of several
// groups are all told at once, and what a group over several rules gets wrong is told once.
TEST(Grouping, TellsTheProblemsOfAllGroupsAtOnce) {
  GroupRule broken{.name_pattern = "a("}, nowhere{.name_pattern = "lm_haed.weight"};
  GroupRule split{.name_pattern = "blocks"}, norms{.role = Role::kEmbedding};
  split.options = Json{{"lr", -1.0}, {"speed", 2}};
  norms.options["lr"] = -2.0;
  GroupRule typo{.role = Role::kOutput};
  typo.optimizer = Json{{"_target_", "lion"}, {"lrr", 1}};
  EXPECT_ERROR(
      ConfigError, plan_groups(MuonConfig{}, {broken, nowhere, split, norms, typo}, model()),
      "groups[0].match.name: 'a(' is no regular expression; at position 2: missing closing "
      "parenthesis\n"
      "groups[1] matches none of the 6 trainable parameters: pattern 'lm_haed.weight'; an "
      "empty group is nearly always a misspelt pattern, or an earlier group took its "
      "parameters; the nearest name is 'lm_head.weight'; fix the pattern or set optional: "
      "true\n"
      "groups[2].speed is not known; did you mean 'seed'?\n"
      "groups[2].lr is -1; it must be finite and not negative\n"
      "groups[3].lr is -2; it must be finite and not negative\n"
      "groups[4].optimizer.lrr is not known; did you mean 'lr'?");
}

}  // namespace
}  // namespace steepest
