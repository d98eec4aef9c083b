#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "steepest/base/dtype.h"
#include "steepest/linalg/coefficient_sets.h"
#include "steepest/linalg/ns_enums.h"

namespace steepest {

struct NewtonSchulzOptions {
  std::vector<NsCoefficients>
      coefficients;  ///< one tuple an iteration (coefficient_schedule makes it)
  NormGuard guard = NormGuard::kScaleFree;
  double eps = 1e-7;    ///< of the guard; unused by scale_free
  double safety = 1.0;  ///< s: the norm is multiplied by it (1.02 for dion's Polar Express)
  std::optional<Dtype>
      input_dtype;  ///< round to it before the norm is taken, as torch, kj and dion do (bf16)
  Dtype compute_dtype =
      Dtype::kBFloat16;  ///< of the iteration: float64, float32, bfloat16 or float16
  Rounding rounding = Rounding::kR2;
};

/// Approximates the orthogonal polar factor of each matrix: g = U S V^T becomes about U V^T.
///
/// Shapes    g [..., rows, cols], any strides; leading dimensions are a batch. Result: the same,
///           contiguous. Without elements: zeros.
/// Dtypes    g real floating point; iterates in o.compute_dtype, which the result has too.
/// Units     none: with guard scale_free, scaling g does not change the result.
/// Accuracy  with `simple`, 5 steps and float32, every singular value above 0.01 of the Frobenius
///           norm lands in [0.68, 1.14], smaller ones in [0, 1.21]. bf16, from 64 rows on: 0.03
///           from float64 under R2 and 0.12 under R0 and R1, in the relative Frobenius norm;
///           singular values within 0.05 of those intervals.
/// Cost      a step: 4 r^2 c + 2 r^3 flops with r = min(rows, cols), c = max; a scratch X, A and B
///           for each matrix of the batch.
/// Errors    ShapeError below two dimensions. A NaN or Inf turns its whole matrix into NaN; nothing
///           is thrown. g itself is never written to, whatever its dtype.
/// Source    K. Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024;
///           N. Amsel et al., "The Polar Express", 2025.
at::Tensor newton_schulz(const at::Tensor& g, const NewtonSchulzOptions& o);

}  // namespace steepest
