#include "steepest/optimizers/muon_options.h"

namespace steepest {

void MuonOptions::check(const MuonOptions& o, Rules& rules) {
  rules.require(o.custom_coefficients.size() % 3 == 0, "custom_coefficients", o.custom_coefficients,
                "three numbers for each iteration");
  rules.require(is_floating_point(o.compute_dtype), "compute_dtype", o.compute_dtype,
                "a floating point type");
  rules.require(!o.input_dtype || is_floating_point(*o.input_dtype), "input_dtype", o.input_dtype,
                "a floating point type or null");
  rules.require(!o.momentum_dtype || is_floating_point(*o.momentum_dtype), "momentum_dtype",
                o.momentum_dtype, "a floating point type or null");
  const std::size_t length = o.custom_coefficients.empty()
                                 ? steepest::coefficients(o.coefficients).size()
                                 : o.custom_coefficients.size() / 3;
  rules.require(o.allow_partial_cycle || length <= 1 || o.steps < 1 ||
                    o.steps % static_cast<int>(length) == 0,
                "steps", o.steps,
                "a multiple of the " + to_text(static_cast<std::int64_t>(length)) +
                    " coefficients of the list",
                "or set allow_partial_cycle: a restarted list can turn the update around");
}

MuonOptions MuonOptions::torch() {
  return {.guard = NormGuard::kClamp,
          .eps = 1e-7,
          .input_dtype = Dtype::kBFloat16,
          .momentum_dtype = std::nullopt};
}

MuonOptions MuonOptions::dion() {
  return {.lr = 0.01,
          .nesterov = false,
          .momentum_form = MomentumForm::kHeavyBall,
          .weight_decay = 0.01,
          .coefficients = CoefficientSet::kPolarExpress,
          .guard = NormGuard::kAdd,
          .eps = 1e-8,
          .safety = 1.02,
          .input_dtype = Dtype::kBFloat16,
          .scale = ScaleMode::kUnitRmsNorm,
          .higher_dims = HigherDims::kBatch,
          .momentum_dtype = std::nullopt};
}

MuonOptions MuonOptions::kj() {
  return {.lr = 0.02,
          .weight_decay = 0,
          .guard = NormGuard::kAdd,
          .eps = 1e-7,
          .input_dtype = Dtype::kBFloat16,
          .scale_shape = ScaleShape::kLastTwo,
          .higher_dims = HigherDims::kFlattenConv,
          .missing_gradient = MissingGradient::kZero,
          .momentum_dtype = std::nullopt};
}

}  // namespace steepest
