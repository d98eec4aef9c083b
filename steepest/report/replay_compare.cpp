#include "steepest/report/replay_compare.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "steepest/base/error.h"
#include "steepest/tensor/bridge.h"

namespace steepest {
namespace {

using Measure = ReplayDifference::Measure;
using Kind = StateComparison::Kind;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

at::Tensor as_float64(const at::Tensor& tensor) {
  return tensor.detach().to(at::kCPU).to(at::kDouble).clone(at::MemoryFormat::Contiguous);
}
std::span<double> values(const at::Tensor& tensor) {
  return {tensor.mutable_data_ptr<double>(), static_cast<std::size_t>(tensor.numel())};
}

bool same_non_finite(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (std::isinf(a) && a == b);
}

/// Negates whole columns of `a` (last dimension, within each matrix) that point away from those of
/// `b`.
void align_columns(std::span<double> a, std::span<const double> b, std::int64_t rows,
                   std::int64_t columns) {
  if (rows * columns == 0) return;
  const auto size = static_cast<std::size_t>(rows * columns),
             step = static_cast<std::size_t>(columns);
  for (std::size_t matrix = 0; matrix < a.size(); matrix += size)
    for (std::size_t column = 0; column < step; ++column) {
      double product = 0;
      for (std::size_t i = matrix + column; i < matrix + size; i += step) product += a[i] * b[i];
      if (product >= 0) continue;
      for (std::size_t i = matrix + column; i < matrix + size; i += step) a[i] = -a[i];
    }
}

double ratio_of(double error, double tolerance) {
  if (error == 0) return 0;
  const double ratio = error / tolerance;
  return std::isnan(ratio) ? kInfinite : ratio;
}

/// The worst element: largest |a - b| / (atol + rtol |b|).
ReplayDifference by_element(std::span<const double> a, std::span<const double> b,
                            const ReplayLimits& limits) {
  ReplayDifference worst{.where = {}, .measure = Measure::kAbsolute, .tolerance = limits.atol};
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (same_non_finite(a[i], b[i])) continue;
    double error = std::abs(a[i] - b[i]);
    if (std::isnan(error)) error = kInfinite;
    const double tolerance = limits.atol + limits.rtol * std::abs(b[i]);
    const double ratio = std::isfinite(b[i]) ? ratio_of(error, tolerance) : kInfinite;
    // A smaller ratio that is nearer to its limit says more than a larger error far below its own.
    if (ratio > worst.ratio || (ratio == worst.ratio && error > worst.error)) {
      worst.error = error;
      worst.tolerance = tolerance;
      worst.ratio = ratio;
    }
  }
  return worst;
}

ReplayDifference by_norm(std::span<const double> a, std::span<const double> b, double frob) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (same_non_finite(a[i], b[i])) continue;
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  ReplayDifference found{.where = {}, .measure = Measure::kFrobenius, .tolerance = frob};
  found.error = difference == 0 ? 0 : std::sqrt(difference) / std::sqrt(norm);
  if (std::isnan(found.error)) found.error = kInfinite;
  found.ratio = ratio_of(found.error, frob);
  return found;
}

}  // namespace

std::string_view name(Measure measure) {
  switch (measure) {
    case Measure::kAbsolute:
      return "absolute";
    case Measure::kFrobenius:
      return "frobenius";
    case Measure::kCount:
      return "count";
  }
  return "?";
}

ReplayDifference compare_tensors(std::string where, const at::Tensor& ours,
                                 const at::Tensor& theirs, const ReplayLimits& limits,
                                 const StateComparison& how) {
  if (ours.sizes() != theirs.sizes())
    throw ShapeError(
        {.what = fmt::format("{} has shape {} here, {} in the file", where,
                             shape_text(shape_of(ours)), shape_text(shape_of(theirs)))});
  const at::Tensor a_tensor = as_float64(ours), b_tensor = as_float64(theirs);
  const std::span<double> a = values(a_tensor), b = values(b_tensor);
  ReplayLimits in_force = limits;
  if (how.kind == Kind::kSkip) return {.where = std::move(where)};
  if (how.kind == Kind::kCodes) in_force = {.rtol = 0, .atol = how.number};
  if (how.kind == Kind::kRelative) in_force = {.rtol = how.number, .atol = 0};
  if (how.kind == Kind::kAbsolute) {
    for (double& value : a) value = std::abs(value);
    for (double& value : b) value = std::abs(value);
  }
  if (how.kind == Kind::kColumnsUpToSign && theirs.dim() >= 2)
    align_columns(a, b, theirs.size(-2), theirs.size(-1));

  ReplayDifference found = by_element(a, b, in_force);
  if (in_force.frob) {
    const bool has_element_limits = in_force.rtol > 0 || in_force.atol > 0;
    ReplayDifference norm = by_norm(a, b, *in_force.frob);
    if (!has_element_limits || norm.ratio < found.ratio) found = std::move(norm);
  }
  found.where = std::move(where);
  return found;
}

ReplayDifference compare_counter(std::string where, double ours, const at::Tensor& theirs) {
  if (theirs.numel() != 1)
    throw ShapeError({.what = fmt::format("{} has {} values in the file", where, theirs.numel()),
                      .why = "it is a single counter"});
  const double error = std::abs(ours - theirs.to(at::kCPU).to(at::kDouble).item<double>());
  return {.where = std::move(where),
          .measure = Measure::kCount,
          .error = error,
          .tolerance = 0,
          .ratio = ratio_of(error, 0)};
}

}  // namespace steepest
