#pragma once

#include <optional>
#include <vector>

#include "steepest/base/dtype.h"
#include "steepest/base/fields.h"
#include "steepest/linalg/coefficient_sets.h"
#include "steepest/linalg/ns_enums.h"
#include "steepest/precision/storage.h"

namespace steepest {

/// m <- mu m + g (heavy ball) or m <- lerp(m, g, 1 - mu) (ema).
enum class MomentumForm { kHeavyBall, kEma };
/// Factor on the step, by the matrix's shape (out, in); names of all libraries are read.
enum class ScaleMode { kNone, kUnitRmsNorm, kMatchRmsAdamW, kSpectral, kShapeScaling };
/// What a missing gradient means: the parameter is skipped, or (kj) a gradient of zeros.
enum class MissingGradient { kSkip, kZero };
/// Where the scale's (out, in) come from for weights above two dimensions: the flattened matrix, or
/// (kj) the last two dimensions of the gradient as it came.
enum class ScaleShape { kMatrix, kLastTwo };
/// How a parameter above two dimensions becomes matrices: the last two dimensions, all before them
/// a batch; or one matrix (first dimension, product of the rest); or (kj) that for four dimensions
/// alone.
enum class HigherDims { kBatch, kFlatten, kFlattenConv };

inline const auto& spellings(MomentumForm) {
  static constexpr Spelling<MomentumForm> kAll[] = {{MomentumForm::kHeavyBall, "heavy_ball"},
                                                    {MomentumForm::kEma, "ema"}};
  return kAll;
}
inline const auto& spellings(ScaleMode) {
  static constexpr Spelling<ScaleMode> kAll[] = {
      {ScaleMode::kNone, "none"},
      {ScaleMode::kUnitRmsNorm, "unit_rms_norm"},
      {ScaleMode::kUnitRmsNorm, "spectral_norm"},  // dion's name
      {ScaleMode::kMatchRmsAdamW, "match_rms_adamw"},
      {ScaleMode::kMatchRmsAdamW, "rms_norm"},  // dion's and gram's name
      {ScaleMode::kSpectral, "spectral"},
      {ScaleMode::kShapeScaling, "shape_scaling"},
      {ScaleMode::kShapeScaling, "original"},  // torch's name
  };
  return kAll;
}
inline const auto& spellings(MissingGradient) {
  static constexpr Spelling<MissingGradient> kAll[] = {{MissingGradient::kSkip, "skip"},
                                                       {MissingGradient::kZero, "zero"}};
  return kAll;
}
inline const auto& spellings(ScaleShape) {
  static constexpr Spelling<ScaleShape> kAll[] = {{ScaleShape::kMatrix, "matrix"},
                                                  {ScaleShape::kLastTwo, "last_two"}};
  return kAll;
}
inline const auto& spellings(HigherDims) {
  static constexpr Spelling<HigherDims> kAll[] = {{HigherDims::kBatch, "batch"},
                                                  {HigherDims::kFlatten, "flatten"},
                                                  {HigherDims::kFlattenConv, "flatten_conv"}};
  return kAll;
}

/// Muon: momentum, orthogonalized, scaled by shape; decoupled weight decay. One implementation,
/// every dialect an explicit set of options. The defaults are torch.optim.Muon's, but for a guard
/// that keeps the update scale-free and momentum kept in fp32 for 16-bit weights. Source: K. Jordan
/// et al., "Muon: an optimizer for hidden layers in neural networks", 2024.
///
/// A 1 x N or N x 1 weight is a matrix with one singular value: its update is the normalized
/// momentum times what the polynomial makes of 1 (0.696 for `simple` and 5 steps) times the scale.
/// A weight of fewer than two dimensions is refused.
struct MuonOptions {
  double lr = 1e-3;
  double momentum = 0.95;
  bool nesterov = true;
  MomentumForm momentum_form = MomentumForm::kEma;
  double weight_decay = 0.1;
  CoefficientSet coefficients = CoefficientSet::kSimple;
  std::vector<double> custom_coefficients =
      {};  ///< a, b, c of each iteration in turn; empty: `coefficients`
  int steps = 5;
  bool allow_partial_cycle = false;
  NormGuard guard = NormGuard::kScaleFree;
  double eps = 1e-7;
  double safety = 1.0;
  std::optional<Dtype> input_dtype =
      {};  ///< the input is rounded to it before anything else; null: not rounded
  Dtype compute_dtype = Dtype::kBFloat16;
  Rounding rounding = Rounding::kR2;
  NsAlgorithm algorithm = NsAlgorithm::kAuto;
  ScaleMode scale = ScaleMode::kShapeScaling;
  ScaleShape scale_shape = ScaleShape::kMatrix;
  HigherDims higher_dims = HigherDims::kFlatten;
  MissingGradient missing_gradient = MissingGradient::kSkip;
  std::optional<Dtype> momentum_dtype =
      Dtype::kFloat32;  ///< null: the parameter's (fp64 parameters keep fp64)
  MasterFormat masters = MasterFormat::kNone;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;

