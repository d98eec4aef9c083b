#include "steepest/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "steepest/base/error.h"
#include "steepest/train/metrics.h"
#include "steepest/train/tensorboard.h"
#include "tests/support/temporary_folder.h"

namespace steepest::train {
namespace {

using test::slurp;
using test::TemporaryFolder;
using test::write;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int kSteps = 6;

std::string text() {
  std::string bytes;
  for (int i = 0; i < 120; ++i)
    bytes += "the " + std::to_string(i * i % 97) + " lambs went up the hill\n";
  return bytes;
}

std::string recipe_text(const fs::path& data) {
  return "seed: 1\n"
         "model: {layers: 1, width: 16, heads: 2, context: 16}\n"
         "dataset: {path: '" +
         data.string() +
         "', validation_windows: 8}\n"
         "optimizer: {_target_: steepest.Muon, lr: 0.02, scalar_opt: adamw, scalar_lr: 0.01}\n"
         "lr_scheduler: {lr_decay_style: cosine, lr_warmup_steps: 2}\n"
         "step_scheduler: {global_batch_size: 4, max_steps: 6, val_every_steps: 3, "
         "ckpt_every_steps: 2, "
         "log_every_steps: 1}\n"
         "clip_grad_norm: {max_norm: 1.0}\n"
         "checkpoint: {keep: 10}\n";
}

/// A text and a recipe in a folder of their own; runs go into folders beside them.
class Training : public testing::Test {
 protected:
  Training() {
    write(data(), text());
    write(recipe_path(), recipe_text(data()));
  }
  fs::path data() const { return folder_.path() / "text.txt"; }
  fs::path recipe_path() const { return folder_.path() / "tiny.yaml"; }
  fs::path run(const std::string& name) const { return folder_.path() / name; }
  TrainRequest request(const std::string& name,
                       const std::vector<std::string>& settings = {}) const {
    TrainRequest made;
    made.recipe = load_recipe(recipe_path(), settings);
    made.out = run(name);
    made.threads = 1;
    return made;
  }
  /// Every file of a run's checkpoint.
  std::map<std::string, std::string> checkpoint(const std::string& name, int step = kSteps) const {
    std::map<std::string, std::string> files;
    const fs::path folder = run(name) / "checkpoints" / ("step-" + std::to_string(step));
    if (fs::exists(folder))
      for (const auto& entry : fs::directory_iterator(folder))
        files[entry.path().filename()] = slurp(entry.path());
    return files;
  }
  /// metrics.jsonl without what a clock decides.
  std::string metrics(const std::string& name) const {
    std::string lines;
    for (auto line : read_metrics(run(name) / "metrics.jsonl")) {
      line.tokens_per_second.reset();
      line.optimizer_ms.reset();
      lines += line.to_json().dump() + "\n";
    }
    return lines;
  }
  /// Steps of the events in the run's one event file.
  std::size_t events(const std::string& name) const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(run(name))) {
      if (!entry.path().filename().string().starts_with("events.")) continue;
      const std::string bytes = slurp(entry.path());
      std::string_view rest = bytes;
      while (take_tfrecord(rest)) ++count;
      EXPECT_TRUE(rest.empty());
    }
    return count;
  }
  void expect_same_end(const std::string& one, const std::string& other) const {
    ASSERT_FALSE(checkpoint(one).empty());
    EXPECT_TRUE(checkpoint(one) == checkpoint(other)) << one << " and " << other;
    EXPECT_EQ(metrics(one), metrics(other));
    EXPECT_EQ(events(one), events(other));
  }
  /// Runs until `step` updates are done, then stops as by SIGTERM.
  TrainSummary stopped_after(TrainRequest made, std::int64_t step) const {
    std::int64_t done = 0;
    made.after_backward = [&](std::int64_t before, const ParamSet&) { done = before + 1; };
    made.stop = [&] { return done >= step ? SIGTERM : 0; };
    return train(made);
  }

