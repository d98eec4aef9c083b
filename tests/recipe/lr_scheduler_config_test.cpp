#include "steepest/recipe/lr_scheduler_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "steepest/base/files.h"
#include "steepest/base/json_fields.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

// AutoModel's resolved values for base lr 3e-4 over 500 updates: warm-up 50, init 3e-5, min 3e-6.
TEST(LRSchedulerConfig, FillsWhatIsUnsetAsAutoModelDoes) {
  const Schedule s = LRSchedulerConfig{}.shape({500}, 3e-4);
  EXPECT_EQ(s.style, DecayStyle::kCosine);
  EXPECT_EQ(s.warmup_steps, 50);
  EXPECT_EQ(s.decay_steps, 500);
  EXPECT_NEAR(s.init_lr * 3e-4, 3e-5, 1e-18);
  EXPECT_NEAR(s.min_lr * 3e-4, 3e-6, 1e-18);
  EXPECT_NEAR(s.at(1) * 3e-4, 3.54e-5, 1e-17);
  EXPECT_EQ(LRSchedulerConfig{}.shape({100'000}, 1).warmup_steps, 1000);
}

TEST(LRSchedulerConfig, AbsoluteRatesBecomeFactors) {
  const Schedule s =
      LRSchedulerConfig{.lr_warmup_steps = 0, .max_lr = 0.2, .min_lr = 0.05}.shape({10}, 0.1);
  EXPECT_DOUBLE_EQ(s.at(0), 2);
  EXPECT_DOUBLE_EQ(s.at(10), 0.5);
  EXPECT_EQ((LRSchedulerConfig{.min_lr_ratio = 0.05}.shape({10}, 0.1).min_lr), 0.05);
}

// As in AutoModel, the defaults of init_lr and min_lr come from the base rate also where max_lr is
// given.
TEST(LRSchedulerConfig, DefaultsComeFromTheBaseRate) {
  const Schedule s = LRSchedulerConfig{.max_lr = 0.03}.shape({500}, 3e-4);
  EXPECT_NEAR(s.init_lr * 3e-4, 3e-5, 1e-18);
  EXPECT_NEAR(s.min_lr * 3e-4, 3e-6, 1e-18);
}

TEST(LRSchedulerConfig, RefusesContradictions) {
  EXPECT_ERROR(ConfigError, validate(LRSchedulerConfig{.min_lr = 0.1, .min_lr_ratio = 0.1}, "s"),
               "s.min_lr_ratio is 0.1; it must be unset where min_lr is given");
  EXPECT_ERROR(ConfigError,
               validate(LRSchedulerConfig{.lr_decay_style = DecayStyle::kWarmupStableDecay}, "s"),
               "s.wsd_decay_steps is null; it must be given for a warm-up-stable-decay schedule");
}

std::string problems_of(const LRSchedulerConfig& config, double base_lr, double base_wd = 0.1) {
  Rules rules("s");
  check_fields(config, rules);
  if (rules.problems().empty()) config.check_in({.max_steps = 100}, base_lr, base_wd, rules);
  try {
    rules.enforce();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

// Inside, rates are factors on the base rate; a user sees what was written.
TEST(LRSchedulerConfig, SaysWhatTheUserWrote) {
  EXPECT_EQ(problems_of({.min_lr = 0.02}, 0.01),
            "s.min_lr is 0.02; it must be at most max_lr (0.01)");
  EXPECT_EQ(problems_of({.init_lr = 0.3, .max_lr = 0.2, .min_lr = 0.25}, 0.01),
            "s.min_lr is 0.25; it must be at most max_lr (0.2)\n"
            "s.init_lr is 0.3; it must be at most max_lr (0.2)");
  EXPECT_EQ(problems_of({.max_lr = 0.005, .min_lr_ratio = 0.75}, 0.01),
            "s.min_lr_ratio is 0.75; it must be at most max_lr / lr (0.5)");
  EXPECT_EQ(problems_of({.max_lr = 0.25}, 64),
            "s.min_lr is 0.64; it must be at most max_lr (0.25); unset it is 0.01 of the "
            "optimizer's lr: set it\n"
            "s.init_lr is 6.4; it must be at most max_lr (0.25); unset it is 0.1 of the "
            "optimizer's lr: set it");
  EXPECT_EQ(problems_of({.lr_warmup_steps = 100}, 0.01),
            "s.lr_warmup_steps is 100; it must be below lr_decay_steps (100)");
  EXPECT_EQ(problems_of({.lr_decay_steps = 5}, 0.01),
            "s.lr_warmup_steps is 10; it must be below lr_decay_steps (5); unset it is a tenth of "
            "the run, at most 1000: set it");
  EXPECT_EQ(
      problems_of({.lr_decay_style = DecayStyle::kWarmupStableDecay, .wsd_decay_steps = 91}, 0.01),
      "s.wsd_decay_steps is 91; it must be at most lr_decay_steps - lr_warmup_steps (90)");
  EXPECT_EQ(problems_of({.start_wd = 0.2}, 0.01),
            "s.end_wd is 0.1; it must be at least start_wd (0.2)");
  EXPECT_EQ(problems_of({.start_wd = 0.05}, 0.01),
            "s.wd_incr_style is constant; it must be linear or cosine where end_wd (0.1) is above "
            "start_wd (0.05)");
  EXPECT_EQ(problems_of({.start_wd = -1, .wd_incr_steps = 0}, 0.01),
            "s.start_wd is -1; it must be finite and not negative\n"
            "s.wd_incr_steps is 0; it must be 1 or more");
  EXPECT_EQ(problems_of({.end_wd = 0.4, .wd_incr_style = WdIncrStyle::kCosine}, 0.01), "");
}

// Whole sections, their defaults included, against what AutoModel wrote into its groups.
TEST(LRSchedulerConfig, GivesTheNumbersOfAutoModel) {
  const Json golden = Json::parse(read_file(std::filesystem::path(STEEPEST_SOURCE_DIR) /
                                            "tests/golden/schedules/automodel_build.json"));
  int refused = 0, compared = 0;
  for (const Json& each : golden["cases"]) {
    SCOPED_TRACE(each["name"].dump());
    const double base_lr = each["groups"][0]["lr"], base_wd = each["groups"][0]["weight_decay"];
    const TrainingLength length{.max_steps = each["max_steps"]};
    LRSchedulerConfig config;
    Rules rules("lr_scheduler");
    read_fields(each["config"], config, rules);
    check_fields(config, rules);
    if (rules.problems().empty()) config.check_in(length, base_lr, base_wd, rules);
    EXPECT_EQ(rules.problems().empty(), !each.contains("refused"));
    if (each.contains("refused")) {
      ++refused;
      continue;
    }
    const Schedule rate = config.shape(length, base_lr);
    const auto decay = config.weight_decay(length, base_wd);
    for (std::size_t g = 0; g < each["groups"].size(); ++g)
      for (std::size_t i = 0; i < each["at"].size(); ++i) {
        const std::int64_t step = each["at"][i];
        const double group_lr = each["groups"][g]["lr"],
                     group_wd = each["groups"][g]["weight_decay"];
        const double lr = each["lr"][g][i], wd = each["wd"][g][i];
        EXPECT_NEAR(rate.at(step) * group_lr, lr, 1e-14 * lr) << "group " << g << " step " << step;
        EXPECT_NEAR(decay ? decay->at(step) * (group_wd / base_wd) : group_wd, wd, 1e-14 * wd)
            << "group " << g << " step " << step;
        ++compared;
      }
  }
  EXPECT_EQ(refused, 9);
  EXPECT_GT(compared, 200);
}

}  // namespace
}  // namespace steepest
