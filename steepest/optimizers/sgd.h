#pragma once

#include "steepest/optimizers/rule.h"
#include "steepest/optimizers/rule_optimizer.h"
#include "steepest/optimizers/sgd_options.h"

namespace steepest {

/// momentum_buffer: as the parameter; undefined until the first step with momentum.
struct SGDState {
  std::int64_t step = 0;
  at::Tensor momentum_buffer;

  static constexpr auto tensors() {
    return std::tuple{StateField<SGDState>{"momentum_buffer", &SGDState::momentum_buffer}};
  }
};

struct SGDRule {
  using Options = SGDOptions;
  using State = SGDState;
  static constexpr std::string_view kName = "sgd";
  static void require(const at::Tensor& param, const Options& options, std::string_view name);
  static State make_state(const at::Tensor& param, const Options& options);
  static void update(std::span<const Slot<State>> slots, const Options& options, double factor);
  static bool zero_for_missing(const Options&) { return false; }
};

using SGD = RuleOptimizer<SGDRule>;

}  // namespace steepest
