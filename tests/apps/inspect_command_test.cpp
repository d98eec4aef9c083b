#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "steepest/checkpoint/checkpoint.h"
#include "tests/support/run_program.h"

namespace steepest::apps {
namespace {

using test::run_command;
using test::TemporaryFolder;
using testing::HasSubstr;

TEST(InspectCommand, TextJsonAndVerify) {
  const TemporaryFolder folder;
  const std::array<float, 2> values = {1, 2};
  save_checkpoint(folder.path(), {.step = 3,
                                  .pieces = {{whole_piece("w", "param", Dtype::kFloat32, {2}),
                                              std::as_bytes(std::span(values))}}});
  const auto inspect = [&](const std::string& arguments) {
    return run_command(folder.path(), std::string(STEEPEST_PROGRAM) + " inspect " + arguments);
  };
  const auto text = inspect("step-3");
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("step 3, 1 pieces, 8 bytes of values; checksums not verified"));
  const auto json = inspect("step-3 --json --verify");
  EXPECT_EQ(nlohmann::json::parse(json.out)["verified"], true);

  std::string bytes = test::slurp(folder.path() / "step-3" / "weights.safetensors");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  test::write(folder.path() / "step-3" / "weights.safetensors", bytes);
  const auto altered = inspect("step-3 --verify");
  EXPECT_EQ(altered.status, 2);
  EXPECT_EQ(altered.out, "");
  EXPECT_EQ(altered.err.rfind("error: ", 0), 0u);
  EXPECT_THAT(altered.err, HasSubstr("weights.safetensors"));

  const auto missing = inspect("step-4");
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("step-4"));
}

}  // namespace
}  // namespace steepest::apps
