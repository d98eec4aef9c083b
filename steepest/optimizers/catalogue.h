#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "steepest/optimizers/rule_options.h"

namespace steepest {

/// What is known of a rule without building it.
struct RuleEntry {
  std::string_view name;   ///< "adamw": short name in recipes and flags
  std::string_view title;  ///< "AdamW"
  bool matrices_only;      ///< takes parameters of two or more dimensions alone
  std::span<const std::string_view>
      states;                ///< state tensors per parameter, beside the step counter
  std::string_view summary;  ///< one line for people
  std::string_view source;   ///< paper or library it follows
};

/// Every rule, in the order of RuleOptions' alternatives.
std::span<const RuleEntry> catalogue();
/// The entry of a rule, or null.
const RuleEntry* find_rule(std::string_view name);
/// The options a rule has if nothing is said.
RuleOptions default_options(const RuleEntry& rule);

}  // namespace steepest
