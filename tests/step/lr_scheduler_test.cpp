#include "steepest/step/lr_scheduler.h"

#include <gtest/gtest.h>

#include <vector>

#include "steepest/base/error.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

struct Recorder : Scheduled {
  std::vector<double> factors;
  void schedule_lr_factor(double factor) override { factors.push_back(factor); }
};

Schedule linear(std::int64_t warmup, std::int64_t decay) {
  return {.style = DecayStyle::kLinear, .max_lr = 1, .warmup_steps = warmup, .decay_steps = decay};
}

TEST(LRScheduler, WritesTheValueOfStepZeroAtOnce) {
  Recorder recorder;
  LRScheduler scheduler(recorder, linear(0, 100));
  EXPECT_EQ(recorder.factors, std::vector<double>{1.0});
}

// The unit is one applied update: after 25 of 100 a linear decay stands at 0.75.
TEST(LRScheduler, CountsAppliedUpdates) {
  Recorder recorder;
  LRScheduler scheduler(recorder, linear(0, 100));
  for (int i = 0; i < 25; ++i) scheduler.step();
  EXPECT_DOUBLE_EQ(recorder.factors.back(), 0.75);
  EXPECT_EQ(scheduler.step_count(), 25);
}

TEST(LRScheduler, ManyAtOnceIsOneByOne) {
  for (std::int64_t n = 0; n <= 10; ++n) {
    Recorder one, many;
    LRScheduler by_one(one, linear(3, 10)), at_once(many, linear(3, 10));
    for (std::int64_t i = 0; i < n; ++i) by_one.step();
    at_once.step(n);
    EXPECT_EQ(one.factors.back(), many.factors.back());
    EXPECT_EQ(by_one.factor_at(n), many.factors.back());
  }
}

TEST(LRScheduler, SavesAndLoads) {
  Recorder first, second;
  LRScheduler saved(first, linear(3, 10)), fresh(second, linear(3, 10));
  saved.step(7);
  fresh.load(saved.save());
  EXPECT_EQ(fresh.step_count(), 7);
  EXPECT_EQ(second.factors.back(), first.factors.back());
}

TEST(LRScheduler, RefusesAnotherShapeAndNonsense) {
  Recorder recorder;
  LRScheduler saved(recorder, linear(3, 10)), other(recorder, linear(3, 20));
  EXPECT_ERROR(StateError, other.load(saved.save()),
               "lr_scheduler.lr_decay_steps was 10 when saved and is 20 here; the rest of the run "
               "would follow another "
               "curve; use the schedule the run was started with");
  EXPECT_ERROR(
      StateError, saved.load(Json::object()),
      "a saved schedule holds no step counter; it was not written by this library, or was altered");
  EXPECT_ERROR(
      StateError, saved.load(Json{{"step", -1}}),
      "a saved schedule holds no step counter; it was not written by this library, or was altered");
  EXPECT_ERROR(ConfigError, saved.step(-1),
               "a schedule cannot step by -1; it counts applied updates, which never become fewer");
}

}  // namespace
}  // namespace steepest
