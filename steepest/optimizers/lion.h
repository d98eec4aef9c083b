#pragma once

#include "steepest/optimizers/lion_options.h"
#include "steepest/optimizers/rule.h"
#include "steepest/optimizers/rule_optimizer.h"

namespace steepest {

/// exp_avg: as the parameter.
struct LionState {
  std::int64_t step = 0;
  at::Tensor exp_avg;

  static constexpr auto tensors() {
    return std::tuple{StateField<LionState>{"exp_avg", &LionState::exp_avg}};
  }
};

struct LionRule {
  using Options = LionOptions;
  using State = LionState;
  static constexpr std::string_view kName = "lion";
  static void require(const at::Tensor& param, const Options& options, std::string_view name);
  static State make_state(const at::Tensor& param, const Options& options);
  static void update(std::span<const Slot<State>> slots, const Options& options, double factor);
  static bool zero_for_missing(const Options&) { return false; }
};

using Lion = RuleOptimizer<LionRule>;

}  // namespace steepest
