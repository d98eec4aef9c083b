#pragma once

#include <cstdint>
#include <optional>

#include "steepest/base/json_fields.h"
#include "steepest/schedule/schedule.h"
#include "steepest/schedule/weight_decay_schedule.h"

namespace steepest {

/// Whose rates are scheduled. It remembers what was written, so that a group added later is under
/// the schedule from the moment it is added.
class Scheduled {
 public:
  virtual ~Scheduled() = default;
  /// Writes base_lr * factor into every group, those added later included.
  virtual void schedule_lr_factor(double factor) = 0;
  /// Writes the first group's weight decay; all others keep their ratio to it.
  virtual void schedule_weight_decay(double value) = 0;
};

/// Writes lr of the next update into every group. The unit is one applied update. A group's lr is
///   shape.at(step) / shape.max_lr * base_lr
/// so a group added later follows the same curve from its own base. Weight decay is written too
/// where a schedule of it is given. Construction writes the values of step 0.
class LRScheduler {
 public:
  /// `shape` has max_lr = 1: a factor on every group's base lr; min_lr and init_lr are factors as
  /// well.
  LRScheduler(Scheduled& optimizer, Schedule shape,
              std::optional<WeightDecaySchedule> weight_decay = std::nullopt);

  /// After an applied update. `increment` updates at once give the same as one by one.
  void step(std::int64_t increment = 1);
  std::int64_t step_count() const { return step_; }
  /// The factor on base rates at any step, without stepping there.
  double factor_at(std::int64_t step) const;
  /// Writes the values in force into the groups again.
  void apply();

  /// The step and the shapes. `load` takes the step back and writes its values into the groups; a
  /// saved shape that differs from this one is a StateError that names the field. Nothing is
  /// changed then.
  Json save() const;
  /// Throws what load would throw, and changes nothing.
  void check(const Json& saved) const;
  void load(const Json& saved);

 private:
  Scheduled* optimizer_;
  Json shapes() const;

  Schedule shape_;
  std::optional<WeightDecaySchedule> weight_decay_;
  std::int64_t step_ = 0;
};

}  // namespace steepest
