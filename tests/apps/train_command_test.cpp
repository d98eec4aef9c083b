#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "tests/support/run_program.h"

namespace steepest::apps {
namespace {

using test::Finished;
using test::run_command;
using test::slurp;
using test::TemporaryFolder;
using test::write;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class TrainCommand : public testing::Test {
 protected:
  TrainCommand() {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "line " + std::to_string(i * i) + " of a small text\n";
    write(folder() / "data" / "text.txt", text);
    write(folder() / "recipes" / "tiny.yaml",
          "model: {layers: 1, width: 16, heads: 2, context: 16}\n"
          "dataset: {path: data/text.txt, validation_windows: 8}\n"
          "optimizer: {_target_: torch.optim.AdamW, lr: 0.01}\n"
          "step_scheduler: {global_batch_size: 4, max_steps: 4, val_every_steps: 2, "
          "ckpt_every_steps: 2}\n");
  }
  const fs::path& folder() const { return folder_.path(); }
  Finished train(const std::string& arguments) const {
    return run_command(folder(), std::string(STEEPEST_PROGRAM) + " train --threads 1 " + arguments);
  }
  /// Expects status 2, exactly this on standard error, and nothing written.
  void expect_refused(const std::string& settings, const std::string& error) const {
    const auto finished = train("recipes/tiny.yaml " + settings);
    EXPECT_EQ(finished.status, 2) << settings;
    EXPECT_EQ(finished.out, "") << settings;
    EXPECT_THAT(finished.err, HasSubstr(error)) << settings;
    EXPECT_EQ(finished.err.rfind("error: ", 0), 0u) << settings;
    EXPECT_FALSE(fs::exists(folder() / "runs")) << settings;
  }

  TemporaryFolder folder_;
};

TEST_F(TrainCommand, TrainsIntoRunsAndTheRecipesName) {
  const auto finished = train("recipes/tiny.yaml");
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("runs/tiny\n"));
  EXPECT_THAT(finished.out, HasSubstr("last validation loss"));
  EXPECT_THAT(finished.out, HasSubstr("A sample of the model:\n"));
  EXPECT_THAT(finished.err, HasSubstr("step 4/4  loss "));
  EXPECT_THAT(finished.err, Not(HasSubstr("\r")));
  EXPECT_TRUE(fs::exists(folder() / "runs" / "tiny" / "checkpoints" / "step-4" / "manifest.json"));
  const auto again = train("recipes/tiny.yaml");
  EXPECT_EQ(again.status, 2);
  EXPECT_EQ(again.err,
            "error: 'runs/tiny' holds a run already; a second run would overwrite it; go on with "
            "--resume, or give "
            "another folder with --out DIR\n");
  const auto resumed = train("recipes/tiny.yaml --resume");
  EXPECT_EQ(resumed.status, 0);
  EXPECT_THAT(resumed.out, HasSubstr("4 of 4: finished before, nothing to do"));
}

TEST_F(TrainCommand, OutSettingsJsonAndAnotherWorkingFolder) {
  fs::create_directory(folder() / "elsewhere");
  const auto finished = run_command(
      folder() / "elsewhere", std::string(STEEPEST_PROGRAM) +
                                  " train --threads 1 ../recipes/tiny.yaml --json --out '../a run' "
                                  "--set step_scheduler.max_steps=2 --set seed=3");
  EXPECT_EQ(finished.status, 0) << finished.err;
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json["step"], 2);
  EXPECT_EQ(json["folder"], "../a run");
  EXPECT_THAT(slurp(folder() / "a run" / "recipe.yaml"), HasSubstr("seed: 3"));
}

TEST_F(TrainCommand, BadInputsAreRefusedByTheirNames) {
  expect_refused("--set dataset.path=missing.txt",
                 "dataset.path: there is no file or folder 'missing.txt'");
  write(folder() / "empty.txt", "");
  expect_refused("--set dataset.path=empty.txt", "dataset.path: 'empty.txt' is empty");
  write(folder() / "short.txt", "short");
  expect_refused("--set dataset.path=short.txt", "dataset.path: 'short.txt' is too short");
  expect_refused("--set optimizer.lrr=0.1", "lr");
  expect_refused("--set modell.layers=2", "model");
  expect_refused("--set model.layers=two", "model.layers");
  expect_refused("--set optimizer.lr=-1", "optimizer.lr");
  expect_refused("--set optimizer.lr=.nan", "optimizer.lr");
  expect_refused("--set step_scheduler.max_steps=0", "step_scheduler.max_steps");
  expect_refused("--set model.heads=3", "heads");
  expect_refused("--set step_scheduler.local_batch_size=3", "local_batch_size");
  expect_refused("--set seed", "seed");
  expect_refused("--set =3", "--set =3 cannot be applied; there is no key before '='");
  expect_refused("--set seed..x=3", "a part of the path is empty");
  expect_refused("--set seed=[1", "--set seed");
  expect_refused("--set dataset.path=/dev/zero", "'/dev/zero' is neither a file nor a folder");
  expect_refused("--set model.width=1048576", "lower model.width or model.layers");
  expect_refused("--set step_scheduler.global_batch_size=1000000000000",
                 "lower step_scheduler.local_batch_size");
  expect_refused("--set model.context=1000000000000", "model.context");
  expect_refused("--out ''", "--out is empty; a run takes a folder of its own; name one");
  expect_refused("--compare runs/nothing", "--compare: there is no folder 'runs/nothing'");
}

