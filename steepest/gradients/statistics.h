#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "steepest/gradients/exact_squares.h"
#include "steepest/kernels/statistics.h"

namespace steepest {

/// What one read of a gradient, or of several, tells.
struct GradientStats {
  double sum_of_squares = 0;    ///< NaN or Inf where a value is
  std::int64_t non_finite = 0;  ///< NaN or Inf values
  std::int64_t zeros = 0;       ///< values that are exactly 0
  std::int64_t count = 0;       ///< values looked at

  double norm() const;
  /// Adds those of further gradients. The sum is rounded: the order of additions shows in its last
  /// bits.
  GradientStats& operator+=(const GradientStats& other);
  bool operator==(const GradientStats&) const = default;
};

/// How squares are added up.
enum class SumForm {
  kOrdered,  ///< in fp64, in an order that depends on shapes alone
  kExact     ///< without rounding until the end: the same for any cut of the gradients into parts
};

/// What is known of a gradient before it is read: it is not read again.
struct KnownGradient {
  const GradientStats* stats = nullptr;
  const ExactSquares* exact = nullptr;  ///< required where sums are exact
};

/// Reads gradients once, each by itself. Works on any device, floating dtype and strides: elements
/// are read in logical order. Bits do not depend on the number of threads. Squares of fp32 values
/// neither overflow nor vanish. Memory is kept from read to read.
class GradientReader {
 public:
  /// Undefined tensors (missing gradients) and empty ones count nothing. `known` is empty or has an
  /// entry for every gradient.
  void read(std::span<const at::Tensor> gradients, SumForm form = SumForm::kOrdered,
            std::span<const KnownGradient> known = {});

  /// Of each gradient of the last read.
  std::span<const GradientStats> stats() const { return stats_; }
  /// The exact sum of each; empty unless it was asked for. Non-finite values are not in it.
  std::span<const ExactSquares> exact() const { return exact_; }

 private:
  struct Part {
    std::size_t tensor;
    std::int64_t begin, count;
    kernels::Sums sums;
  };
  void read_part(Part& part) const;

  std::vector<at::Tensor> copies_;  ///< of strided gradients
  std::vector<const at::Tensor*> dense_;
  std::vector<Part> parts_;
  std::vector<GradientStats> stats_;
  std::vector<ExactSquares> exact_;
};

/// All gradients together, each added in order.
GradientStats gradient_statistics(std::span<const at::Tensor> gradients,
                                  SumForm form = SumForm::kOrdered);

}  // namespace steepest