  TemporaryFolder folder_;
};

TEST_F(Training, LeavesTheWholeRunFolder) {
  const auto summary = train(request("run"));
  EXPECT_EQ(summary.outcome, Outcome::kFinished);
  EXPECT_EQ(summary.exit_status(), 0);
  EXPECT_EQ(summary.step, kSteps);
  EXPECT_EQ(summary.tokens, kSteps * 4 * 16);
  EXPECT_FALSE(summary.sample.empty());
  for (const char* name :
       {"recipe.yaml", "metrics.jsonl", "log.txt", "checkpoints/step-2/manifest.json",
        "checkpoints/step-4/weights.safetensors", "checkpoints/step-6/optimizer.safetensors"})
    EXPECT_TRUE(fs::exists(run("run") / name)) << name;
  EXPECT_EQ(load_recipe(run("run") / "recipe.yaml").step_scheduler,
            request("x").recipe.step_scheduler);
  const auto lines = read_metrics(run("run") / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[0].step, 0);
  EXPECT_TRUE(lines[0].val_loss.has_value());
  EXPECT_FALSE(lines[0].loss.has_value());
  for (std::size_t i = 1; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].step, static_cast<std::int64_t>(i));
    EXPECT_EQ(lines[i].tokens, static_cast<std::int64_t>(i) * 64);
    EXPECT_TRUE(lines[i].loss && lines[i].lr && lines[i].wd && lines[i].grad_norm &&
                lines[i].skipped && lines[i].tokens_per_second && lines[i].optimizer_ms);
    EXPECT_EQ(lines[i].val_loss.has_value(), i % 3 == 0) << i;
  }
  EXPECT_LT(*lines[6].val_loss, *lines[0].val_loss);
  EXPECT_EQ(summary.last_val_loss, lines[6].val_loss);
  EXPECT_EQ(events("run"), 8u);
}

TEST_F(Training, SameSeedGivesTheSameBitsAndAnotherSeedOthers) {
  train(request("one"));
  train(request("same"));
  train(request("other", {"seed=2"}));
  expect_same_end("one", "same");
  EXPECT_NE(metrics("one"), metrics("other"));
}

TEST_F(Training, AccumulationEqualsTheWholeBatch) {
  train(request("whole"));
  train(request("halves", {"step_scheduler.local_batch_size=2"}));
  const auto whole = read_metrics(run("whole") / "metrics.jsonl");
  const auto halves = read_metrics(run("halves") / "metrics.jsonl");
  ASSERT_EQ(whole.size(), halves.size());
  for (std::size_t i = 1; i < whole.size(); ++i) {
    EXPECT_NEAR(*whole[i].loss, *halves[i].loss, 2e-4 * *whole[i].loss) << i;
    EXPECT_EQ(whole[i].tokens, halves[i].tokens);
  }
  // Before the orthogonalization has amplified the rounding, the gradient itself.
  EXPECT_NEAR(*whole[1].grad_norm, *halves[1].grad_norm, 1e-5 * *whole[1].grad_norm);
}

TEST_F(Training, StoppedAndResumedIsAsIfNeverStopped) {
  train(request("never"));
  for (const std::int64_t step : {0, 1, 3, 5}) {
    const std::string name = "stopped" + std::to_string(step);
    const auto summary = stopped_after(request(name), step);
    EXPECT_EQ(summary.outcome, Outcome::kStopped);
    EXPECT_EQ(summary.exit_status(), 143);
    EXPECT_EQ(summary.step, step);
    auto again = request(name);
    again.resume = true;
    EXPECT_EQ(train(again).outcome, Outcome::kFinished);
    expect_same_end("never", name);
  }
}

