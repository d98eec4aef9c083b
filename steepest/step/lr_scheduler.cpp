#include "steepest/step/lr_scheduler.h"

#include <fmt/format.h>

namespace steepest {

LRScheduler::LRScheduler(Scheduled& optimizer, Schedule shape)
    : optimizer_(&optimizer), shape_(shape) {
  validate(shape_, "lr_scheduler");
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

void LRScheduler::apply() { optimizer_->schedule_lr_factor(factor_at(step_)); }

Json LRScheduler::save() const { return Json{{"step", step_}, {"shape", write_fields(shape_)}}; }

void LRScheduler::load(const Json& saved) {
  const auto step = saved.find("step");
  if (!saved.is_object() || step == saved.end() || !step->is_number_integer() || *step < 0)
    throw StateError({.what = "a saved schedule holds no step counter",
                      .why = "it was not written by this library, or was altered"});
  if (const auto shape = saved.find("shape"); shape != saved.end()) {
    const Json mine = write_fields(shape_);
    for (const auto& [key, value] : mine.items())
      if (!shape->contains(key) || (*shape)[key] != value)
        throw StateError({.what = fmt::format(
                              "lr_scheduler.{} was {} when saved and is {} here", key,
                              shape->contains(key) ? (*shape)[key].dump() : "absent", value.dump()),
                          .why = "the rest of the run would follow another curve",
                          .remedy = "use the schedule the run was started with"});
  }
  step_ = step->get<std::int64_t>();
  apply();
}

}  // namespace steepest
