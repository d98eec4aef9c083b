#pragma once

#include <optional>
#include <vector>

#include "steepest/base/fields.h"
#include "steepest/optimizers/muon_options.h"

namespace steepest {

/// torch.optim.Muon's own factor on the step.
enum class TorchAdjustLr { kOriginal, kMatchRmsAdamW };

inline const auto& spellings(TorchAdjustLr) {
  static constexpr Spelling<TorchAdjustLr> kAll[] = {
      {TorchAdjustLr::kOriginal, "original"}, {TorchAdjustLr::kMatchRmsAdamW, "match_rms_adamw"}};
  return kAll;
}

/// The constructor of torch.optim.Muon 2.13, by its own names and defaults.
struct TorchMuonOptions {
  double lr = 1e-3;
  double weight_decay = 0.1;
  double momentum = 0.95;
  bool nesterov = true;
  std::vector<double> ns_coefficients = {3.4445, -4.775, 2.0315};
  double eps = 1e-7;
  int ns_steps = 5;
  std::optional<TorchAdjustLr> adjust_lr_fn = {};  ///< unset: original

  static constexpr auto fields() {
    using O = TorchMuonOptions;
    return std::tuple{
        field("lr", &O::lr, rate(), "step size of the matrices"),
        field("weight_decay", &O::weight_decay, at_least_zero(), "decoupled decay"),
        field("momentum", &O::momentum, decay_factor(), "decay of the gradient average"),
        field("nesterov", &O::nesterov, "orthogonalize a look-ahead instead of the average itself"),
        field("ns_coefficients", &O::ns_coefficients, any_number(), "a, b, c of every iteration"),
        field("eps", &O::eps, above_zero(), "least norm that is divided by"),
        field("ns_steps", &O::ns_steps, Range{.low = 1, .high = 99, .text = "in 1 .. 99"},
              "iterations"),
        field("adjust_lr_fn", &O::adjust_lr_fn, "factor on the step by the matrix's shape")};
  }
  static void check(const TorchMuonOptions& o, Rules& rules);
};

/// The same in our own options: the dialect `torch`.
MuonOptions muon_options(const TorchMuonOptions& o);

}  // namespace steepest
