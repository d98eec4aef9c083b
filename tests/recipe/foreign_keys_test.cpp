#include "steepest/recipe/foreign_keys.h"

#include <gtest/gtest.h>

#include "steepest/recipe/recipe.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

Recipe read(std::string_view text) { return read_recipe(parse_yaml(text, "r.yaml")); }
using Warnings = std::vector<std::string>;

TEST(ForeignKeys, AreTakenOutAndOthersStay) {
  Rules rules("clip_grad_norm");
  Warnings warnings;
  EXPECT_EQ(without_foreign_keys("clip_grad_norm", {{"max_norm", 1}, {"norm_type", 2.0}}, rules,
                                 warnings),
            Json({{"max_norm", 1}}));
  EXPECT_EQ(
      without_foreign_keys("clip_grad_norm", {{"foreach", true}, {"max_nrom", 1}}, rules, warnings),
      Json({{"max_nrom", 1}}));
  EXPECT_EQ(without_foreign_keys("clip_grad_norm", 3, rules, warnings), Json(3));
  EXPECT_TRUE(rules.problems().empty());
  EXPECT_EQ(warnings,
            Warnings{"clip_grad_norm.foreach has no effect: it steers the reference's execution "
                     "only"});
}

// The sections of an AutoModel recipe as they are.
TEST(ForeignKeys, APastedSectionIsRead) {
  const Recipe recipe = read(
      "step_scheduler: {global_batch_size: 32, local_batch_size: 8, ckpt_every_steps: 100, "
      "val_every_steps: 10, num_epochs: 2, max_steps: 100, gc_every_steps: null, dp_size: 1}\n"
      "lr_scheduler: {lr_decay_style: cosine, min_lr: 1.0e-6, start_wd: 0.0, end_wd: 0.1, "
      "wd_incr_style: linear, wd_incr_steps: 50, override_opt_param_scheduler: false, "
      "use_checkpoint_opt_param_scheduler: true}\n"
      "clip_grad_norm: {max_norm: 1.0, norm_type: 2.0}\n"
      "checkpoint: {enabled: true, model_save_format: safetensors, save_consolidated: false}\n"
      "peft: null\nwandb: {project: x}\n");
  EXPECT_EQ(recipe.step_scheduler.max_steps, 100);
  EXPECT_EQ(recipe.lr_scheduler->end_wd, 0.1);
  EXPECT_EQ(recipe.warnings,
            (Warnings{"wandb has no effect: metrics go to the run folder",
                      "step_scheduler.num_epochs has no effect: the text is a stream without "
                      "epochs, and max_steps decides",
                      "step_scheduler.gc_every_steps has no effect: there is no garbage to collect",
                      "checkpoint.save_consolidated has no effect: one process saves whole tensors",
                      "lr_scheduler.use_checkpoint_opt_param_scheduler has no effect: a run "
                      "resumes with the schedule it was started with"}));
}

TEST(ForeignKeys, WhatIsNotDoneIsRefusedByName) {
  EXPECT_ERROR(ConfigError, read("seed: 1\npeft: {dim: 8}\n"),
               "r.yaml:2: peft is known in AutoModel and not supported here yet; all parameters "
               "are trained; leave it out");
  EXPECT_ERROR(ConfigError, read("step_scheduler:\n  num_epochs: 2\n"),
               "r.yaml:2: step_scheduler.num_epochs is known in AutoModel and not supported here "
               "yet; the text is a stream without epochs: say max_steps; leave it out");
  EXPECT_ERROR(ConfigError, read("clip_grad_norm: {norm_type: 1}"),
               "r.yaml:1: clip_grad_norm.norm_type other than 2 is known in AutoModel and not "
               "supported here yet; the norm is the L2 norm; leave it out");
  EXPECT_ERROR(ConfigError, read("lr_scheduler: {override_opt_param_scheduler: true}"),
               "r.yaml:1: lr_scheduler.override_opt_param_scheduler other than false is known in "
               "AutoModel and not supported here yet; a run resumes with the schedule it was "
               "started with; leave it out");
  EXPECT_ERROR(ConfigError, read("checkpoint: {checkpoint_dir: x}"),
               "r.yaml:1: checkpoint.checkpoint_dir is known in AutoModel and not supported here "
               "yet; --out DIR says where a run is kept; leave it out");
}

}  // namespace
}  // namespace steepest