TEST_F(TrainCommand, EveryProblemHasALineOfItsOwn) {
  const auto finished = train("recipes/tiny.yaml --set optimizer.lr=-1 --set model.heads=3");
  EXPECT_EQ(finished.status, 2);
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = finished.err.find("error: ", at)) != std::string::npos; ++at)
    ++lines;
  EXPECT_EQ(lines, 2u) << finished.err;
}

TEST_F(TrainCommand, MissingAndBrokenRecipes) {
  const auto missing = train("recipes/tyni.yaml");
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("recipes/tyni.yaml"));
  write(folder() / "broken.yaml", "model: {layers: 1\n");
  const auto broken = train("broken.yaml");
  EXPECT_EQ(broken.status, 2);
  EXPECT_THAT(broken.err, HasSubstr("broken.yaml"));
  EXPECT_FALSE(fs::exists(folder() / "runs"));
}

TEST_F(TrainCommand, UnwritableFoldersAreCleanErrors) {
  const auto finished = train("recipes/tiny.yaml --out /proc/nothing/here");
  EXPECT_EQ(finished.status, 2);
  EXPECT_THAT(finished.err, HasSubstr("error: "));
  EXPECT_THAT(finished.err, HasSubstr("/proc/nothing"));
  const auto file = train("recipes/tiny.yaml --out data/text.txt");
  EXPECT_EQ(file.status, 2);
  EXPECT_THAT(file.err, HasSubstr("'data/text.txt' is not a folder"));
}

TEST_F(TrainCommand, SignalsWhileEvaluatingSaveFirst) {
  for (const auto& [signal, status] : {std::pair("TERM", 143), std::pair("HUP", 129)}) {
    const std::string out = std::string("runs/") + signal;
    const auto stopped = run_command(
        folder(),
        std::string(STEEPEST_PROGRAM) + " train --threads 1 recipes/tiny.yaml --out " + out +
            " --set dataset.validation_windows=20000 & pid=$!; until grep -q 'held out' " + out +
            "/log.txt 2>/dev/null; do sleep 0.02; done; kill -" + signal + " $pid; wait $pid");
    EXPECT_EQ(stopped.status, status);
    EXPECT_THAT(stopped.err,
                HasSubstr(std::string("stopped by SIG") + signal + " after step 0; saved as"));
    const auto inspected =
        run_command(folder(), std::string(STEEPEST_PROGRAM) + " inspect --verify " + out +
                                  "/checkpoints/step-0");
    EXPECT_EQ(inspected.status, 0) << inspected.err;
  }
}

TEST_F(TrainCommand, KilledAndResumedLeavesEveryStepOnce) {
  const std::string command =
      std::string(STEEPEST_PROGRAM) +
      " train --threads 1 recipes/tiny.yaml --set step_scheduler.log_every_steps=1 --set "
      "step_scheduler.ckpt_every_steps=7 --set step_scheduler.max_steps=";
  run_command(folder(), command +
                            "1000000 & pid=$!; until grep -q '\"step\":12,' "
                            "runs/tiny/metrics.jsonl 2>/dev/null; do sleep 0.02; done; kill -KILL "
                            "$pid; wait $pid");
  const auto resumed = run_command(folder(), command + "400 --resume");
  // Where the kill came later than step 400, all is done.
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  std::istringstream lines(slurp(folder() / "runs" / "tiny" / "metrics.jsonl"));
  std::int64_t step = 0;
  for (std::string line; std::getline(lines, line); ++step)
    EXPECT_EQ(nlohmann::json::parse(line)["step"], step);
  EXPECT_GE(step, 401);
  EXPECT_TRUE(fs::exists(folder() / "runs" / "tiny" / "curves.png"));
}