TEST_F(Training, LinesBeyondTheCheckpointAreTakenBack) {
  train(request("never"));
  train(request("run"));
  // As after a kill in the middle of step 6: lines of steps 5 and 6 are there, the newest
  // checkpoint is step 4.
  fs::remove_all(run("run") / "checkpoints" / "step-6");
  write(run("run") / "metrics.jsonl", slurp(run("run") / "metrics.jsonl") + "{\"step\":7,\"lo");
  auto again = request("run");
  again.resume = true;
  train(again);
  expect_same_end("never", "run");
}

TEST_F(Training, KilledWhileSavingAndResumedIsAsIfNeverStopped) {
  train(request("never"));
  const std::string program = std::string(STEEPEST_TEST_PROGRAMS) + "/train_killed ";
  const auto launch = [&](const std::string& out, int stage) {
    const std::string command = program + recipe_path().string() + " " + run(out).string() + " " +
                                std::to_string(stage) + " > " +
                                (folder_.path() / "stages").string() + " 2>&1";
    return std::system(command.c_str());
  };
  ASSERT_EQ(launch("counted", 0), 0);
  std::istringstream stages(slurp(folder_.path() / "stages"));
  std::vector<std::string> names;
  for (std::string line; std::getline(stages, line);) names.push_back(line);
  ASSERT_EQ(names.size() % 3, 0u);  // three checkpoints
  const int per_checkpoint = static_cast<int>(names.size()) / 3;
  ASSERT_GE(per_checkpoint, 7);  // three files written and synced, the rename
  expect_same_end("never", "counted");
  // Every stage of the second checkpoint, and the first of the first one: nothing to resume from
  // there.
  std::vector<int> kills = {1};
  for (int i = 1; i <= per_checkpoint; ++i) kills.push_back(per_checkpoint + i);
  for (const int stage : kills) {
    const std::string name = "killed" + std::to_string(stage);
    ASSERT_NE(launch(name, stage), 0) << names[static_cast<std::size_t>(stage - 1)];
    auto again = request(name);
    again.resume = true;
    EXPECT_EQ(train(again).outcome, Outcome::kFinished)
        << names[static_cast<std::size_t>(stage - 1)];
    expect_same_end("never", name);
    EXPECT_EQ(checkpoint("never", 4) == checkpoint(name, 4), true);
  }
}

TEST_F(Training, SignalsWhileSavingLeaveAWholeCheckpoint) {
  train(request("never"));
  const auto launch = [&](const std::string& out, int stage, int signal) {
    const std::string command = std::string(STEEPEST_TEST_PROGRAMS) + "/train_killed " +
                                recipe_path().string() + " " + run(out).string() + " " +
                                std::to_string(stage) + " " + std::to_string(signal) + " > " +
                                (folder_.path() / "stages").string() + " 2>&1";
    const int result = std::system(command.c_str());
    return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
  };
  ASSERT_EQ(launch("counted", 0, SIGTERM), 0);
  const std::string stages = slurp(folder_.path() / "stages");
  const auto per_checkpoint = static_cast<int>(std::count(stages.begin(), stages.end(), '\n')) / 3;
  for (int i = 1; i <= per_checkpoint; ++i) {
    const std::string name = "stopped" + std::to_string(i);
    const int signal = i % 2 == 0 ? SIGTERM : SIGHUP;
    EXPECT_EQ(launch(name, per_checkpoint + i, signal), 128 + signal) << i;
    std::set<std::string> names;
    for (const auto& each : fs::directory_iterator(run(name) / "checkpoints"))
      names.insert(each.path().filename());
    EXPECT_EQ(names, (std::set<std::string>{"step-2", "step-4"})) << i;
    EXPECT_EQ(checkpoint("never", 4) == checkpoint(name, 4), true) << i;
    auto again = request(name);
    again.resume = true;
    EXPECT_EQ(train(again).outcome, Outcome::kFinished);
    expect_same_end("never", name);
  }
}

