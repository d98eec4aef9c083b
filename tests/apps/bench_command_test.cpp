#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/run_program.h"

namespace steepest::apps {
namespace {

using test::run_command;
using test::TemporaryFolder;
using testing::HasSubstr;
using testing::StartsWith;

test::Finished bench(const TemporaryFolder& folder, const std::string& arguments) {
  return run_command(folder.path(), std::string(STEEPEST_PROGRAM) + " bench " + arguments);
}

TEST(BenchCommand, ListsItsRows) {
  const TemporaryFolder folder;
  const auto list = bench(folder, "--list");
  EXPECT_EQ(list.status, 0) << list.err;
  EXPECT_THAT(list.out, StartsWith("adamw-fp32-large           AdamW, one tensor of 64M fp32\n"));
  EXPECT_THAT(list.out, HasSubstr("\nmuon-gpt2                  Muon, GPT-2 small's 48 hidden "
                                  "matrices\n"));
  EXPECT_EQ(list.err, "");
}

TEST(BenchCommand, AQuickRunGivesATableAndAFile) {
  const TemporaryFolder folder;
  const auto quick = bench(folder, "norm-gpt2 adamw-fp32-large --quick --threads 2 --json b.json");
  EXPECT_EQ(quick.status, 0) << quick.err;
  EXPECT_THAT(quick.out, HasSubstr("these numbers prove nothing"));
  EXPECT_THAT(quick.out, HasSubstr("\nnorm-gpt2                   2 "));
  EXPECT_THAT(quick.err, HasSubstr("bench: adamw-fp32-large, threads: 2\n"));
  const auto json = nlohmann::json::parse(test::slurp(folder.path() / "b.json"));
  EXPECT_EQ(json["rows"].size(), 2u);
  const auto& row = json["rows"][0];
  EXPECT_EQ(row["name"], "adamw-fp32-large");
  EXPECT_EQ(row["threads"], 2);
  for (const char* key : {"ms", "of_limit", "vs_libtorch", "vs_aten"})
    EXPECT_GT(row[key].get<double>(), 0) << key;
  EXPECT_EQ(json["rows"][1]["vs_libtorch"], nullptr);
  EXPECT_TRUE(json["limits"].contains("2T"));
  EXPECT_FALSE(json["cpu"].get<std::string>().empty());
}

TEST(BenchCommand, RefusesWhatItCannotDoBeforeItRuns) {
  const TemporaryFolder folder;
  const auto unknown = bench(folder, "adamw-fp32-gpt3");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_EQ(unknown.err,
            "error: there is no row 'adamw-fp32-gpt3'; did you mean 'adamw-fp32-gpt2'?\n");
  const auto nowhere = bench(folder, "norm-gpt2 --quick --json nowhere/b.json");
  EXPECT_EQ(nowhere.status, 2);
  const std::string there = std::filesystem::canonical(folder.path()).string();
  EXPECT_EQ(nowhere.err, "error: there is no folder " + there +
                             "/nowhere for nowhere/b.json; make it, or give --json another file\n");
  EXPECT_EQ(bench(folder, "--threads 0").status, 2);
  EXPECT_EQ(bench(folder, "--threads 1,x").status, 2);
}

}  // namespace
}  // namespace steepest::apps
