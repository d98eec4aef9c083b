#include "steepest/recipe/recipe.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace steepest {
namespace {

Recipe read(std::string_view text) { return read_recipe(parse_yaml(text, "r.yaml")); }

TEST(Recipe, EmptyMeansDefaults) {
  const Recipe recipe = read("");
  EXPECT_EQ(recipe.model, ModelConfig{});
  EXPECT_EQ(recipe.step_scheduler, StepSchedulerConfig{});
  EXPECT_FALSE(recipe.lr_scheduler.has_value());
  EXPECT_EQ(recipe.optimizer, OptimizerConfig(RuleConfig{}));
  EXPECT_EQ(read("optimizer:\n").optimizer, recipe.optimizer);
  EXPECT_EQ(read("optimizer: {}\n").optimizer, recipe.optimizer);
}

TEST(Recipe, ReadsMergedKeysAndNumbersOfEveryForm) {
  const Recipe recipe = read(
      "optimizer: &base {_target_: torch.optim.AdamW, lr: 1e-3, betas: [9e-1, 95e-2]}\n"
      "groups:\n- match: {role: norm}\n  optimizer: {<<: *base, lr: 2e-3}\n"
      "seed: 0x10\nstep_scheduler: {max_steps: 1_000, val_every_steps: 1e2}\n");
  const auto& options = std::get<AdamWOptions>(std::get<RuleConfig>(recipe.optimizer).matrices);
  EXPECT_EQ(options.lr, 1e-3);
  EXPECT_EQ(options.betas, (Betas{0.9, 0.95}));
  EXPECT_EQ(recipe.groups[0].optimizer["lr"], "2e-3");
  EXPECT_EQ(recipe.groups[0].optimizer["_target_"], "torch.optim.AdamW");
  EXPECT_EQ(recipe.seed, 16);
  EXPECT_EQ(recipe.step_scheduler.max_steps, 1000);
  EXPECT_EQ(recipe.step_scheduler.val_every_steps, 100);
}

TEST(Recipe, ListsAPageOfProblems) {
  std::string text = "groups:\n";
  for (int i = 0; i < 60; ++i) text += "- 1\n";
  try {
    read(text);
    FAIL();
  } catch (const ConfigError& error) {
    ASSERT_EQ(error.problems().size(), 51u);
    EXPECT_EQ(error.problems()[49].text(),
              "r.yaml:51: groups[49] is the number 1; it must be a map");
    EXPECT_EQ(error.problems()[50].text(), "r.yaml: and 10 more problems");
  }
}

TEST(Recipe, ReadsTheSectionsOfAnAutoModelRecipe) {
  const Recipe recipe = read(
      "optimizer:\n  _target_: torch.optim.AdamW\n  betas:\n  - 0.9\n  - 0.95\n  eps: 1e-8\n  lr: "
      "2.0e-05\n  weight_decay: 0.0\n"
      "lr_scheduler: {lr_decay_style: cosine, lr_warmup_steps: 10, min_lr: 1.0e-6}\n"
      "step_scheduler: {global_batch_size: 64, local_batch_size: 8, max_steps: "
      "2000}\nclip_grad_norm: {max_norm: 1.0}\n");
  const auto& options = std::get<AdamWOptions>(std::get<RuleConfig>(recipe.optimizer).matrices);
  EXPECT_EQ(options.lr, 2e-5);
  EXPECT_EQ(options.eps, 1e-8);
  EXPECT_EQ(options.betas, (Betas{0.9, 0.95}));
  EXPECT_EQ(options.weight_decay, 0);
  EXPECT_EQ(recipe.clip_grad_norm.max_norm, 1);
  EXPECT_EQ(recipe.lr_scheduler->lr_warmup_steps, 10);
}

TEST(Recipe, ListsEveryProblemWithItsLine) {
  EXPECT_ERROR(
      ConfigError,
      read("seed: 1\noptimizr: {}\nmodel:\n  width: 100\n  heads: 3\noptimizer:\n  _target_: "
           "adamw\n  lr: -1\n"
           "step_scheduler:\n  global_batch_size: 16\n  local_batch_size: 5\n  max_steps: 0\n"),
      "r.yaml:2: optimizr is not known; did you mean 'optimizer'?\n"
      "r.yaml:4: model.width is 100; it must be a multiple of heads (3)\n"
      "r.yaml:8: optimizer.lr is -1; it must be finite and not negative\n"
      "r.yaml:12: step_scheduler.max_steps is 0; it must be 1 or more\n"
      "r.yaml:10: step_scheduler.global_batch_size is 16; it must be a multiple of "
      "local_batch_size (5)");
}

TEST(Recipe, ChecksSchedulesAgainstTheRun) {
  EXPECT_ERROR(
      ConfigError,
      read("step_scheduler: {max_steps: 100}\nlr_scheduler:\n  lr_warmup_steps: 200\n"),
      "r.yaml:3: lr_scheduler.lr_warmup_steps is 200; it must be below lr_decay_steps (100)");
  EXPECT_ERROR(ConfigError, read("lr_scheduler:\n  min_lr: .nan\n"),
               "r.yaml:2: lr_scheduler.min_lr is nan; it must be finite and not negative");
}

TEST(Recipe, ReadsGroupsAndTheirMistakes) {
  const Recipe recipe = read(
      "groups:\n- {match: {role: norm}, weight_decay: 0.0}\n- {match: {name: 'blocks\\.0'}, "
      "optional: true, "
      "optimizer: {_target_: lion, lr: 1.0e-4}}\n");
  ASSERT_EQ(recipe.groups.size(), 2u);
  EXPECT_EQ(recipe.groups[0].role, Role::kNorm);
  EXPECT_EQ(recipe.groups[0].options["weight_decay"], 0.0);
  EXPECT_EQ(recipe.groups[1].name_pattern, "blocks\\.0");
  EXPECT_TRUE(recipe.groups[1].optional);
  EXPECT_ERROR(ConfigError, read("groups: {a: 1}"),
               "r.yaml:1: groups is a map; it must be a list of groups");
  EXPECT_ERROR(
      ConfigError, read("groups: [{weight_decay: 0}]"),
      "r.yaml:1: groups[0].match is missing; say match: {role: norm} or match: {name: regex}");
  EXPECT_ERROR(ConfigError, read("groups: [{match: {roll: norm}}]"),
               "r.yaml:1: groups[0].match.roll is not known; known here: role, name");
  EXPECT_ERROR(ConfigError, read("groups: [{match: {role: norms}}]"),
               "r.yaml:1: groups[0].match.role is 'norms'; it must be one of hidden, embedding, "
               "output, norm, bias, vector; did you mean 'norm'?");
  EXPECT_ERROR(ConfigError, read("groups: [{match: {role: norm}, optimizer: {_target_: nope}}]"),
               "r.yaml:1: groups[0].optimizer._target_ is 'nope'; it must be one of adamw, adam, "
               "muon, dion.Muon, torch.optim.AdamW, torch.optim.Adam, torch.optim.SGD, "
               "torch.optim.Muon, sgd, lion, emerging_optimizers.scalar_optimizers.Lion, "
               "steepest.AdamW, steepest.Adam, steepest.SGD, steepest.Lion, steepest.Muon");
}

TEST(Recipe, RefusesWhatThisVersionDoesNotDo) {
  EXPECT_ERROR(ConfigError, read("distributed: {optimizer: zero1}"),
               "r.yaml:1: distributed.optimizer is \"zero1\"; this version trains in one process; "
               "say none, or leave the section out");
  EXPECT_ERROR(ConfigError, read("precision: bfloat16"),
               "r.yaml:1: precision is the text 'bfloat16'; it must be a map of options");
  EXPECT_NO_THROW(read("distributed: {optimizer: none}\nprecision: {weights: float32}"));
  EXPECT_EQ(read("distributed: {strategy: fsdp2}").warnings.size(), 1u);
}

TEST(Recipe, ReadsNormsAndWhoIsInThem) {
  const Recipe recipe = read(
      "clip_grad_norm: {max_norm: 1, norm_groups: [mtp], exact_norm: true, non_finite: skip, "
      "grad_norm_skip_threshold: 50}\n"
      "groups:\n- {match: {name: mtp}, norm_group: mtp, lr: 0.1}\n- {match: {role: norm}, in_norm: "
      "false}\n- {match: {role: bias}, clip: false}\n");
  EXPECT_EQ(recipe.clip_grad_norm,
            (ClipGradNormConfig{1, {"mtp"}, true, NonFinitePolicy::kSkip, 50}));
  ASSERT_EQ(recipe.groups.size(), 3u);
  EXPECT_EQ(recipe.groups[0].norm_use, (NormUse{.norm_group = "mtp"}));
  EXPECT_EQ(recipe.groups[0].options, (Json{{"lr", 0.1}}));
  EXPECT_EQ(recipe.groups[1].norm_use, (NormUse{.in_norm = false}));
  EXPECT_EQ(recipe.groups[2].norm_use, (NormUse{.clip = false}));
  const std::string text = write_recipe(recipe);
  const Recipe again = read_recipe(parse_yaml(text, "again"));
  EXPECT_EQ(again.clip_grad_norm, recipe.clip_grad_norm);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(again.groups[i].norm_use, recipe.groups[i].norm_use) << text;
}

TEST(Recipe, RefusesNormsOfNonsense) {
  EXPECT_ERROR(
      ConfigError, read("clip_grad_norm: {norm_groups: mtp}"),
      "r.yaml:1: clip_grad_norm.norm_groups is the text 'mtp'; it must be a list of names");
  EXPECT_ERROR(ConfigError, read("clip_grad_norm: {norm_groups: ['']}"),
               "r.yaml:1: clip_grad_norm.norm_groups is []; it must be names that differ and are "
               "not empty");
  EXPECT_ERROR(ConfigError,
               read("groups: [{match: {role: norm}, in_norm: false, norm_group: mtp}]"),
               "r.yaml:1: groups[0].in_norm is false; it must be true where norm_group is given; "
               "leave out one of the two");
}

TEST(Recipe, NamesTheNearestPrecisionKey) {
  EXPECT_ERROR(ConfigError, read("precision: {weight: float32}"),
               "r.yaml:1: precision.weight is not known; did you mean 'weights'?");
}

TEST(Recipe, ErrorsOfBuildingGetTheLineOfTheRecipe) {
  const Recipe recipe =
      read("seed: 1\ngroups:\n- {match: {role: norm}}\n- {match: {name: 'a('}}\n");
  const ConfigError error({.what = "groups[1].match.name: 'a(' is no regular expression"});
  EXPECT_EQ(std::string(located(error, recipe).what()),
            "r.yaml:4: groups[1].match.name: 'a(' is no regular expression");
  EXPECT_EQ(std::string(located(error, Recipe{}).what()), std::string(error.what()));
}

TEST(Recipe, SaysWhatCannotBeRead) {
  EXPECT_ERROR(IoError, load_recipe("/nowhere/r.yaml"),
               "reading /nowhere/r.yaml failed: No such file or directory; check the path");
}

TEST(Recipe, SaysThatFlattenDoesNothing) {
  const auto warnings = [](const std::string& text) {
    return read_recipe(parse_yaml(text, "r.yaml")).warnings;
  };
  EXPECT_EQ(warnings("optimizer: {_target_: dion.Muon, flatten: true}\n"
                     "groups:\n- {match: {role: hidden}, optimizer: {_target_: muon, flatten: "
                     "true}}\n"),
            (std::vector<std::string>{
                "optimizer.flatten has no effect: weights above two dimensions go to scalar_opt, "
                "as in AutoModel; steepest.Muon takes them, with higher_dims: flatten",
                "groups[0].optimizer.flatten has no effect: weights above two dimensions go to "
                "scalar_opt, as in AutoModel; steepest.Muon takes them, with higher_dims: "
                "flatten"}));
  EXPECT_TRUE(warnings("optimizer: {_target_: dion.Muon, flatten: false}\n").empty());
}

}  // namespace
}  // namespace steepest