TEST_F(Training, FinishedRunHasNothingToDo) {
  train(request("run"));
  const auto before = slurp(run("run") / "log.txt");
  auto again = request("run");
  again.resume = true;
  const auto summary = train(again);
  EXPECT_EQ(summary.outcome, Outcome::kAlreadyFinished);
  EXPECT_EQ(summary.exit_status(), 0);
  EXPECT_EQ(slurp(run("run") / "log.txt"), before);
}

TEST_F(Training, CurvesOfARunKilledBeforeItDrewAreDrawn) {
  train(request("run"));
  fs::remove(run("run") / "curves.svg");
  fs::remove(run("run") / "curves.png");
  auto again = request("run");
  again.resume = true;
  EXPECT_EQ(train(again).outcome, Outcome::kAlreadyFinished);
  EXPECT_TRUE(fs::exists(run("run") / "curves.svg"));
  EXPECT_TRUE(fs::exists(run("run") / "curves.png"));
}

TEST_F(Training, ComparedFoldersAreCheckedBeforeAnythingIsWritten) {
  auto made = request("run");
  made.compare = {run("nothing")};
  EXPECT_THROW(train(made), ConfigError);
  EXPECT_FALSE(fs::exists(run("run")));
  train(request("other"));
  made.compare = {run("other") / ""};
  train(made);
  const std::string svg = slurp(run("run") / "curves.svg");
  EXPECT_THAT(svg, HasSubstr("run held out"));
  EXPECT_THAT(svg, HasSubstr("other held out"));
}

TEST_F(Training, RecipeOfTheFolderMakesTheSameRun) {
  train(request("run"));
  TrainRequest again;
  again.recipe = load_recipe(run("run") / "recipe.yaml");
  again.out = run("again");
  again.threads = 1;
  EXPECT_EQ(again.recipe.dataset.path, fs::absolute(data()).string());
  train(again);
  expect_same_end("run", "again");
  EXPECT_EQ(slurp(run("run") / "recipe.yaml"), slurp(run("again") / "recipe.yaml"));
}

/// What a run tells people, and what it came to.
struct Told {
  std::string text;
  TrainSummary summary;
};
Told told(TrainRequest made, const fs::path& file) {
  std::FILE* out = std::fopen(file.c_str(), "w");
  Progress progress(out, /*bar=*/false, std::chrono::milliseconds(0));
  made.progress = &progress;
  TrainSummary summary = train(made);
  std::fclose(out);
  return {slurp(file), std::move(summary)};
}

TEST_F(Training, AnotherCountOfThreadsIsWarnedOf) {
  stopped_after(request("run"), 2);
  auto again = request("run");
  again.resume = true;
  again.threads = 2;
  const auto [text, summary] = told(again, folder_.path() / "told");
  EXPECT_THAT(text, HasSubstr("warning: the checkpoint was written with 1 thread and this run has "
                              "2 threads: its last bits may differ from a run that never stopped; "
                              "--threads 1 keeps them\n"));
  stopped_after(request("same"), 2);
  auto same = request("same");
  same.resume = true;
  EXPECT_THAT(told(same, folder_.path() / "told").text, testing::Not(HasSubstr("warning")));
}

TEST_F(Training, FewerStepsThanMadeAreSaidSo) {
  const std::string fixed = "lr_scheduler={lr_decay_steps: 6, lr_warmup_steps: 2}";
  train(request("run", {fixed}));
  auto again = request("run", {fixed, "step_scheduler.max_steps=4"});
  again.resume = true;
  const auto [text, summary] = told(again, folder_.path() / "told");
  EXPECT_EQ(summary.outcome, Outcome::kAlreadyFinished);
  EXPECT_EQ(text, "'" + run("run").string() +
                      "' has made 6 steps already, more than step_scheduler.max_steps, 4; raise it "
                      "to go on\n");
  EXPECT_THAT(summary.text(), HasSubstr("6, more than the 4 asked for: nothing to do"));
}