  static constexpr auto fields() {
    using O = MuonOptions;
    return std::tuple_cat(
        std::tuple{
            field("lr", &O::lr, rate(), "step size; a schedule sets it every step"),
            field("momentum", &O::momentum, decay_factor(), "decay of the gradient average"),
            field("nesterov", &O::nesterov,
                  "orthogonalize a look-ahead instead of the average itself"),
            field("momentum_form", &O::momentum_form,
                  "heavy_ball: m = mu m + g; ema: m = mu m + (1 - mu) g"),
            field("weight_decay", &O::weight_decay, at_least_zero(),
                  "decoupled: w shrinks by lr * weight_decay a step"),
            field("coefficients", &O::coefficients, "published coefficient list of the iteration"),
            field("custom_coefficients", &O::custom_coefficients, any_number(),
                  "a, b, c of each iteration in turn, instead of a published list"),
            field("steps", &O::steps, Range{.low = 1, .high = 99, .text = "in 1 .. 99"},
                  "iterations"),
            field("allow_partial_cycle", &O::allow_partial_cycle,
                  "accept a number of steps that the list's length does not divide"),
            field("guard", &O::guard, "how the norm is kept away from zero"),
            field("eps", &O::eps, above_zero(), "of the guards add and clamp"),
            field("safety", &O::safety, Range{.low = 1, .text = "finite and at least 1"},
                  "the norm is multiplied by it before the division"),
            field("input_dtype", &O::input_dtype,
                  "round what is orthogonalized to this element type first; null: not rounded"),
            field("compute_dtype", &O::compute_dtype, "element type of the iteration"),
            field("rounding", &O::rounding, "what is rounded in 16-bit iterations"),
            field("algorithm", &O::algorithm,
                  "how the iteration is computed: the same polynomial, other rounding and time"),
            field("scale", &O::scale, "factor on the step by the matrix's shape"),
            field("scale_shape", &O::scale_shape,
                  "where that shape comes from above two dimensions"),
            field("higher_dims", &O::higher_dims,
                  "how a weight above two dimensions becomes matrices"),
            field("missing_gradient", &O::missing_gradient,
                  "a missing gradient skips the parameter or counts as zeros"),
            field("momentum_dtype", &O::momentum_dtype,
                  "element type of the average; null: the parameter's")},
        weight_storage_fields<O>());
  }
  static void check(const MuonOptions& o, Rules& rules);
  bool operator==(const MuonOptions&) const = default;

  /// torch.optim.Muon 2.13: as the defaults, clamp guard 1e-7, input rounded to bf16 first,
  /// momentum in the parameter's dtype.
  static MuonOptions torch();
  /// dion.Muon: heavy ball, no nesterov, Polar Express with the norm times 1.02, unit_rms_norm, lr
  /// 0.01, wd 0.01, batch.
  static MuonOptions dion();
  /// KellerJordan/Muon: ema, nesterov, add guard, lr 0.02, no decay, a missing gradient counts as
  /// zeros.
  static MuonOptions kj();
};

}  // namespace steepest
