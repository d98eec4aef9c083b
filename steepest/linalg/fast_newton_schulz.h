#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "steepest/linalg/newton_schulz.h"
#include "steepest/linalg/ns_enums.h"

namespace steepest {

/// Newton-Schulz by our own packed products: the polynomial of newton_schulz() and its guards, with
/// every product's result stored as the next one's operand.
///
/// Serves    fp32, bf16 and fp16 matrices on the CPU; compute_dtype float32 or bfloat16; rounding
///           R2. bf16 products use AVX512-BF16 where there is one, else fp32 sums of bf16 values;
///           where the processor multiplies bf16 in blocks (AMX), libtorch's products are faster
///           and `auto` leaves bf16 to them.
/// Rounding  R2: fp32 sums, one rounding when a result is stored. The bits depend neither on the
///           number of threads, nor on the batch or the matrix's place in it.
/// Accuracy  relative Frobenius error against float64 of the same polynomial for Gaussian input, 64
///           rows or more: 1e-5 in fp32, 0.03 in bf16. Unlike newton_schulz() in fp32, norms are
///           sums in fp64, so that values near 1e30 do not overflow under any guard.
/// Cost      d rows, D >= d columns, T iterations, s restarts: standard T (3 d^2 D + d^3) flops,
///           gram 3 (s + 1) d^2 D + (4 T - 3 s - 3) d^3.
/// Memory    3 packed d x D and 4 d x d matrices for each thread that works on a matrix of its own,
///           kept in this object: no more is allocated after the first call for the largest shape.
/// Errors    none of its own: a NaN or Inf turns its whole matrix into NaN.
class FastNewtonSchulz {
 public:
  explicit FastNewtonSchulz(NewtonSchulzOptions options,
                            NsAlgorithm algorithm = NsAlgorithm::kAuto);
  ~FastNewtonSchulz();
  FastNewtonSchulz(FastNewtonSchulz&&) noexcept;
  FastNewtonSchulz& operator=(FastNewtonSchulz&&) noexcept;

  /// Which way a matrix of this size and type goes: kStandard or kGram, or kPlain for what is not
  /// served. Never kAuto.
  NsAlgorithm chosen(std::int64_t rows, std::int64_t columns, at::ScalarType type) const;

  /// The factor of each matrix, in the compute dtype. All 2-D, of one shape and type; those not
  /// served go through newton_schulz().
  std::vector<at::Tensor> operator()(std::span<const at::Tensor> matrices);
  /// The same for [..., rows, columns].
  at::Tensor operator()(const at::Tensor& batch);

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace steepest