TEST_F(Training, TimeLeftIsThatOfUpdates) {
  // The evaluation before training takes far longer than the updates.
  const auto [text, summary] =
      told(request("run", {"dataset.validation_windows=10000", "step_scheduler.val_every_steps=100",
                           "step_scheduler.ckpt_every_steps=100"}),
           folder_.path() / "told");
  EXPECT_THAT(text, HasSubstr("held out, 1 thread\n"));
  const auto left = text.find("tokens/s  ");
  ASSERT_NE(left, std::string::npos) << text;
  int minutes = 0, seconds = 0;
  ASSERT_EQ(std::sscanf(text.c_str() + left, "tokens/s  %d:%d left", &minutes, &seconds), 2);
  // Two equal evaluations; five updates are left. A line rounds up to whole seconds.
  EXPECT_LT(60 * minutes + seconds, 1 + 5 * summary.times.evaluation / 2) << text;
}

TEST_F(Training, ResumeWithoutACheckpointStartsAnew) {
  auto made = request("run");
  made.resume = true;
  EXPECT_EQ(train(made).outcome, Outcome::kFinished);
  train(request("other"));
  expect_same_end("other", "run");
}

TEST_F(Training, AlteredCheckpointIsPassedOverForAnOlderOne) {
  train(request("never"));
  train(request("run"));
  const fs::path weights = run("run") / "checkpoints" / "step-6" / "weights.safetensors";
  std::string bytes = slurp(weights);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write(weights, bytes);
  auto again = request("run");
  again.resume = true;
  EXPECT_EQ(train(again).outcome, Outcome::kFinished);
  expect_same_end("never", "run");
  EXPECT_THAT(slurp(run("run") / "log.txt"), HasSubstr("step-6' was passed over: "));
  EXPECT_THAT(slurp(run("run") / "log.txt"), HasSubstr("step-4' at step 4"));
}

TEST_F(Training, OnlyBrokenCheckpointsAreRefusedByName) {
  train(request("run", {"step_scheduler.ckpt_every_steps=100"}));
  fs::resize_file(run("run") / "checkpoints" / "step-6" / "optimizer.safetensors", 10);
  auto again = request("run");
  again.resume = true;
  try {
    train(again);
    FAIL();
  } catch (const CheckpointError& error) {
    EXPECT_THAT(error.what(), HasSubstr("checkpoints/step-6' is not whole; "));
    EXPECT_THAT(error.what(), HasSubstr("optimizer.safetensors"));
    EXPECT_THAT(error.what(),
                HasSubstr("no whole one is left: start a run of its own with --out DIR"));
  }
}

TEST_F(Training, ResumeRefusesAnotherRecipeOrText) {
  stopped_after(request("run"), 2);
  auto other = request("run", {"model.width=32", "optimizer.lr=0.5"});
  other.resume = true;
  try {
    train(other);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("model.width was 16 in the run that is to be resumed and is now 32"));
    EXPECT_THAT(error.what(),
                HasSubstr("optimizer.lr was 0.02 in the run that is to be resumed and is now 0.5"));
  }
  write(data(), text() + "more");
  auto same = request("run");
  same.resume = true;
  try {
    train(same);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("is not the one the run was started with"));
  }
}

TEST_F(Training, EveryPrecisionResumesBitForBit) {
  int number = 0;
  for (const char* precision :
       {"{weights: bfloat16}", "{weights: bfloat16, masters: remainder}",
        "{weights: bfloat16, masters: 24bit, states: int8}",
        "{weights: bfloat16, stochastic_rounding: true, states: bfloat16}",
        "{weights: float16, masters: 32bit, states: float8, initial_loss_scale: 1024}"}) {
    const std::vector<std::string> settings{std::string("precision=") + precision};
    const std::string whole = "whole" + std::to_string(++number),
                      cut = "cut" + std::to_string(number);
    train(request(whole, settings));
    EXPECT_EQ(stopped_after(request(cut, settings), 3).outcome, Outcome::kStopped) << precision;
    auto again = request(cut, settings);
    again.resume = true;
    EXPECT_EQ(train(again).outcome, Outcome::kFinished) << precision;
    expect_same_end(whole, cut);
    EXPECT_LT(*read_metrics(run(whole) / "metrics.jsonl").back().val_loss, 5.6) << precision;
  }
}

