#include "bench/others.h"

#include <gtest/gtest.h>

#include <ctime>

#include "bench/harness.h"

namespace steepest::bench {
namespace {

TEST(Others, AreWhatIsNeitherIdleNorWaitingNorOwn) {
  EXPECT_EQ(others_in("cpu  100 20 300 70000 5000 4 50 6 7 8\ncpu0 1 2", 100, 1.5), 3.3);
  EXPECT_EQ(others_in("", 100, 1.5), 0);
  EXPECT_EQ(others_in("intr 1 2 3 4 5 6 7 8", 100, 1.5), 0);
  EXPECT_EQ(others_in("cpu  1 2", 100, 1.5), 0);
}

// The machine counts in hundredths of a second.
TEST(Others, HaveNoMoreThanTheProcessorsThatWeLeave) {
  const double before = seconds_of_others(), start = now();
  const std::clock_t own = std::clock();
  EXPECT_GT(before, 0);
  volatile double sum = 0;
  while (now() - start < 0.3) sum = sum + 1;
  const double used = static_cast<double>(std::clock() - own) / CLOCKS_PER_SEC;
  const double others = seconds_of_others() - before, took = now() - start;
  EXPECT_GT(others, -0.1);
  EXPECT_LT(others, took * processors_here() - used + 0.1);
}

TEST(Others, ProcessorsAreCounted) { EXPECT_GE(processors_here(), 1); }

}  // namespace
}  // namespace steepest::bench
