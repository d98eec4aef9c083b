#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/optim/optimizer.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "steepest/optimizers/rules.h"
#include "steepest/step/member.h"

namespace steepest::test {

/// A rule under options that use all of its parts.
struct RuleCase {
  std::string name;
  bool elementwise;  ///< an element's result depends on its own values alone
  RuleOptions options;
  /// The rule as a libtorch optimizer over these parameters.
  std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<at::Tensor>)> build;

  friend void PrintTo(const RuleCase& rule, std::ostream* out) { *out << rule.name; }
};

template <Rule R>
RuleCase rule_case(std::string name, bool elementwise, const typename R::Options& options) {
  return {std::move(name), elementwise, options, [options](std::vector<at::Tensor> params) {
            return std::make_unique<RuleOptimizer<R>>(std::move(params), options);
          }};
}

inline std::vector<RuleCase> rule_cases() {
  MuonOptions plain = MuonOptions::torch(), dion = MuonOptions::dion(), kj = MuonOptions::kj();
  plain.compute_dtype = Dtype::kFloat32;
  plain.input_dtype = {};
  return {
      rule_case<AdamWRule>("adamw", true, {.lr = 0.05, .weight_decay = 0.1}),
      rule_case<AdamWRule>("adamw amsgrad", true,
                           {.lr = 0.05, .weight_decay = 0.1, .amsgrad = true, .maximize = true}),
      rule_case<AdamRule>("adam", true, {.lr = 0.05, .weight_decay = 0.1}),
      rule_case<SGDRule>("sgd", true,
                         {.lr = 0.05, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true}),
      rule_case<SGDRule>("sgd plain", true, {.lr = 0.05}),
      rule_case<LionRule>("lion", true, {.lr = 0.05, .weight_decay = 0.1}),
      rule_case<MuonRule>("muon torch fp32", false, plain),
      rule_case<MuonRule>("muon torch", false, MuonOptions::torch()),
      rule_case<MuonRule>("muon dion", false, dion),
      rule_case<MuonRule>("muon kj", false, kj),
      rule_case<MuonRule>("muon", false, {}),
  };
}

/// Steps with these gradients in turn (undefined: none); gives the parameter back.
inline at::Tensor stepped(const RuleCase& rule, const at::Tensor& param,
                          const std::vector<at::Tensor>& grads) {
  const auto optimizer = rule.build({param});
  for (const at::Tensor& grad : grads) {
    param.mutable_grad() = grad;
    optimizer->step();
  }
  return param.detach();
}

/// Equal bits, NaN included.
inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
         (a.eq(b).logical_or(a.isnan().logical_and(b.isnan()))).all().item<bool>();
}

}  // namespace steepest::test
