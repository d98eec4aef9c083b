#pragma once

#include <cstddef>
#include <cstdint>

#include "steepest/kernels/formats.h"

namespace steepest::kernels {

/// What one read of values tells.
struct Sums {
  double squares = 0;           ///< NaN or Inf where a value is
  std::int64_t zeros = 0;       ///< values that are exactly 0
  std::int64_t non_finite = 0;  ///< NaN or Inf values
};

/// Reads `n` values, kF32, kBF16 or kF16. Element i is added to the running sum i % 32, all in
/// fp64, and these in order: the bits do not depend on the instruction set. Squares of fp32 values
/// neither overflow nor vanish.
Sums read_values(Format format, const void* values, std::size_t n);

}  // namespace steepest::kernels
