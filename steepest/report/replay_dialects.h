#pragma once

#include <functional>
#include <map>
#include <string>

#include "steepest/base/json_fields.h"
#include "steepest/optimizers/rule_options.h"
#include "steepest/report/replay_case.h"

/// How each original library's options read as ours. Part of replay_targets.
namespace steepest::internal {

struct DialectInput {
  const Json& options;     ///< of the group, in the library's own names, without `_target_`
  const ReplayCase& file;  ///< for the rounding and the dtype of its orthogonalization
};

struct Translated {
  RuleOptions options;
  bool zero_for_missing = false;
  std::map<std::string, std::string, std::less<>> state_names = {};
};

Translated torch_adam(const DialectInput& input, Rules& rules);
Translated torch_adamw(const DialectInput& input, Rules& rules);
Translated torch_sgd(const DialectInput& input, Rules& rules);
Translated torch_muon(const DialectInput& input, Rules& rules);
Translated dion_muon(const DialectInput& input, Rules& rules);
Translated kj_muon(const DialectInput& input, Rules& rules);
Translated kj_with_aux_adam(const DialectInput& input, Rules& rules);
Translated eo_lion(const DialectInput& input, Rules& rules);

}  // namespace steepest::internal
