#include <gtest/gtest.h>

#include "steepest/recipe/recipe.h"

namespace steepest {
namespace {

TEST(WriteRecipe, ReadsBackToTheSame) {
  for (const char* optimizer :
       {"{_target_: muon, lr: 0.04, scalar_lr: 1e-3}", "{_target_: adamw, lr: 3.0e-4}",
        "{_target_: adam}", "{_target_: sgd, momentum: 0.9}",
        "{_target_: steepest.Muon, lr: 0.1, momentum: 0.9, scalar_opt: lion, scalar_lr: 0.2}",
        "{_target_: steepest.AdamW, maximize: true}",
        "{_target_: torch.optim.Muon, momentum: 0.9, ns_steps: 3}"}) {
    const Recipe first = read_recipe(
        parse_yaml(std::string("seed: 7\noptimizer: ") + optimizer +
                       "\ngroups: [{match: {role: norm}, weight_decay: 0.0}]\nlr_scheduler: "
                       "{lr_warmup_steps: 3}\nclip_grad_norm: {max_norm: 1}\n",
                   "x"));
    const std::string text = write_recipe(first);
    const Recipe second = read_recipe(parse_yaml(text, "y"));
    EXPECT_EQ(second.optimizer, first.optimizer) << text;
    EXPECT_EQ(second.seed, 7);
    EXPECT_EQ(second.lr_scheduler, first.lr_scheduler);
    EXPECT_EQ(second.groups.size(), 1u);
    EXPECT_EQ(second.groups[0].role, Role::kNorm);
    EXPECT_EQ(write_recipe(second), text);
  }
}

}  // namespace
}  // namespace steepest
