#include <gtest/gtest.h>

#include <string>

#include "tests/support/run_program.h"

namespace steepest::apps {
namespace {

// The functions write to the process's own streams: what they do is seen from outside.

TEST(Output, ReportThatCannotBePrintedIsAnError) {
  const test::TemporaryFolder folder;
  const auto finished =
      test::run_command(folder.path(), std::string(STEEPEST_PROGRAM) + " inspect '" +
                                           STEEPEST_SOURCE_DIR + "/no/such/checkpoint' >/dev/full");
  EXPECT_EQ(finished.status, 2);
  EXPECT_EQ(finished.err.rfind("error: ", 0), 0u);
  EXPECT_EQ(finished.err.find('\n'), finished.err.size() - 1) << "one problem, one line";
}

TEST(Output, EveryProblemIsALine) {
  const test::TemporaryFolder folder;
  test::write(folder.path() / "r.yaml", "modell: 1\noptimiser: 2\n");
  const auto finished =
      test::run_command(folder.path(), std::string(STEEPEST_PROGRAM) + " train r.yaml");
  EXPECT_EQ(finished.status, 2);
  std::size_t errors = 0, lines = 0;
  for (std::size_t at = 0; (at = finished.err.find('\n', at)) != std::string::npos; ++at) ++lines;
  for (std::size_t at = 0; (at = finished.err.find("error: ", at)) != std::string::npos; ++at)
    ++errors;
  EXPECT_EQ(errors, 2u) << finished.err;
  EXPECT_EQ(lines, 2u) << finished.err;
}

}  // namespace
}  // namespace steepest::apps
