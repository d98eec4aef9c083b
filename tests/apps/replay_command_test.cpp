#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/run_program.h"

namespace steepest::apps {
namespace {

using test::Finished;
using test::run_command;
using test::TemporaryFolder;
using test::write;
using testing::HasSubstr;

Finished replay(const TemporaryFolder& folder, const std::string& arguments) {
  return run_command(folder.path(), std::string(STEEPEST_PROGRAM) + " replay " + arguments);
}

TEST(ReplayCommand, RunsRecordedFiles) {
  const TemporaryFolder folder;
  const std::string golden = std::string("'") + STEEPEST_SOURCE_DIR + "/tests/golden'";
  const auto text = replay(folder, golden);
  EXPECT_EQ(text.status, 0) << text.out << text.err;
  EXPECT_EQ(nlohmann::json::parse(replay(folder, golden + " --json").out).is_object(), true);
}

TEST(ReplayCommand, FileThatCannotBeRunCountsAsFailed) {
  const TemporaryFolder folder;
  write(folder.path() / "broken.safetensors", "not a record");
  const auto finished = replay(folder, "broken.safetensors");
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.out, HasSubstr("broken.safetensors"));
}

TEST(ReplayCommand, MissingPathsAreWrongArguments) {
  const TemporaryFolder folder;
  const auto missing = replay(folder, "nothing.safetensors");
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("nothing.safetensors"));
  EXPECT_EQ(replay(folder, ".").status, 2);
}

}  // namespace
}  // namespace steepest::apps
