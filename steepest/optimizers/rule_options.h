#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "steepest/optimizers/adam_options.h"
#include "steepest/optimizers/lion_options.h"
#include "steepest/optimizers/muon_options.h"
#include "steepest/optimizers/sgd_options.h"

namespace steepest {

/// The options of any rule. A new rule adds one alternative here and one line to the catalogue.
using RuleOptions = std::variant<AdamWOptions, AdamOptions, SGDOptions, LionOptions, MuonOptions>;

/// The rule's name, for instance "adamw".
std::string_view rule_name(const RuleOptions& options);
/// Throws one ConfigError with every broken rule.
void validate(const RuleOptions& options, std::string_view scope);

/// Learning rate and weight decay, which every rule has.
double lr(const RuleOptions& options);
void set_lr(RuleOptions& options, double value);
double weight_decay(const RuleOptions& options);
void set_weight_decay(RuleOptions& options, double value);

}  // namespace steepest
