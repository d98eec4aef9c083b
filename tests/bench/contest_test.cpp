#include "bench/contest.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace steepest::bench {
namespace {

/// Contenders that take given seconds, over and over, of a clock that they move themselves.
struct Stage {
  double time = 0;
  double others = 0;  ///< processors that other programs keep busy
  int processors = 2;

  Contender takes(std::string name, std::vector<double> seconds) {
    auto calls = std::make_shared<std::size_t>(0);
    return {std::move(name), [this, calls, seconds = std::move(seconds)] {
              time += seconds[(*calls)++ % seconds.size()];
            }};
  }
  BenchRow hold(const Contest& contest) {
    return bench::hold("row", 2, contest, {.seconds = 0, .at_least = 4},
                       {.wall = [this] { return time; },
                        .others = [this] { return others * time; },
                        .processors = processors});
  }
};

TEST(Contest, RatiosAreOfTheBestAndAboveOneWhereOursIsFaster) {
  Stage stage;
  const BenchRow row =
      stage.hold({.contenders = {stage.takes("ours", {0.5}), stage.takes("limit", {0.25}),
                                 stage.takes("libtorch", {2}), stage.takes("aten", {0.5, 0.55}),
                                 stage.takes("plain", {1}), stage.takes("fp32", {0.75})},
                  .limit_share = 0.5,
                  .bytes = 28,
                  .flops = 3,
                  .note = "a note"});
  EXPECT_EQ(row.name, "row");
  EXPECT_EQ(row.threads, 2);
  EXPECT_EQ(row.ms, 500);
  EXPECT_EQ(row.repetitions, 4);
  EXPECT_EQ(row.bytes, 28);
  EXPECT_EQ(row.flops, 3);
  // The limit took a quarter of a second for twice our bytes.
  EXPECT_EQ(row.of_limit, 0.25);
  EXPECT_EQ(row.vs_libtorch, 4);
  EXPECT_EQ(row.vs_aten, 1);
  EXPECT_EQ(row.vs_plain, 2);
  EXPECT_EQ(row.vs_fp32, 1.5);
  EXPECT_FALSE(row.disturbed);
  EXPECT_EQ(row.note, "a note");
}

TEST(Contest, WhatIsNotThereHasNoRatio) {
  Stage stage;
  const BenchRow row = stage.hold({.contenders = {stage.takes("ours", {1})}});
  EXPECT_FALSE(row.of_limit || row.vs_libtorch || row.vs_aten || row.vs_plain || row.vs_fp32);
  EXPECT_EQ(row.note, "");
}

TEST(Contest, MarksARowWhoseOpponentWasDisturbed) {
  Stage stage;
  // Every second repetition takes half as long again: the median of 4 is the third.
  const BenchRow row =
      stage.hold({.contenders = {stage.takes("ours", {1}), stage.takes("aten", {1, 1.5})}});
  EXPECT_EQ(row.vs_aten, 1);
  EXPECT_TRUE(row.disturbed);
}

// All contenders slow alike keep to their medians: only the processors tell.
TEST(Contest, MarksARowBesideWhichOthersWorked) {
  Stage stage;
  stage.others = 0.11;
  BenchRow row = stage.hold({.contenders = {stage.takes("ours", {1}), stage.takes("aten", {64})}});
  EXPECT_TRUE(row.disturbed);
  EXPECT_NEAR(row.others, 0.11, 1e-12);
  stage.others = 0.09;
  row = stage.hold({.contenders = {stage.takes("ours", {1}), stage.takes("aten", {64})}});
  EXPECT_FALSE(row.disturbed);
  // A large machine always has a little else to do.
  stage.others = 1.2;
  stage.processors = 64;
  EXPECT_FALSE(stage.hold({.contenders = {stage.takes("ours", {1})}}).disturbed);
}

TEST(Contest, RunsAsOftenAsARowNeeds) {
  Stage stage;
  EXPECT_EQ(stage.hold({.contenders = {stage.takes("ours", {1})}}).repetitions, 4);
  EXPECT_EQ(stage.hold({.contenders = {stage.takes("ours", {1})}, .at_least = 9}).repetitions, 9);
}

TEST(Contest, TellsTokensASecondOfBoth) {
  Stage stage;
  const BenchRow row = stage.hold(
      {.contenders = {stage.takes("ours", {0.5}), stage.takes("libtorch", {1})}, .tokens = 2048});
  EXPECT_EQ(row.note, "4096 tokens/s; libtorch 2048");
}

}  // namespace
}  // namespace steepest::bench
