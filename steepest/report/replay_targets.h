#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "steepest/optimizers/rule_options.h"
#include "steepest/report/replay_case.h"

namespace steepest {

/// Parameters of a recorded run that share one rule and one set of options of ours.
struct ReplayTarget {
  std::string name;  ///< for messages: "torch.optim.AdamW", "dion.Muon groups[1]"
  std::vector<std::string> params;
  RuleOptions options;
  /// The reference takes a missing gradient for zeros.
  bool zero_for_missing = false;
  /// Key of a state in the file -> ours; "step" is our counter.
  std::map<std::string, std::string, std::less<>> state_names;
};

/// Translates what the original library was built with into options of ours: its `_target_`, option
/// names and defaults, group by group. Options that steer only execution (fused, foreach ...)
/// change nothing. ConfigError: a target or an option that we have no rule for, each named with the
/// reason.
std::vector<ReplayTarget> replay_targets(const ReplayCase& file);

}  // namespace steepest
