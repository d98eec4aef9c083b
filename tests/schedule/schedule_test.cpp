#include "steepest/schedule/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <vector>

#include "steepest/base/error.h"
#include "steepest/base/files.h"
#include "steepest/base/json_fields.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

TEST(Schedule, WithoutWarmUpTheFirstStepHasTheFullRate) {
  for (const DecayStyle style : {DecayStyle::kConstant, DecayStyle::kLinear, DecayStyle::kCosine,
                                 DecayStyle::kInverseSquareRoot})
    EXPECT_EQ((Schedule{.style = style, .max_lr = 0.5, .decay_steps = 10}.at(0)), 0.5)
        << spelling(style);
}

TEST(Schedule, WarmsUpInAStraightLine) {
  const Schedule s{.style = DecayStyle::kCosine,
                   .max_lr = 1,
                   .init_lr = 0.2,
                   .warmup_steps = 4,
                   .decay_steps = 10};
  EXPECT_DOUBLE_EQ(s.at(0), 0.2);
  EXPECT_DOUBLE_EQ(s.at(1), 0.4);
  EXPECT_DOUBLE_EQ(s.at(4), 1.0);
}

// Half way between warm-up and the end: linear 1/2, cosine 1/2; a quarter of the way: 3/4 and
// (cos(pi/4) + 1) / 2.
TEST(Schedule, DecaysByItsStyle) {
  const Schedule linear{.style = DecayStyle::kLinear,
                        .max_lr = 1,
                        .min_lr = 0.1,
                        .warmup_steps = 2,
                        .decay_steps = 10};
  EXPECT_DOUBLE_EQ(linear.at(6), 0.55);
  EXPECT_DOUBLE_EQ(linear.at(4), 0.775);
  EXPECT_DOUBLE_EQ(linear.at(10), 0.1);
  EXPECT_DOUBLE_EQ(linear.at(1000), 0.1);
  const Schedule cosine{
      .style = DecayStyle::kCosine, .max_lr = 1, .warmup_steps = 2, .decay_steps = 10};
  EXPECT_DOUBLE_EQ(cosine.at(6), 0.5);
  EXPECT_DOUBLE_EQ(cosine.at(4), (std::sqrt(0.5) + 1) / 2);
  EXPECT_DOUBLE_EQ(cosine.at(10), 0);
  const Schedule root{.style = DecayStyle::kInverseSquareRoot,
                      .max_lr = 1,
                      .min_lr = 0.3,
                      .warmup_steps = 4,
                      .decay_steps = 100};
  EXPECT_DOUBLE_EQ(root.at(16), 0.5);
  EXPECT_DOUBLE_EQ(root.at(64), 0.3);  // 0.25 would be below the floor
  EXPECT_DOUBLE_EQ(root.at(101), 0.3);
  EXPECT_EQ((Schedule{.max_lr = 0.7, .decay_steps = 3}.at(1000)), 0.7);
}

TEST(Schedule, WarmupStableDecay) {
  Schedule s{.style = DecayStyle::kWarmupStableDecay,
             .max_lr = 1,
             .min_lr = 0.1,
             .decay_steps = 100,
             .wsd_style = WsdDecay::kLinear,
             .wsd_decay_steps = 20};
  EXPECT_EQ(s.at(0), 1);
  EXPECT_EQ(s.at(80), 1);
  EXPECT_DOUBLE_EQ(s.at(90), 0.55);
  EXPECT_DOUBLE_EQ(s.at(100), 0.1);
  s.wsd_style = WsdDecay::kCosine;
  EXPECT_DOUBLE_EQ(s.at(90), 0.55);
  s.wsd_style = WsdDecay::kExponential;  // 2 * 2^-1/2 - 1
  EXPECT_DOUBLE_EQ(s.at(90), 0.1 + 0.9 * (2 * std::sqrt(0.5) - 1));
  s.wsd_style = WsdDecay::kMinusSqrt;
  EXPECT_DOUBLE_EQ(s.at(85), 0.1 + 0.9 * 0.5);
}

