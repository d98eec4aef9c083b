#pragma once

#include "steepest/optimizers/adam_options.h"
#include "steepest/optimizers/rule.h"
#include "steepest/optimizers/rule_optimizer.h"

namespace steepest {

/// Shapes and dtypes: exp_avg and exp_avg_sq as the parameter; max_exp_avg_sq likewise, with
/// amsgrad only.
struct AdamState {
  std::int64_t step = 0;
  at::Tensor exp_avg, exp_avg_sq, max_exp_avg_sq;

  static constexpr auto tensors() {
    return std::tuple{StateField<AdamState>{"exp_avg", &AdamState::exp_avg},
                      StateField<AdamState>{"exp_avg_sq", &AdamState::exp_avg_sq},
                      StateField<AdamState>{"max_exp_avg_sq", &AdamState::max_exp_avg_sq}};
  }
};

struct AdamWRule {
  using Options = AdamWOptions;
  using State = AdamState;
  static constexpr std::string_view kName = "adamw";
  static void require(const at::Tensor& param, const Options& options, std::string_view name);
  static State make_state(const at::Tensor& param, const Options& options);
  static void update(std::span<const Slot<State>> slots, const Options& options, double factor);
  static bool zero_for_missing(const Options&) { return false; }
};

struct AdamRule {
  using Options = AdamOptions;
  using State = AdamState;
  static constexpr std::string_view kName = "adam";
  static void require(const at::Tensor& param, const Options& options, std::string_view name);
  static State make_state(const at::Tensor& param, const Options& options);
  static void update(std::span<const Slot<State>> slots, const Options& options, double factor);
  static bool zero_for_missing(const Options&) { return false; }
};

/// torch::optim::Optimizer of the rule: change one line of a libtorch program.
using AdamW = RuleOptimizer<AdamWRule>;
using Adam = RuleOptimizer<AdamRule>;

}  // namespace steepest
