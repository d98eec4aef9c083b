#include "bench/harness.h"

#include <gtest/gtest.h>

#include <string>

namespace steepest::bench {
namespace {

TEST(Harness, TakesTurnsAndLeavesTheFirstRoundOut) {
  double time = 0;
  std::string order;
  int calls = 0;
  // Ours takes 5, 3, 4 seconds after a slow first call; the other always 2.
  const double ours[] = {100, 5, 3, 4};
  const auto timings = interleaved({{"ours",
                                     [&] {
                                       order += 'a';
                                       time += ours[calls++];
                                     }},
                                    {"other",
                                     [&] {
                                       order += 'b';
                                       time += 2;
                                     }}},
                                   0, 3, [&] { return time; });
  EXPECT_EQ(order, "abababab");
  EXPECT_EQ(timings[0].best, 3);
  EXPECT_EQ(timings[0].median, 4);
  EXPECT_EQ(timings[0].repetitions, 3);
  EXPECT_EQ(timings[1].best, 2);
}

TEST(Harness, GoesOnUntilTheTimeIsUp) {
  double time = 0;
  const auto timings = interleaved({{"ours", [&] { time += 1; }}}, 10, 2, [&] { return time; });
  EXPECT_EQ(timings[0].repetitions, 10);
}

TEST(Harness, PreparesBeforeEachRepetitionAndDoesNotTimeIt) {
  double time = 0;
  std::string order;
  const auto timings = interleaved({{"ours",
                                     [&] {
                                       order += 'r';
                                       time += 2;
                                     },
                                     [&] {
                                       order += 'p';
                                       time += 50;
                                     }}},
                                   0, 2, [&] { return time; });
  EXPECT_EQ(order, "prprpr");
  EXPECT_EQ(timings[0].best, 2);
  EXPECT_EQ(timings[0].median, 2);
}

}  // namespace
}  // namespace steepest::bench
