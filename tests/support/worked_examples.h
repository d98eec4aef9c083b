#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <cstdint>

namespace steepest {

/// Numbers that any language can make: frac(sin(12.9898 (i+1) + 78.233 (j+1) + 37.719 t)
/// 43758.5453) - 0.5, in fp64. The values expected of them in tests were worked out in fp64 from
/// the published formulas.
inline at::Tensor worked_matrix(std::int64_t rows, std::int64_t cols, double t) {
  at::Tensor matrix = at::empty({rows, cols}, at::kDouble);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) {
      const double x = std::sin(12.9898 * static_cast<double>(i + 1) +
                                78.233 * static_cast<double>(j + 1) + 37.719 * t) *
                       43758.5453;
      matrix[i][j] = x - std::floor(x) - 0.5;
    }
  return matrix;
}

}  // namespace steepest
