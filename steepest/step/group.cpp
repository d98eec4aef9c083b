#include "steepest/step/group.h"

#include <fmt/format.h>

#include <utility>

namespace steepest {
namespace {

/// One problem thrown unless the value is a rate that an update can be made with.
void require_rate(const std::string& group, std::string_view field, double value) {
  Rules(group).require(at_least_zero().holds(value), field, value, at_least_zero().text).enforce();
}

}  // namespace

Group::Group(std::string name, RuleOptions options, std::vector<std::string> params,
             std::string reason, NormUse norm_use)
    : name_(std::move(name)),
      options_(std::move(options)),
      params_(std::move(params)),
      reason_(std::move(reason)),
      norm_use_(std::move(norm_use)),
      base_lr_(steepest::lr(options_)),
      base_weight_decay_(steepest::weight_decay(options_)) {}

void Group::schedule_lr(double value) {
  require_rate(name_, "lr", value);
  set_lr(options_, value);
}

void Group::schedule_weight_decay(double value) {
  require_rate(name_, "weight_decay", value);
  set_weight_decay(options_, value);
}

void Group::set(std::string_view field, const Json& value) {
  RuleOptions changed = options_;
  Rules rules(name_);
  Json object = Json::object();
  object[std::string(field)] = value;
  std::visit([&](auto& options) { read_fields(object, options, rules); }, changed);
  rules.enforce();
  validate(changed, name_);
  options_ = std::move(changed);
  if (field == "lr") base_lr_ = steepest::lr(options_);
  if (field == "weight_decay") base_weight_decay_ = steepest::weight_decay(options_);
}

Json Group::get(std::string_view field) const {
  const Json all = std::visit([](const auto& options) { return write_fields(options); }, options_);
  if (const auto found = all.find(std::string(field)); found != all.end()) return *found;
  Rules rules(name_);
  std::vector<std::string_view> known;
  for (const auto& item : all.items()) known.push_back(item.key());
  internal::unknown_key(field, known, rules);
  rules.enforce();
  return nullptr;
}

Json Group::save() const {
  return Json{
      {"name", name_},
      {"rule", std::string(rule())},
      {"params", params_},
      {"base_lr", base_lr_},
      {"base_weight_decay", base_weight_decay_},
      {"options", std::visit([](const auto& options) { return write_fields(options); }, options_)}};
}

void Group::load(const Json& saved, std::string_view what) {
  RuleOptions changed = options_;
  Rules rules(fmt::format("{}: group {}", what, name_));
  const auto text = [&](const char* key) {
    const auto found = saved.find(key);
    return found != saved.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!saved.is_object() || text("rule") != rule())
    throw StateError(
        {.what = fmt::format("{}: group {} was saved under the rule '{}', here it has '{}'", what,
                             name_, saved.is_object() ? text("rule") : "", rule()),
         .why = "a rule's state means nothing to another rule",
         .remedy = "build the optimizer with the options it was saved with"});
  double base_lr = base_lr_, base_weight_decay = base_weight_decay_;
  if (const auto options = saved.find("options"); options != saved.end())
    std::visit([&](auto& fields) { read_fields(*options, fields, rules); }, changed);
  if (const auto value = saved.find("base_lr"); value != saved.end())
    internal::read_value(*value, base_lr, "base_lr", rules);
  if (const auto value = saved.find("base_weight_decay"); value != saved.end())
    internal::read_value(*value, base_weight_decay, "base_weight_decay", rules);
  rules.require(at_least_zero().holds(base_lr), "base_lr", base_lr, at_least_zero().text);
  rules.require(at_least_zero().holds(base_weight_decay), "base_weight_decay", base_weight_decay,
                at_least_zero().text);
  rules.enforce();
  validate(changed, name_);
  options_ = std::move(changed);
  base_lr_ = base_lr;
  base_weight_decay_ = base_weight_decay;
}

}  // namespace steepest
