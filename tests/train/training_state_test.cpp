#include "steepest/train/training_state.h"

#include <ATen/ops/randint.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "steepest/base/error.h"
#include "steepest/recipe/lr_scheduler_config.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace steepest::train {
namespace {

using test::slurp;
using test::TemporaryFolder;
using testing::HasSubstr;

const ModelConfig kTiny{.layers = 1, .width = 16, .heads = 2, .context = 8};

struct Living {
  explicit Living(std::uint64_t seed, const ModelConfig& config = kTiny)
      : model(config, seed),
        optimizer(build_optimizer(AdamWConfig{.lr = 0.01}, model.params())),
        scheduler(LRSchedulerConfig{}.build(*optimizer, {.max_steps = 100})) {}
  void update(std::int64_t byte) {
    optimizer->zero_grad();
    model.loss(at::randint(byte, byte + 9, {2, 9}, at::kLong)).backward();
    optimizer->step();
    scheduler->step();
  }
  TrainingParts parts() { return {model, *optimizer, scheduler.get()}; }

  Gpt model;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<LRScheduler> scheduler;
};

const Counters kCounters{
    .step = 2, .tokens = 32, .best_val_loss = 1.5, .last_val_loss = 1.75, .best_val_step = 1};

TEST(Counters, SurviveJson) {
  const Counters back = Counters::from_json(Json::parse(kCounters.to_json().dump()));
  EXPECT_EQ(back.step, 2);
  EXPECT_EQ(back.tokens, 32);
  EXPECT_EQ(back.best_val_loss, 1.5);
  EXPECT_EQ(back.last_val_loss, 1.75);
  EXPECT_EQ(back.best_val_step, 1);
  EXPECT_FALSE(Counters::from_json(Counters{}.to_json()).best_val_loss.has_value());
  EXPECT_ERROR(CheckpointError, Counters::from_json(Json::object()),
               "the checkpoint's values lack 'step'; it was not written by the trainer; resume "
               "from a checkpoint of a run");
}

TEST(TrainingState, RestoresEverythingIntoAnotherRun) {
  const TemporaryFolder folder;
  Living one(1), other(2);
  for (int i = 0; i < 2; ++i) one.update(10 * i);
  const auto first =
      save_training(folder.path() / "a", one.parts(), kCounters, Json::object(), "sum");
  const Checkpoint checkpoint = Checkpoint::open(first);
  EXPECT_EQ(restore_training(checkpoint, other.parts()).tokens, 32);
  EXPECT_EQ(other.scheduler->step_count(), 2);
  EXPECT_EQ(other.optimizer->applied(), 2);
  for (const auto& param : one.model.params())
    EXPECT_TRUE(
        param.value.detach().equal(other.model.params().find(param.info.name)->value.detach()));
  const auto second =
      save_training(folder.path() / "b", other.parts(), kCounters, Json::object(), "sum");
  for (const char* file : {"weights.safetensors", "optimizer.safetensors", "manifest.json"})
    EXPECT_TRUE(slurp(first / file) == slurp(second / file)) << file;
}

TEST(TrainingState, AnotherScheduleIsRefusedAndNothingChanges) {
  const TemporaryFolder folder;
  Living one(1), other(2);
  one.update(1);
  const auto path = save_training(folder.path() / "a", one.parts(), kCounters, Json::object(), "s");
  const auto before =
      save_training(folder.path() / "b", other.parts(), kCounters, Json::object(), "s");
  const auto expect_untouched = [&](const std::string& name) {
    const auto after =
        save_training(folder.path() / name, other.parts(), kCounters, Json::object(), "s");
    for (const char* file : {"weights.safetensors", "optimizer.safetensors", "manifest.json"})
      EXPECT_TRUE(slurp(before / file) == slurp(after / file)) << file;
  };
  const Checkpoint checkpoint = Checkpoint::open(path);
  const auto own = std::move(other.scheduler);
  EXPECT_ERROR(CheckpointError, restore_training(checkpoint, other.parts()),
               "'" + path.string() +
                   "' does not fit this model: it has a schedule; resume with the recipe the run "
                   "was started with");
  other.scheduler = LRSchedulerConfig{}.build(*other.optimizer, {.max_steps = 50});
  EXPECT_THROW(restore_training(checkpoint, other.parts()), StateError);
  other.scheduler = LRSchedulerConfig{}.build(*other.optimizer, {.max_steps = 100});
  expect_untouched("c");
}

TEST(TrainingState, ARefusedStepLeavesEveryBit) {
  const TemporaryFolder folder;
  Living one(1);
  for (int i = 0; i < 2; ++i) one.update(10 * i);
  const auto before =
      save_training(folder.path() / "a", one.parts(), kCounters, Json::object(), "s");
  one.optimizer->zero_grad();
  one.model.loss(at::randint(1, 9, {2, 9}, at::kLong)).backward();
  one.model.params()
      .find("lm_head.weight")
      ->value.grad()
      .view({-1})[5]
      .fill_(std::numeric_limits<float>::infinity());
  EXPECT_THROW(one.optimizer->step(), NonFiniteError);
  const auto after =
      save_training(folder.path() / "b", one.parts(), kCounters, Json::object(), "s");
  for (const char* file : {"weights.safetensors", "optimizer.safetensors", "manifest.json"})
    EXPECT_TRUE(slurp(before / file) == slurp(after / file)) << file;
}

TEST(TrainingState, AnotherModelIsRefusedAndNothingChanges) {
  const TemporaryFolder folder;
  Living small(1), large(1, {.layers = 2, .width = 16, .heads = 2, .context = 8}),
      wide(1, {.layers = 1, .width = 32, .heads = 2, .context = 8});
  small.update(1);
  const auto path = save_training(folder.path(), small.parts(), kCounters, Json::object(), "sum");
  const Checkpoint checkpoint = Checkpoint::open(path);
  const at::Tensor before = large.model.params()[0].value.detach().clone();
  try {
    restore_training(checkpoint, large.parts());
    FAIL();
  } catch (const CheckpointError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("does not fit this model: it has no weight 'blocks.1.norm1.weight'"));
  }
  EXPECT_TRUE(before.equal(large.model.params()[0].value.detach()));
  EXPECT_EQ(large.optimizer->applied(), 0);
  try {
    restore_training(checkpoint, wide.parts());
    FAIL();
  } catch (const CheckpointError& error) {
    EXPECT_THAT(
        error.what(),
        HasSubstr("weight 'wte.weight' is float32 [256, 16] in it and float32 [256, 32] here"));
  }
  const auto more =
      save_training(folder.path() / "more", large.parts(), kCounters, Json::object(), "sum");
  try {
    restore_training(Checkpoint::open(more), small.parts());
    FAIL();
  } catch (const CheckpointError& error) {
    EXPECT_THAT(error.what(), HasSubstr("holds a weight 'blocks.1."));
  }
}

}  // namespace
}  // namespace steepest::train
