#pragma once

#include "steepest/optimizers/muon_options.h"
#include "steepest/optimizers/rule.h"
#include "steepest/optimizers/rule_optimizer.h"

namespace steepest {

/// momentum_buffer: shape of the parameter, dtype by options.momentum_dtype; the master beside a
/// 16-bit weight where options.masters calls for one.
struct MuonState {
  std::int64_t step = 0;
  at::Tensor momentum_buffer, master;

  static constexpr auto tensors() {
    return std::tuple{StateField<MuonState>{"momentum_buffer", &MuonState::momentum_buffer},
                      StateField<MuonState>{"master_param", &MuonState::master}};
  }
};

struct MuonRule {
  using Options = MuonOptions;
  using State = MuonState;
  static constexpr std::string_view kName = "muon";
  static void require(const at::Tensor& param, const Options& options, std::string_view name);
  static State make_state(const at::Tensor& param, const Options& options);
  static void update(std::span<const Slot<State>> slots, const Options& options, double factor);
  static void require_state(const at::Tensor& param, const State& state, const Options& options,
                            std::string_view name);
  static bool zero_for_missing(const Options& options) {
    return options.missing_gradient == MissingGradient::kZero;
  }
};

using Muon = RuleOptimizer<MuonRule>;

}  // namespace steepest
