#include "steepest/step/lr_scheduler.h"

#include <fmt/format.h>

namespace steepest {

LRScheduler::LRScheduler(Scheduled& optimizer, Schedule shape,
                         std::optional<WeightDecaySchedule> weight_decay)
    : optimizer_(&optimizer), shape_(shape), weight_decay_(weight_decay) {
  validate(shape_, "lr_scheduler");
  if (weight_decay_) validate(*weight_decay_, "lr_scheduler");
  apply();
}

void LRScheduler::step(std::int64_t increment) {
  if (increment < 0)
    throw ConfigError({.what = fmt::format("a schedule cannot step by {}", increment),
                       .why = "it counts applied updates, which never become fewer"});
  step_ += increment;
  apply();
}

double LRScheduler::factor_at(std::int64_t step) const { return shape_.at(step); }

void LRScheduler::apply() {
  optimizer_->schedule_lr_factor(factor_at(step_));
  if (weight_decay_) optimizer_->schedule_weight_decay(weight_decay_->at(step_));
}

Json LRScheduler::shapes() const {
  Json all = write_fields(shape_);
  if (weight_decay_) {
    const Json more = write_fields(*weight_decay_);
    for (const auto& [key, value] : more.items()) all[key] = value;
  }
  return all;
}

Json LRScheduler::save() const { return Json{{"step", step_}, {"shape", shapes()}}; }

void LRScheduler::check(const Json& saved) const {
  const auto step = saved.find("step");
  if (!saved.is_object() || step == saved.end() || !step->is_number_integer() || *step < 0)
    throw StateError({.what = "a saved schedule holds no step counter",
                      .why = "it was not written by this library, or was altered"});
  if (const auto shape = saved.find("shape"); shape != saved.end()) {
    const auto require_same = [](const Json& these, const Json& saved_shape, const Json& mine) {
      const auto shown = [](const Json& from, const std::string& key) {
        return from.contains(key) ? from[key].dump() : "absent";
      };
      for (const auto& item : these.items())
        if (shown(saved_shape, item.key()) != shown(mine, item.key()))
          throw StateError(
              {.what = fmt::format("lr_scheduler.{} was {} when saved and is {} here", item.key(),
                                   shown(saved_shape, item.key()), shown(mine, item.key())),
               .why = "the rest of the run would follow another curve",
               .remedy = "use the schedule the run was started with"});
    };
    const Json mine = shapes();
    require_same(mine, *shape, mine);
    if (shape->is_object()) require_same(*shape, *shape, mine);
  }
}

void LRScheduler::load(const Json& saved) {
  check(saved);
  step_ = saved["step"].get<std::int64_t>();
  apply();
}

}  // namespace steepest
