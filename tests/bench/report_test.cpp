#include "bench/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steepest::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

BenchReport example() {
  BenchReport report{.cpu = "A Processor", .isa = "our kernels AVX3, ATen AVX512"};
  report.limits["1T"] = {{"r4w3_gb_s", 25.5}};
  report.rows = {{.name = "adamw",
                  .threads = 1,
                  .ms = 134.5,
                  .median_ms = 140,
                  .repetitions = 12,
                  .bytes = 3.48e9,
                  .of_limit = 0.97,
                  .vs_libtorch = 8.1,
                  .vs_aten = 1},
                 {.name = "muon",
                  .threads = 2,
                  .ms = 5,
                  .flops = 1.52e12,
                  .others = 0.84,
                  .disturbed = true,
                  .note = "a note"}};
  return report;
}

TEST(Report, JsonHasTheKeysThatScriptsReadAndNullWhereNothingIsCompared) {
  const Json json = example().json();
  EXPECT_EQ(json["cpu"], "A Processor");
  EXPECT_EQ(json["limits"]["1T"]["r4w3_gb_s"], 25.5);
  EXPECT_EQ(json["quick"], false);
  ASSERT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(json["rows"][0],
            Json::parse(R"({"name": "adamw", "threads": 1, "ms": 134.5, "median_ms": 140.0,
                            "repetitions": 12, "bytes": 3.48e9, "flops": 0.0, "of_limit": 0.97,
                            "vs_libtorch": 8.1, "vs_aten": 1.0, "vs_plain": null, "vs_fp32": null,
                            "others": 0.0, "disturbed": false, "note": ""})"));
  EXPECT_EQ(json["rows"][1]["of_limit"], nullptr);
  EXPECT_EQ(json["rows"][1]["disturbed"], true);
}

TEST(Report, TextIsATable) {
  EXPECT_EQ(example().text(),
            "A Processor; our kernels AVX3, ATen AVX512\n"
            "limits 1T:  r4w3_gb_s 25.5\n"
            "\n"
            "row                         T         ms     median        work  of limit  "
            "vs libtorch  vs ATen  vs plain  vs fp32\n"
            "adamw                       1    134.500    140.000     3.48 GB      0.97         "
            "8.10     1.00         -        -\n"
            "muon                        2      5.000      0.000  1.52 TFLOP         -            "
            "-        -         -        -  a note, disturbed "
            "(other programs used 0.8 processors)\n");
}

TEST(Report, SaysThatQuickNumbersAreOfTheCache) {
  BenchReport report = example();
  EXPECT_THAT(report.text(), Not(HasSubstr("quick")));
  report.quick = true;
  EXPECT_THAT(
      report.text(),
      HasSubstr("quick: small sizes that stay in the processor's cache; these numbers prove "
                "nothing\n"));
  EXPECT_EQ(report.json()["quick"], true);
}

}  // namespace
}  // namespace steepest::bench
