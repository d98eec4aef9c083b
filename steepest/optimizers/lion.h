#pragma once

#include "steepest/kernels/element_rules.h"
#include "steepest/optimizers/element_rule.h"
#include "steepest/optimizers/lion_options.h"
#include "steepest/optimizers/rule_optimizer.h"

namespace steepest {

/// exp_avg: shape of the parameter, kept as options.states says, with its scales where that is a
/// coded format; the master beside a 16-bit weight where options.masters calls for one.
struct LionState {
  std::int64_t step = 0;
  at::Tensor exp_avg, exp_avg_scales, master;

  static constexpr auto tensors() {
    using S = LionState;
    return std::tuple{StateField<S>{"exp_avg", &S::exp_avg},
                      StateField<S>{"exp_avg::scales", &S::exp_avg_scales},
                      StateField<S>{"master_param", &S::master}};
  }
};

/// What Lion's formula multiplies with.
struct LionNumbers {
  double factor, decay, b1, b2, step_size;
};

struct LionFormula {
  using Options = LionOptions;
  using State = LionState;
  static constexpr std::string_view kName = "lion";
  static constexpr auto kKernel = kernels::lion;
  static constexpr bool kStatesComeWithTheFirstUpdate = false;
  static std::array<ElementStream<State>, 1> streams();
  static bool uses(const Options&, std::size_t) { return true; }
  static LionNumbers numbers(const Options& options, std::int64_t step, double factor, bool first);
  static kernels::LionScalars scalars(const LionNumbers& numbers);
  static void plain(const LionNumbers& numbers, at::Tensor& w, const at::Tensor& g,
                    std::array<at::Tensor, 3>& states);
};

using LionRule = ElementRule<LionFormula>;
using Lion = RuleOptimizer<LionRule>;

}  // namespace steepest