TEST_F(TrainCommand, HelpsExampleWorks) {
  const std::string help =
      run_command(folder(), std::string(STEEPEST_PROGRAM) + " train --help").out;
  const std::string before = "Example:\n  steepest train ";
  ASSERT_NE(help.find(before), std::string::npos);
  const auto start = help.find(before) + before.size();
  const std::string arguments = help.substr(start, help.find('\n', start) - start);
  fs::copy(fs::path(STEEPEST_SOURCE_DIR) / "recipes" / "gpt.yaml", folder() / "recipes");
  const auto finished = train(arguments +
                              " --set model='{layers: 1, width: 16, heads: 2, context: 16}' --set "
                              "dataset.path=data/text.txt");
  EXPECT_EQ(finished.status, 0) << arguments << "\n" << finished.err;
}

TEST_F(TrainCommand, GoesOnWithoutAReader) {
  const auto finished = run_command(
      folder(), "{ " + std::string(STEEPEST_PROGRAM) +
                    " train --threads 1 recipes/tiny.yaml 2>&1; echo $? >status; } | true");
  EXPECT_TRUE(fs::exists(folder() / "runs" / "tiny" / "checkpoints" / "step-4" / "manifest.json"));
  EXPECT_EQ(slurp(folder() / "status"), "2\n");  // the closing table could not be printed
  EXPECT_EQ(finished.status, 0);
}

TEST_F(TrainCommand, TheLastSettingOfAKeyHolds) {
  EXPECT_EQ(train("recipes/tiny.yaml --set seed=3 --set seed=4").status, 0);
  EXPECT_THAT(slurp(folder() / "runs" / "tiny" / "recipe.yaml"), HasSubstr("seed: 4\n"));
}

TEST_F(TrainCommand, ADiskThatTakesNoMoreLeavesTheLastCheckpoint) {
  const std::string more = "recipes/tiny.yaml --resume --set step_scheduler.max_steps=";
  ASSERT_EQ(train(more + "2").status, 0);
  // Files of 8 KiB and no more: the weights do not fit.
  const auto full = run_command(folder(), "ulimit -f 16; " + std::string(STEEPEST_PROGRAM) +
                                              " train --threads 1 " + more + "4");
  EXPECT_EQ(full.status, 2);
  EXPECT_THAT(full.err, HasSubstr("error: writing runs/tiny/checkpoints/.tmp-step-4/"));
  EXPECT_THAT(full.err, HasSubstr("failed: File too large"));
  EXPECT_THAT(full.err, HasSubstr("the last good checkpoint is 'runs/tiny/checkpoints/step-2', "
                                  "from which --resume goes on\n"));
  EXPECT_FALSE(fs::exists(folder() / "runs/tiny/checkpoints/.tmp-step-4"));
  EXPECT_EQ(run_command(folder(), std::string(STEEPEST_PROGRAM) +
                                      " inspect --verify runs/tiny/checkpoints/step-2")
                .status,
            0);
  const auto resumed = train(more + "4");
  EXPECT_EQ(resumed.status, 0) << resumed.err;
}

TEST_F(TrainCommand, NanEndsWithOne) {
  const auto finished = train(
      "recipes/tiny.yaml --set optimizer._target_=sgd --set optimizer.lr=1e38 --set "
      "step_scheduler.max_steps=20");
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.err, HasSubstr("lower the learning rate or clip gradients"));
}

TEST_F(TrainCommand, TermSavesAndEndsWith143ThenResumes) {
  const std::string command =
      std::string(STEEPEST_PROGRAM) +
      " train --threads 1 recipes/tiny.yaml --set step_scheduler.max_steps=1000000 --set "
      "step_scheduler.ckpt_every_steps=1000000 --set step_scheduler.log_every_steps=1";
  const auto stopped =
      run_command(folder(), command +
                                " & pid=$!; until grep -q '\"step\":2,' runs/tiny/metrics.jsonl "
                                "2>/dev/null; do sleep 0.05; "
                                "done; kill -TERM $pid; wait $pid");
  EXPECT_EQ(stopped.status, 143);
  EXPECT_THAT(stopped.err, HasSubstr("stopped by SIGTERM after step "));
  EXPECT_THAT(stopped.err, HasSubstr("go on with --resume"));
  EXPECT_THAT(stopped.out, HasSubstr(", stopped by SIGTERM"));
  const auto interrupted = run_command(
      folder(),
      command +
          " --resume & pid=$!; until grep -q resumed runs/tiny/log.txt; do sleep 0.05; done; "
          "kill -INT $pid; wait $pid");
  // A shell without job control starts background commands with SIGINT ignored; our handler takes
  // it nevertheless.
  EXPECT_EQ(interrupted.status, 130) << interrupted.err;
}

}  // namespace
}  // namespace steepest::apps
