#pragma once

#include "steepest/kernels/element_rules.h"
#include "steepest/optimizers/element_rule.h"
#include "steepest/optimizers/rule_optimizer.h"
#include "steepest/optimizers/sgd_options.h"

namespace steepest {

/// momentum_buffer, with momentum only: shape of the parameter, kept as options.states says, with
/// its scales where that is a coded format; the master beside a 16-bit weight where options.masters
/// calls for one.
/// It comes into being with the first update under momentum, which sets it.
struct SGDState {
  std::int64_t step = 0;
  at::Tensor momentum_buffer, momentum_buffer_scales, master;

  static constexpr auto tensors() {
    using S = SGDState;
    return std::tuple{StateField<S>{"momentum_buffer", &S::momentum_buffer},
                      StateField<S>{"momentum_buffer::scales", &S::momentum_buffer_scales},
                      StateField<S>{"master_param", &S::master}};
  }
};

/// What SGD's formula multiplies with.
struct SGDNumbers {
  double factor, l2, momentum, dampening;
  bool nesterov;
  bool first;  ///< the velocity comes into being
  double step_size;
};

struct SGDFormula {
  using Options = SGDOptions;
  using State = SGDState;
  static constexpr std::string_view kName = "sgd";
  static constexpr auto kKernel = kernels::sgd;
  static constexpr bool kStatesComeWithTheFirstUpdate = true;
  static std::array<ElementStream<State>, 1> streams();
  static bool uses(const Options& o, std::size_t) { return o.momentum != 0; }
  static SGDNumbers numbers(const Options& options, std::int64_t step, double factor, bool first);
  static kernels::SgdScalars scalars(const SGDNumbers& numbers);
  static void plain(const SGDNumbers& numbers, at::Tensor& w, const at::Tensor& g,
                    std::array<at::Tensor, 3>& states);
};

using SGDRule = ElementRule<SGDFormula>;
using SGD = RuleOptimizer<SGDRule>;

}  // namespace steepest
