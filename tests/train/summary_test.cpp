#include "steepest/train/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace steepest::train {
namespace {

using testing::HasSubstr;
using testing::Not;

TrainSummary example() {
  return {.outcome = Outcome::kFinished,
          .folder = "runs/gpt",
          .parameters = 869504,
          .step = 600,
          .max_steps = 600,
          .tokens = 1228800,
          .tokens_here = 1000,
          .best_val_loss = 1.4391,
          .last_val_loss = 1.44,
          .best_val_step = 550,
          .times = {.data = 0.5,
                    .forward = 2,
                    .backward = 6,
                    .optimizer = 1.5,
                    .evaluation = 3,
                    .checkpoint = 4},
          .seconds = 20,
          .peak_memory_bytes = 512 << 20,
          .sample = "And it came\n"};
}

TEST(Summary, TableForPeople) {
  const std::string text = example().text();
  EXPECT_THAT(text, HasSubstr("run                     runs/gpt\n"));
  EXPECT_THAT(text, HasSubstr("steps                   600 of 600\n"));
  EXPECT_THAT(text, HasSubstr("best validation loss    1.4391 nats a byte, at step 550\n"));
  EXPECT_THAT(text, HasSubstr("last validation loss    1.4400 nats a byte\n"));
  EXPECT_THAT(text, HasSubstr("tokens                  1228800 (100 a second while training)\n"));
  EXPECT_THAT(text, HasSubstr("time, backward              6.00 s   60.0 % of training\n"));
  EXPECT_THAT(text, HasSubstr("time, evaluation            3.00 s\n"));
  EXPECT_THAT(text, HasSubstr("peak memory             512 MiB\n"));
  EXPECT_THAT(text, HasSubstr("A sample of the model:\nAnd it came\n"));
}

TEST(Summary, Json) {
  const Json json = example().to_json();
  EXPECT_EQ(json["outcome"], "finished");
  EXPECT_EQ(json["best_val_loss"], 1.4391);
  EXPECT_EQ(json["best_val_step"], 550);
  EXPECT_EQ(json["last_val_loss"], 1.44);
  EXPECT_EQ(json["tokens_per_second"], 100.0);
  EXPECT_EQ(json["times"]["optimizer"], 1.5);
  EXPECT_EQ(json["peak_memory_bytes"], 512 << 20);
  EXPECT_FALSE(json.contains("signal"));
}

TEST(Summary, ExitStatusAndTextFollowTheOutcome) {
  TrainSummary summary = example();
  EXPECT_EQ(summary.exit_status(), 0);
  summary.outcome = Outcome::kStopped;
  summary.signal = SIGTERM;
  EXPECT_EQ(summary.exit_status(), 143);
  EXPECT_THAT(summary.text(), HasSubstr("600 of 600, stopped by SIGTERM\n"));
  summary.signal = SIGINT;
  EXPECT_EQ(summary.exit_status(), 130);
  summary = {.outcome = Outcome::kAlreadyFinished, .step = 5, .max_steps = 5};
  EXPECT_EQ(summary.exit_status(), 0);
  EXPECT_THAT(summary.text(), HasSubstr("5 of 5: finished before, nothing to do"));
  EXPECT_THAT(summary.text(), Not(HasSubstr("memory")));
}

TEST(Summary, PeakMemoryIsInBytes) { EXPECT_GT(peak_memory_bytes(), std::int64_t{1} << 20); }

}  // namespace
}  // namespace steepest::train
