#include "steepest/schedule/weight_decay_schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <vector>

#include "steepest/base/files.h"
#include "steepest/base/json_fields.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

// Half way between 0.1 and 0.3, and a quarter: 1/4 of the way linear, (1 - cos(pi/4)) / 2 cosine.
TEST(WeightDecaySchedule, RisesByItsStyle) {
  WeightDecaySchedule s{.style = WdIncrStyle::kLinear, .start = 0.1, .end = 0.3, .incr_steps = 8};
  EXPECT_DOUBLE_EQ(s.at(0), 0.1);
  EXPECT_DOUBLE_EQ(s.at(2), 0.15);
  EXPECT_DOUBLE_EQ(s.at(4), 0.2);
  EXPECT_DOUBLE_EQ(s.at(8), 0.3);
  EXPECT_DOUBLE_EQ(s.at(1000), 0.3);
  s.style = WdIncrStyle::kCosine;
  EXPECT_DOUBLE_EQ(s.at(0), 0.1);
  EXPECT_DOUBLE_EQ(s.at(2), 0.1 + 0.2 * (1 - std::sqrt(0.5)) / 2);
  EXPECT_DOUBLE_EQ(s.at(4), 0.2);
  EXPECT_DOUBLE_EQ(s.at(9), 0.3);
  EXPECT_EQ((WeightDecaySchedule{.start = 0.2, .end = 0.2}.at(0)), 0.2);
}

TEST(WeightDecaySchedule, RefusesWhatMakesNoSense) {
  EXPECT_ERROR(ConfigError, validate(WeightDecaySchedule{.start = 0.2, .end = 0.1}, "s"),
               "s.end_wd is 0.1; it must be at least start_wd (0.2)");
  EXPECT_ERROR(ConfigError, validate(WeightDecaySchedule{.start = 0.1, .end = 0.2}, "s"),
               "s.wd_incr_style is constant; it must be linear or cosine where end_wd (0.2) is "
               "above start_wd (0.1)");
  EXPECT_ERROR(ConfigError, validate(WeightDecaySchedule{.start = -1, .end = -1}, "s"),
               "s.start_wd is -1; it must be finite and not negative\n"
               "s.end_wd is -1; it must be finite and not negative");
  EXPECT_ERROR(ConfigError, validate(WeightDecaySchedule{.end = std::nan("")}, "s"),
               "s.end_wd is nan; it must be finite and not negative");
  EXPECT_ERROR(ConfigError, validate(WeightDecaySchedule{.incr_steps = 0}, "s"),
               "s.wd_incr_steps is 0; it must be 1 or more");
}

TEST(WeightDecaySchedule, GivesTheNumbersOfBothStacks) {
  const Json golden = Json::parse(read_file(std::filesystem::path(STEEPEST_SOURCE_DIR) /
                                            "tests/golden/schedules/weight_decay.json"));
  ASSERT_EQ(golden["cases"].size(), 35u);
  for (const Json& each : golden["cases"]) {
    WeightDecaySchedule schedule;
    Rules rules("schedule");
    read_fields(each["schedule"], schedule, rules);
    check_fields(schedule, rules);
    rules.enforce();
    const auto steps = each["at"].get<std::vector<std::int64_t>>();
    const auto decays = each["wd"].get<std::vector<double>>();
    ASSERT_EQ(steps.size(), decays.size());
    for (std::size_t i = 0; i < steps.size(); ++i)
      EXPECT_NEAR(schedule.at(steps[i]), decays[i], 1e-14 * decays[i])
          << each["name"] << " at step " << steps[i];
  }
}

}  // namespace
}  // namespace steepest
