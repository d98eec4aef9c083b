#include "steepest/step/lr_scheduler.h"

#include <gtest/gtest.h>

#include <vector>

#include "steepest/base/error.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

struct Recorder : Scheduled {
  std::vector<double> factors;
  std::vector<double> decays;
  void schedule_lr_factor(double factor) override { factors.push_back(factor); }
  void schedule_weight_decay(double value) override { decays.push_back(value); }
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

// Without a schedule of its own, weight decay is left alone.
TEST(LRScheduler, WritesWeightDecayWhereItIsScheduled) {
  Recorder plain, rising;
  const WeightDecaySchedule decay{
      .style = WdIncrStyle::kLinear, .start = 0.1, .end = 0.3, .incr_steps = 4};
  LRScheduler without(plain, linear(0, 10)), with(rising, linear(0, 10), decay);
  without.step();
  EXPECT_TRUE(plain.decays.empty());
  EXPECT_EQ(rising.decays, std::vector<double>{0.1});
  with.step(2);
  EXPECT_DOUBLE_EQ(rising.decays.back(), 0.2);
  // Each is saved with its shape, and neither takes the other's.
  EXPECT_ERROR(StateError, without.load(with.save()),
               "lr_scheduler.wd_incr_style was \"linear\" when saved and is absent here; the rest "
               "of the run would follow another curve; use the schedule the run was started with");
  EXPECT_ERROR(StateError, with.load(without.save()),
               "lr_scheduler.wd_incr_style was absent when saved and is \"linear\" here; the rest "
               "of the run would follow another curve; use the schedule the run was started with");
  EXPECT_EQ(without.step_count(), 1);
  Recorder third;
  LRScheduler fresh(third, linear(0, 10), decay);
  fresh.load(with.save());
  EXPECT_EQ(third.decays.back(), rising.decays.back());
  EXPECT_ERROR(ConfigError,
               LRScheduler(third, linear(0, 10), WeightDecaySchedule{.start = 1, .end = 2}),
               "lr_scheduler.wd_incr_style is constant; it must be linear or cosine where end_wd "
               "(2) is above start_wd (1)");
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
