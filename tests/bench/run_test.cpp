#include "bench/run.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "steepest/base/error.h"
#include "tests/support/errors.h"

namespace steepest::bench {
namespace {

TEST(Rows, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Row& each : rows()) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
    EXPECT_FALSE(each.summary.empty()) << each.name;
    EXPECT_LT(each.name.size(), 27u) << "the list and the table have room for 26";
  }
  for (const char* name :
       {"adamw-fp32-large", "adamw-fp32-gpt2", "step-gpt2", "norm-gpt2", "muon-gpt2"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(RunBench, AnUnknownRowGetsTheNearestAndNothingRuns) {
  std::vector<std::string> told;
  const BenchOptions options{.quick = true,
                             .progress = [&](std::string_view what) { told.emplace_back(what); }};
  EXPECT_ERROR(ConfigError, run_bench({"norm-gpt2", "adamw-fp32-gpt"}, options),
               "there is no row 'adamw-fp32-gpt'; did you mean 'adamw-fp32-gpt2'?");
  EXPECT_ERROR(ConfigError, run_bench({"xyz"}, options),
               "there is no row 'xyz'; steepest bench --list names them");
  EXPECT_TRUE(told.empty());
}

TEST(RunBench, RunsWhatIsAskedForInTheTablesOrder) {
  std::vector<std::string> told;
  at::set_num_threads(2);
  const BenchReport report =
      run_bench({"norm-gpt2", "lion-fp32-gpt2"},
                {.threads = {1, 2}, .quick = true, .progress = [&](std::string_view what) {
                   told.emplace_back(what);
                 }});
  EXPECT_THAT(told, testing::ElementsAre("the machine's limits", "lion-fp32-gpt2, threads: 1",
                                         "lion-fp32-gpt2, threads: 2", "norm-gpt2, threads: 1",
                                         "norm-gpt2, threads: 2"));
  ASSERT_EQ(report.rows.size(), 4u);
  EXPECT_EQ(report.rows[1].name, "lion-fp32-gpt2");
  EXPECT_EQ(report.rows[1].threads, 2);
  EXPECT_EQ(report.limits.size(), 2u);
  for (const char* name :
       {"read_gb_s", "r3w2_gb_s", "r4w3_gb_s", "mm_fp32_gflop_s", "mm_bf16_gflop_s"})
    EXPECT_GT(report.limits["2T"][name].get<double>(), 0) << name;
  EXPECT_TRUE(report.quick);
  EXPECT_FALSE(report.cpu.empty());
  EXPECT_EQ(at::get_num_threads(), 2);
}

TEST(RunBench, EveryRowRunsAndSaysWhatItMoves) {
  const BenchReport report = run_bench({}, {.threads = {1}, .quick = true});
  ASSERT_EQ(report.rows.size(), rows().size());
  for (const BenchRow& each : report.rows) {
    EXPECT_GT(each.ms, 0) << each.name;
    EXPECT_TRUE(each.bytes > 0 || each.flops > 0 || each.note.find("tokens/s") != std::string::npos)
        << each.name;
    EXPECT_TRUE(each.vs_libtorch || each.vs_aten || each.vs_fp32) << each.name;
  }
  EXPECT_EQ(at::get_num_threads(), 2);
}

}  // namespace
}  // namespace steepest::bench
