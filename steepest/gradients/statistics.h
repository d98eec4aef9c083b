#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>

namespace steepest {

/// What one read of a set of gradients tells.
struct GradientStats {
  double sum_of_squares =
      0;  ///< of finite and non-finite values alike, so it is NaN or Inf where one is
  std::int64_t non_finite = 0;  ///< NaN or Inf values
  std::int64_t zeros = 0;       ///< values that are exactly 0
  std::int64_t count = 0;       ///< values looked at
  std::optional<std::size_t>
      first_non_finite;  ///< index in the span of the first tensor that holds one

  double norm() const;
  /// Adds those of further tensors, whose indices start at `offset`.
  void add(const GradientStats& other, std::size_t offset);
};

/// Reads every gradient once; undefined tensors (missing gradients) are passed over. The sum is
/// taken in fp64 in a fixed order, so its bits do not depend on the number of threads. Squares of
/// fp32 values up to 1e38 do not overflow. Works on any device, dtype and strides.
GradientStats gradient_statistics(std::span<const at::Tensor> gradients);

}  // namespace steepest