TEST_F(Training, OverflowsAreSkippedAndTheLossScaleFollows) {
  // 2^40 times any gradient is beyond fp16: the scale falls until it fits.
  const auto summary = train(
      request("run", {"precision={weights: float16, initial_loss_scale: 1099511627776, "
                      "max_loss_scale: 1099511627776, backoff_factor: 0.0001, hysteresis: 1}"}));
  EXPECT_EQ(summary.outcome, Outcome::kFinished);
  const auto lines = read_metrics(run("run") / "metrics.jsonl");
  EXPECT_EQ(lines[1].loss_scale, 1099511627776);
  EXPECT_EQ(lines[1].skipped, 1);
  EXPECT_LT(*lines.back().loss_scale, 1099511627776);
  EXPECT_LT(*lines.back().skipped, kSteps);
  EXPECT_THAT(slurp(run("run") / "curves.svg"), HasSubstr("loss scale"));
}

TEST_F(Training, RefusesAFolderThatHoldsARun) {
  train(request("run"));
  EXPECT_THROW(train(request("run")), ConfigError);
}

TEST_F(Training, WrongInputsLeaveNothing) {
  EXPECT_THROW(train(request("run", {"dataset.path=/nonexistent"})), ConfigError);
  auto nothing_matches = request("run");
  nothing_matches.recipe.groups.push_back({.name_pattern = "no_such_parameter", .role = {}});
  EXPECT_THROW(train(nothing_matches), ConfigError);
  EXPECT_FALSE(fs::exists(run("run")));
}

TEST_F(Training, NanGradientStopsWithoutATrace) {
  train(request("never"));
  auto made = request("run");
  std::vector<std::pair<at::Tensor, at::Tensor>> weights;  // alive, and as they were
  made.after_backward = [&](std::int64_t step, const ParamSet& params) {
    if (step == 4)
      for (const Param& each : params)
        weights.emplace_back(each.value.detach(), each.value.detach().clone());
    if (step == 4)
      params.find("blocks.0.mlp.up.weight")
          ->value.grad()
          .view({-1})[3]
          .fill_(std::numeric_limits<float>::quiet_NaN());
  };
  try {
    train(made);
    FAIL();
  } catch (const NonFiniteError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "update 5: a gradient is not finite; the first parameter whose gradient is not finite is "
        "'blocks.0.mlp.up.weight'; the update was not made: no weight, moment or counter was "
        "touched; lower the "
        "learning rate or clip gradients; the last good checkpoint is '" +
            (run("run") / "checkpoints" / "step-4").string() + "'");
    EXPECT_EQ(error.exit_status(), 1);
  }
  EXPECT_THAT(slurp(run("run") / "log.txt"), HasSubstr("update 5: a gradient is not finite"));
  EXPECT_FALSE(weights.empty());
  for (const auto& [after, before] : weights) EXPECT_TRUE(after.equal(before));
  // The cause gone, the run goes on as if nothing had been.
  auto again = request("run");
  again.resume = true;
  train(again);
  expect_same_end("never", "run");
}

TEST_F(Training, LossThatOverflowsStops) {
  // A step this large makes the next loss overflow; no checkpoint of it may be left.
  try {
    train(request("run",
                  {"optimizer={_target_: sgd, lr: 1.0e+38}", "step_scheduler.ckpt_every_steps=1"}));
    FAIL();
  } catch (const NonFiniteError& error) {
    EXPECT_THAT(error.what(), HasSubstr("lower the learning rate or clip gradients; "));
  }
}

}  // namespace
}  // namespace steepest::train
