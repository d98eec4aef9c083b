#include "steepest/train/resume_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace steepest::train {
namespace {

Recipe base() {
  Recipe recipe;
  recipe.lr_scheduler = LRSchedulerConfig{};
  return recipe;
}

/// Problems of going on with a changed recipe, texts joined.
std::string changed(const Recipe& before, const std::function<void(Recipe&)>& change) {
  Recipe now = before;
  change(now);
  std::string text;
  for (const auto& problem : resume_differences(recipe_json(before), now))
    text += problem.text() + "\n";
  return text;
}

std::string line(const std::string& what) {
  return what +
         "; the run would not go on as if it had never stopped; set it back, or start a run of its "
         "own with "
         "--out DIR\n";
}

TEST(ResumeCheck, EqualRecipesDoNotDiffer) {
  EXPECT_EQ(changed(base(), [](Recipe&) {}), "");
  // Through a file and back, as a checkpoint's manifest does it.
  EXPECT_TRUE(resume_differences(Json::parse(recipe_json(base()).dump()), base()).empty());
}

TEST(ResumeCheck, NamesWhatChangesTheResult) {
  EXPECT_EQ(changed(base(), [](Recipe& r) { r.seed = 2; }),
            line("seed was 1 in the run that is to be resumed and is now 2"));
  EXPECT_EQ(changed(base(), [](Recipe& r) { r.step_scheduler.local_batch_size = 8; }),
            line("step_scheduler.local_batch_size was not set in the run that is to be resumed and "
                 "is now 8"));
  EXPECT_EQ(
      changed(base(),
              [](Recipe& r) {
                r.model.width = 256;
                r.clip_grad_norm.max_norm = 2;
              }),
      line("clip_grad_norm.max_norm was 0.0 in the run that is to be resumed and is now 2.0") +
          line("model.width was 128 in the run that is to be resumed and is now 256"));
  EXPECT_NE(
      changed(base(), [](Recipe& r) { r.optimizer = AdamWConfig{.lr = 0.5}; }).find("optimizer.lr"),
      std::string::npos);
}

TEST(ResumeCheck, IntervalsAndPlacesAreFree) {
  EXPECT_EQ(changed(base(),
                    [](Recipe& r) {
                      r.step_scheduler.val_every_steps = 7;
                      r.step_scheduler.ckpt_every_steps = 7;
                      r.step_scheduler.log_every_steps = 7;
                      r.checkpoint.keep = 9;
                      r.dataset.path = "elsewhere.txt";
                    }),
            "");
}

TEST(ResumeCheck, MoreStepsAreFreeWhereTheScheduleDoesNotDependOnThem) {
  const auto longer = [](Recipe& r) { r.step_scheduler.max_steps = 1200; };
  EXPECT_EQ(
      changed(base(), longer),
      line("step_scheduler.max_steps was 600 in the run that is to be resumed and is now 1200"));
  Recipe unscheduled = base();
  unscheduled.lr_scheduler.reset();
  EXPECT_EQ(changed(unscheduled, longer), "");
  Recipe fixed = base();
  fixed.lr_scheduler->lr_warmup_steps = 10;
  fixed.lr_scheduler->lr_decay_steps = 500;
  EXPECT_EQ(changed(fixed, longer), "");
}

}  // namespace
}  // namespace steepest::train
