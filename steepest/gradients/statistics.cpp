#include "steepest/gradients/statistics.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace steepest {
namespace {

/// Elements a partial sum covers. Fixed, so that the sum does not depend on the number of threads.
constexpr std::int64_t kChunk = 1 << 15;

using kernels::Sums;

kernels::Format format_of(at::ScalarType type) {
  return type == at::kBFloat16 ? kernels::Format::kBF16
         : type == at::kHalf   ? kernels::Format::kF16
                               : kernels::Format::kF32;
}

Sums read_fp64(const double* values, std::int64_t count) {
  // The order of the kernel, so that a type does not show in the bits of equal values.
  double running[32] = {};
  Sums sums;
  for (std::int64_t i = 0; i < count; ++i) {
    running[i % 32] += values[i] * values[i];
    sums.zeros += values[i] == 0;
    sums.non_finite += !std::isfinite(values[i]);
  }
  for (const double each : running) sums.squares += each;
  return sums;
}

/// A whole tensor on another device, summed there.
Sums read_on_device(const at::Tensor& tensor) {
  return {.squares = tensor.to(at::kDouble).square().sum().item<double>(),
          .zeros = tensor.eq(0).sum().item<std::int64_t>(),
          .non_finite = at::isfinite(tensor).logical_not().sum().item<std::int64_t>()};
}

/// Adds a gradient's squares: on the CPU, widened where it is narrow, a piece at a time.
void add_exactly(const at::Tensor& gradient, ExactSquares& sum) {
  const at::Tensor flat = gradient.detach().cpu().contiguous().view({-1});
  const auto size = static_cast<std::size_t>(flat.numel());
  if (flat.scalar_type() == at::kDouble)
    return sum.add(std::span(flat.const_data_ptr<double>(), size));
  if (flat.scalar_type() == at::kFloat)
    return sum.add(std::span(flat.const_data_ptr<float>(), size));
  for (std::int64_t begin = 0; begin < flat.numel(); begin += kChunk) {
    const at::Tensor wide = flat.slice(0, begin, begin + kChunk).to(at::kFloat);
    sum.add(std::span(wide.const_data_ptr<float>(), static_cast<std::size_t>(wide.numel())));
  }
}

}  // namespace

double GradientStats::norm() const { return std::sqrt(sum_of_squares); }

GradientStats& GradientStats::operator+=(const GradientStats& other) {
  sum_of_squares += other.sum_of_squares;
  non_finite += other.non_finite;
  zeros += other.zeros;
  count += other.count;
  return *this;
}

void GradientReader::read_part(Part& part) const {
  const at::Tensor& tensor = *dense_[part.tensor];
  const auto* values = static_cast<const std::byte*>(tensor.const_data_ptr()) +
                       static_cast<std::size_t>(part.begin) * tensor.element_size();
  part.sums = tensor.scalar_type() == at::kDouble
                  ? read_fp64(reinterpret_cast<const double*>(values), part.count)
                  : kernels::read_values(format_of(tensor.scalar_type()), values,
                                         static_cast<std::size_t>(part.count));
}

void GradientReader::read(std::span<const at::Tensor> gradients, SumForm form,
                          std::span<const KnownGradient> known) {
  const at::NoGradGuard no_grad;
  const bool exactly = form == SumForm::kExact;
  stats_.assign(gradients.size(), {});
  exact_.resize(exactly ? gradients.size() : 0);
  copies_.clear();
  copies_.reserve(gradients.size());  // their addresses are kept
  dense_.assign(gradients.size(), nullptr);
  parts_.clear();
  const auto take = [&](std::size_t tensor, const Sums& sums) {
    stats_[tensor].sum_of_squares += sums.squares;
    stats_[tensor].zeros += sums.zeros;
    stats_[tensor].non_finite += sums.non_finite;
  };
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const at::Tensor& gradient = gradients[i];
    if (exactly) exact_[i].clear();
    if (!known.empty() && known[i].stats != nullptr) {
      stats_[i] = *known[i].stats;
      if (exactly) exact_[i].add(*known[i].exact);
      continue;
    }
    if (!gradient.defined() || gradient.numel() == 0) continue;
    stats_[i].count = gradient.numel();
    if (!gradient.is_cpu()) {
      take(i, read_on_device(gradient.detach()));
      continue;
    }
    // Elements are read in logical order, so strides never show in the result.
    if (gradient.is_contiguous()) {
      dense_[i] = &gradient;
    } else {
      copies_.push_back(gradient.detach().contiguous());
      dense_[i] = &copies_.back();
    }
    for (std::int64_t begin = 0; begin < gradient.numel(); begin += kChunk)
      parts_.push_back({i, begin, std::min(kChunk, gradient.numel() - begin), {}});
  }
  at::parallel_for(0, static_cast<std::int64_t>(parts_.size()), 1,
                   [this](std::int64_t from, std::int64_t to) {
                     for (std::int64_t p = from; p < to; ++p)
                       read_part(parts_[static_cast<std::size_t>(p)]);
                   });
  for (const Part& part : parts_) take(part.tensor, part.sums);
  if (exactly) {
    at::parallel_for(
        0, static_cast<std::int64_t>(gradients.size()), 1, [&](std::int64_t from, std::int64_t to) {
          const at::NoGradGuard no_grad_here;
          for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(to); ++i) {
            const bool is_known = !known.empty() && known[i].stats != nullptr;
            if (is_known || !gradients[i].defined() || gradients[i].numel() == 0) continue;
            add_exactly(gradients[i], exact_[i]);
            if (stats_[i].non_finite == 0) stats_[i].sum_of_squares = exact_[i].value();
          }
        });
  }
  copies_.clear();
}

GradientStats gradient_statistics(std::span<const at::Tensor> gradients, SumForm form) {
  GradientReader reader;
  reader.read(gradients, form);
  GradientStats all;
  for (const GradientStats& each : reader.stats()) all += each;
  if (form == SumForm::kExact && all.non_finite == 0) {
    ExactSquares sum;
    for (const ExactSquares& each : reader.exact()) sum.add(each);
    all.sum_of_squares = sum.value();
  }
  return all;
}

}  // namespace steepest
