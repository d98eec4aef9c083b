#include "steepest/train/progress.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace steepest::train {
namespace {

using std::chrono::milliseconds;

ProgressState state(std::int64_t step) {
  return {.step = step,
          .max_steps = 600,
          .loss = 1.9344,
          .lr = 0.0381,
          .grad_norm = 0.5166,
          .tokens_per_second = 17123,
          .seconds_left = 44.2};
}

/// What was written to the stream so far.
std::string contents(std::FILE* file) {
  std::fflush(file);
  std::rewind(file);
  std::string text;
  for (int byte; (byte = std::fgetc(file)) != EOF;) text += static_cast<char>(byte);
  return text;
}

TEST(Progress, LineHoldsEverything) {
  EXPECT_EQ(progress_text(state(120)),
            "step 120/600  loss 1.934  lr 0.0381  norm 0.52  17.1k tokens/s  0:45 left");
}

TEST(Progress, BarFillsWithTheSteps) {
  EXPECT_EQ(progress_bar(state(150), 0).substr(0, 23), "[=====               ] ");
  EXPECT_EQ(progress_bar(state(600), 0).substr(0, 23), "[====================] ");
  EXPECT_EQ(progress_bar(state(0), 0).substr(0, 23), "[                    ] ");
  EXPECT_EQ(progress_bar(state(150), 40).size(), 39u);
}

TEST(Progress, Durations) {
  EXPECT_EQ(duration_text(0), "0:00");
  EXPECT_EQ(duration_text(59.2), "1:00");
  EXPECT_EQ(duration_text(723), "12:03");
  EXPECT_EQ(duration_text(3723), "1:02:03");
  EXPECT_EQ(duration_text(1.0 / 0.0), "-:--");
}

TEST(Progress, PlainLinesComeAtTheirIntervalAndAtTheEnd) {
  std::FILE* out = std::tmpfile();
  Progress progress(out, false, std::chrono::hours(1));
  progress.update(state(1));  // the first is shown at once
  progress.update(state(2));  // too early
  progress.note("saved");
  progress.update(state(600));  // the last always
  progress.finish();
  EXPECT_EQ(contents(out),
            progress_text(state(1)) + "\nsaved\n" + progress_text(state(600)) + "\n");
  std::fclose(out);
}

TEST(Progress, BarIsRedrawnInPlaceAndGivesWayToNotes) {
  std::FILE* out = std::tmpfile();
  Progress progress(out, true, milliseconds(0));
  progress.update(state(1));
  progress.note("saved");
  progress.update(state(2));
  progress.finish();
  progress.finish();
  const std::string clear = "\r\x1b[K";
  EXPECT_EQ(contents(out), clear + progress_bar(state(1), 80) + clear + "saved\n" + clear +
                               progress_bar(state(2), 80) + "\n");
  std::fclose(out);
}

TEST(Progress, GivesUpAStreamThatCannotBeWritten) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  Progress progress(full, false, milliseconds(0));
  progress.update(state(1));
  progress.note("still here");
  std::fclose(full);
  progress.update(state(2));  // must not touch the closed stream
  Progress silent(nullptr, true, milliseconds(0));
  silent.update(state(1));
  silent.note("nothing");
  silent.finish();
}

}  // namespace
}  // namespace steepest::train