TEST(Schedule, RefusesLengthsAndRatesThatMakeNoSense) {
  const auto wsd = [](std::int64_t length) {
    return Schedule{
        .style = DecayStyle::kWarmupStableDecay, .decay_steps = 100, .wsd_decay_steps = length};
  };
  EXPECT_ERROR(ConfigError, validate(wsd(120), "s"),
               "s.wsd_decay_steps is 120; it must be above 0 and at most lr_decay_steps - "
               "lr_warmup_steps (100)");
  EXPECT_ERROR(ConfigError, validate(wsd(-1), "s"),
               "s.wsd_decay_steps is -1; it must be 0 or more\ns.wsd_decay_steps is -1; it must be "
               "above 0 and at most lr_decay_steps - lr_warmup_steps (100)");
  EXPECT_ERROR(ConfigError, validate(wsd(0), "s"),
               "s.wsd_decay_steps is 0; it must be above 0 and at most lr_decay_steps - "
               "lr_warmup_steps (100)");
  EXPECT_ERROR(ConfigError, validate(Schedule{.max_lr = 1, .min_lr = 2}, "s"),
               "s.min_lr is 2; it must be at most max_lr (1)");
  EXPECT_ERROR(ConfigError, validate(Schedule{.max_lr = 1, .init_lr = 2}, "s"),
               "s.init_lr is 2; it must be at most max_lr (1)");
  EXPECT_ERROR(ConfigError, validate(Schedule{.warmup_steps = 10, .decay_steps = 10}, "s"),
               "s.lr_warmup_steps is 10; it must be below lr_decay_steps (10)");
  EXPECT_ERROR(ConfigError, validate(Schedule{.warmup_steps = -1}, "s"),
               "s.lr_warmup_steps is -1; it must be 0 or more");
  EXPECT_ERROR(ConfigError, validate(Schedule{.decay_steps = 0}, "s"),
               "s.lr_decay_steps is 0; it must be 1 or more\ns.lr_warmup_steps is 0; it must be "
               "below lr_decay_steps (0)");
  EXPECT_ERROR(ConfigError, validate(Schedule{.max_lr = std::nan("")}, "s"),
               "s.max_lr is nan; it must be finite and not negative");
}

// Every style against numbers that Megatron-Core's OptimizerParamScheduler wrote, at the counters
// around each corner. A case may have a group's own rates below init_lr, which `validate` would
// refuse and the formula answers all the same.
TEST(Schedule, GivesTheNumbersOfMegatron) {
  const auto path =
      std::filesystem::path(STEEPEST_SOURCE_DIR) / "tests/golden/schedules/megatron.json";
  const Json golden = Json::parse(read_file(path));
  ASSERT_EQ(golden["cases"].size(), 32u);
  for (const Json& each : golden["cases"]) {
    Schedule schedule;
    Rules rules("schedule");
    read_fields(each["schedule"], schedule, rules);
    rules.enforce();
    const auto steps = each["at"].get<std::vector<std::int64_t>>();
    const auto rates = each["lr"].get<std::vector<double>>();
    ASSERT_EQ(steps.size(), rates.size());
    for (std::size_t i = 0; i < steps.size(); ++i)
      EXPECT_NEAR(schedule.at(steps[i]), rates[i], 1e-14 * std::abs(rates[i]))
          << each["name"] << " at step " << steps[i];
  }
}

// A run rebuilt at step N inside any phase reads what one that got there step by step reads.
TEST(Schedule, DoesNotDependOnTheWayToAStep) {
  const Schedule stepped{.style = DecayStyle::kCosine,
                         .max_lr = 1,
                         .min_lr = 0.1,
                         .warmup_steps = 3,
                         .decay_steps = 10};
  std::vector<double> forward;
  for (std::int64_t n = 0; n <= 10; ++n) forward.push_back(stepped.at(n));
  for (std::int64_t n = 10; n >= 0; --n) {
    const Schedule rebuilt = stepped;
    EXPECT_EQ(rebuilt.at(n), forward[static_cast<std::size_t>(n)]) << n;
  }
  EXPECT_EQ(forward[0], 0);
  EXPECT_EQ(forward[3], 1);  // the first phase ends exactly at the top
  EXPECT_LT(forward[4], 1);
  EXPECT_DOUBLE_EQ(forward[10], 0.1);
}

}  // namespace
}  // namespace steepest
