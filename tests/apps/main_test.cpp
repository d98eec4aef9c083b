#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/run_program.h"

namespace steepest::apps {
namespace {

using test::Finished;
using test::TemporaryFolder;
using testing::HasSubstr;
using testing::MatchesRegex;
namespace fs = std::filesystem;

Finished steepest(const std::string& arguments) {
  const TemporaryFolder folder;
  Finished finished =
      test::run_command(folder.path(), std::string(STEEPEST_PROGRAM) + " " + arguments);
  EXPECT_TRUE(fs::is_empty(folder.path())) << arguments;
  return finished;
}

TEST(Program, Version) {
  const auto finished = steepest("--version");
  EXPECT_EQ(finished.status, 0);
  EXPECT_THAT(finished.out, MatchesRegex("steepest [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Program, EveryHelpHasAnExample) {
  for (const std::string verb : {"", "train ", "replay ", "inspect "}) {
    const auto finished = steepest(verb + "--help");
    EXPECT_EQ(finished.status, 0) << verb;
    EXPECT_THAT(finished.out, HasSubstr("Example:\n  steepest ")) << verb;
    EXPECT_EQ(finished.err, "") << verb;
  }
}

TEST(Program, WrongArgumentsEndWithTwoAndOneLine) {
  const auto expect = [](const std::string& arguments, const std::string& error) {
    const auto finished = steepest(arguments);
    EXPECT_EQ(finished.status, 2) << arguments;
    EXPECT_EQ(finished.out, "") << arguments;
    EXPECT_EQ(finished.err, error + "\n") << arguments;
  };
  expect("trian recipes/gpt.yaml", "error: there is no verb 'trian'; the nearest is 'train'");
  expect("zzzzz", "error: there is no verb 'zzzzz'; steepest --help lists them");
  expect("", "error: A subcommand is required; steepest --help shows what there is");
  expect("train", "error: RECIPE is required; steepest train --help shows what there is");
  expect("train a.yaml --nonsense",
         "error: The following argument was not expected: --nonsense; steepest train --help shows "
         "what there is");
  expect("train a.yaml --threads 0",
         "error: --threads: Value 0 not in range 1 to 4096; steepest train --help shows what there "
         "is");
}

TEST(Program, ClosedPipesAndFullDisksAreCleanErrors) {
  const auto full = steepest("--help >/dev/full");
  EXPECT_EQ(full.status, 2);
  EXPECT_EQ(full.err, "error: standard output cannot be written\n");
}

}  // namespace
}  // namespace steepest::apps
