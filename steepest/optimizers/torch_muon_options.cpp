#include "steepest/optimizers/torch_muon_options.h"

namespace steepest {

void TorchMuonOptions::check(const TorchMuonOptions& o, Rules& rules) {
  rules.require(o.ns_coefficients.size() == 3, "ns_coefficients", o.ns_coefficients,
                "three numbers");
}

MuonOptions muon_options(const TorchMuonOptions& o) {
  MuonOptions options = MuonOptions::torch();
  options.lr = o.lr;
  options.weight_decay = o.weight_decay;
  options.momentum = o.momentum;
  options.nesterov = o.nesterov;
  options.custom_coefficients = o.ns_coefficients;
  options.eps = o.eps;
  options.steps = o.ns_steps;
  options.scale = o.adjust_lr_fn == TorchAdjustLr::kMatchRmsAdamW ? ScaleMode::kMatchRmsAdamW
                                                                  : ScaleMode::kShapeScaling;
  return options;
}

}  // namespace steepest
