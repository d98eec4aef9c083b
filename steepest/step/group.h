#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "steepest/base/json_fields.h"
#include "steepest/gradients/norm_policy.h"
#include "steepest/optimizers/rule_options.h"

namespace steepest {

/// A group of parameters under one rule and one set of options. Its address is stable as long as
/// the optimizer lives, over loading too: a handle that was taken before stays good.
class Group {
 public:
  Group(std::string name, RuleOptions options, std::vector<std::string> params, std::string reason,
        NormUse norm_use = {});

  const std::string& name() const { return name_; }
  std::string_view rule() const { return rule_name(options_); }
  const std::vector<std::string>& params() const { return params_; }
  /// Why these parameters are here, for people.
  const std::string& reason() const { return reason_; }
  /// Fixed at construction, and no part of what is saved.
  const NormUse& norm_use() const { return norm_use_; }

  const RuleOptions& options() const { return options_; }
  double lr() const { return steepest::lr(options_); }
  double weight_decay() const { return steepest::weight_decay(options_); }
  /// Values that a schedule starts from: those the group was built with, or set since through
  /// set().
  double base_lr() const { return base_lr_; }
  double base_weight_decay() const { return base_weight_decay_; }

  /// What a schedule does: writes the value in force, leaves the base alone. ConfigError if it is
  /// negative or NaN.
  void schedule_lr(double value);
  void schedule_weight_decay(double value);

  /// Sets a field by its name; lr and weight_decay set the base as well. ConfigError: the rule has
  /// no such field (the nearest is named), a wrong type, a value out of range. Nothing is changed
  /// then.
  void set(std::string_view field, const Json& value);
  Json get(std::string_view field) const;
  /// All fields, and base values, for checkpoints; `load` takes them back (same rule, else
  /// StateError).
  Json save() const;
  /// `what` names the source in errors. Nothing is changed if anything is wrong.
  void load(const Json& saved, std::string_view what);

 private:
  std::string name_;
  RuleOptions options_;
  std::vector<std::string> params_;
  std::string reason_;
  NormUse norm_use_;
  double base_lr_, base_weight_decay_;
};

}  // namespace steepest
