#include "steepest/train/signals.h"

#include <gtest/gtest.h>

#include <csignal>

namespace steepest::train {
namespace {

TEST(StopSignals, NotesInsteadOfEnding) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const StopSignals signals;
    EXPECT_EQ(signals.received(), 0);
    std::raise(signal);
    EXPECT_EQ(signals.received(), signal);
  }
}

TEST(StopSignals, SecondSignalEndsAtOnce) {
  EXPECT_EXIT(
      {
        const StopSignals signals;
        std::raise(SIGTERM);
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignals, EarlierHandlersComeBack) {
  std::signal(SIGTERM, SIG_IGN);
  { const StopSignals signals; }
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), SIG_IGN);
}

TEST(StopSignals, Names) {
  EXPECT_STREQ(signal_name(SIGINT), "SIGINT");
  EXPECT_STREQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_STREQ(signal_name(SIGHUP), "another signal");
}

}  // namespace
}  // namespace steepest::train
