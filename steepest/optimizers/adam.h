#pragma once

#include "steepest/kernels/element_rules.h"
#include "steepest/optimizers/adam_options.h"
#include "steepest/optimizers/element_rule.h"
#include "steepest/optimizers/rule_optimizer.h"

namespace steepest {

/// exp_avg, exp_avg_sq and, with amsgrad, max_exp_avg_sq: shape of the parameter, kept as
/// options.states says; their scales where that is a coded format; the master beside a 16-bit
/// weight where options.masters calls for one.
struct AdamState {
  std::int64_t step = 0;
  at::Tensor exp_avg, exp_avg_sq, max_exp_avg_sq;
  at::Tensor exp_avg_scales, exp_avg_sq_scales, max_exp_avg_sq_scales, master;

  static constexpr auto tensors() {
    using S = AdamState;
    return std::tuple{StateField<S>{"exp_avg", &S::exp_avg},
                      StateField<S>{"exp_avg_sq", &S::exp_avg_sq},
                      StateField<S>{"max_exp_avg_sq", &S::max_exp_avg_sq},
                      StateField<S>{"exp_avg::scales", &S::exp_avg_scales},
                      StateField<S>{"exp_avg_sq::scales", &S::exp_avg_sq_scales},
                      StateField<S>{"max_exp_avg_sq::scales", &S::max_exp_avg_sq_scales},
                      StateField<S>{"master_param", &S::master}};
  }
};

/// What Adam's formula multiplies with.
struct AdamNumbers {
  double factor;  ///< on the gradient; negative to climb
  double l2, decay, b1, b2, sqrt_c2, eps, step_size;
};

/// Common to Adam and AdamW.
struct AdamFormula {
  using State = AdamState;
  static constexpr auto kKernel = kernels::adam;
  static constexpr bool kStatesComeWithTheFirstUpdate = false;
  static std::array<ElementStream<State>, 3> streams();
  static kernels::AdamScalars scalars(const AdamNumbers& numbers);
  static void plain(const AdamNumbers& numbers, at::Tensor& w, const at::Tensor& g,
                    std::array<at::Tensor, 3>& states);
};

struct AdamWFormula : AdamFormula {
  using Options = AdamWOptions;
  static constexpr std::string_view kName = "adamw";
  static bool uses(const Options& o, std::size_t k) { return k < 2 || o.amsgrad; }
  static AdamNumbers numbers(const Options& options, std::int64_t step, double factor, bool first);
};
struct AdamL2Formula : AdamFormula {
  using Options = AdamOptions;
  static constexpr std::string_view kName = "adam";
  static bool uses(const Options& o, std::size_t k) { return k < 2 || o.amsgrad; }
  static AdamNumbers numbers(const Options& options, std::int64_t step, double factor, bool first);
};

using AdamWRule = ElementRule<AdamWFormula>;
using AdamRule = ElementRule<AdamL2Formula>;

/// torch::optim::Optimizer of the rule: change one line of a libtorch program.
using AdamW = RuleOptimizer<AdamWRule>;
using Adam = RuleOptimizer<AdamRule>;

}  // namespace steepest
