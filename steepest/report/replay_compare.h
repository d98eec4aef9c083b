#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

#include "steepest/report/replay_case.h"

namespace steepest {

/// What a comparison found: the error beside its limit, in the measure that is kinder to the
/// tensor.
struct ReplayDifference {
  enum class Measure {
    kAbsolute,   ///< |a - b| of the worst element, beside atol + rtol |b| there
    kFrobenius,  ///< |a - b| / |b| in the Frobenius norm, beside frob
    kCount       ///< counters: beside 0
  };
  std::string where = {};  ///< "param/3/wide"
  Measure measure = Measure::kAbsolute;
  double error = 0;
  double tolerance = 0;
  /// error / tolerance: 0 for equal tensors, infinite where nothing is allowed or an element is not
  /// finite on one side only. Above 1 is a mismatch.
  double ratio = 0;

  bool passed() const { return ratio <= 1; }
};

/// "absolute", "frobenius", "count".
std::string_view name(ReplayDifference::Measure measure);

/// Compares in float64 whatever the dtypes. Elements that are the same NaN or infinity on both
/// sides count as equal. ShapeError if the shapes differ.
ReplayDifference compare_tensors(std::string where, const at::Tensor& ours,
                                 const at::Tensor& theirs, const ReplayLimits& limits,
                                 const StateComparison& how = {});

/// Compares a counter with a tensor of one element, as numbers. ShapeError if it has more.
ReplayDifference compare_counter(std::string where, double ours, const at::Tensor& theirs);

}  // namespace steepest
