#include "steepest/gradients/statistics.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "steepest/kernels/statistics.h"

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

/// `count` elements of a dense tensor on the CPU.
Sums read_chunk(const at::Tensor& tensor, std::int64_t begin, std::int64_t count) {
  if (tensor.scalar_type() == at::kDouble)
    return read_fp64(tensor.const_data_ptr<double>() + begin, count);
  const auto* values = static_cast<const std::byte*>(tensor.const_data_ptr());
  return kernels::read_values(format_of(tensor.scalar_type()),
                              values + static_cast<std::size_t>(begin) * tensor.element_size(),
                              static_cast<std::size_t>(count));
}

/// A whole tensor on another device, summed there.
Sums read_on_device(const at::Tensor& tensor) {
  return {.squares = tensor.to(at::kDouble).square().sum().item<double>(),
          .zeros = tensor.eq(0).sum().item<std::int64_t>(),
          .non_finite = at::isfinite(tensor).logical_not().sum().item<std::int64_t>()};
}

struct Work {
  std::size_t tensor;
  std::int64_t begin, count;
};

}  // namespace

double GradientStats::norm() const { return std::sqrt(sum_of_squares); }

void GradientStats::add(const GradientStats& other, std::size_t offset) {
  sum_of_squares += other.sum_of_squares;
  non_finite += other.non_finite;
  zeros += other.zeros;
  count += other.count;
  if (!first_non_finite && other.first_non_finite)
    first_non_finite = offset + *other.first_non_finite;
}

GradientStats gradient_statistics(std::span<const at::Tensor> gradients) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> dense(gradients.size());
  std::vector<Work> work;
  GradientStats stats;
  std::vector<std::pair<std::size_t, Sums>> elsewhere;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined() || gradients[i].numel() == 0) continue;
    stats.count += gradients[i].numel();
    if (!gradients[i].is_cpu()) {
      elsewhere.emplace_back(i, read_on_device(gradients[i].detach()));
      continue;
    }
    // Elements are read in logical order, so strides never show in the result.
    dense[i] = gradients[i].detach().contiguous();
    for (std::int64_t begin = 0; begin < dense[i].numel(); begin += kChunk)
      work.push_back({i, begin, std::min(kChunk, dense[i].numel() - begin)});
  }
  std::vector<Sums> partials(work.size());
  at::parallel_for(0, static_cast<std::int64_t>(work.size()), 1,
                   [&](std::int64_t from, std::int64_t to) {
                     for (std::int64_t w = from; w < to; ++w) {
                       const Work& item = work[static_cast<std::size_t>(w)];
                       partials[static_cast<std::size_t>(w)] =
                           read_chunk(dense[item.tensor], item.begin, item.count);
                     }
                   });
  const auto take = [&](std::size_t tensor, const Sums& sums) {
    stats.sum_of_squares += sums.squares;
    stats.zeros += sums.zeros;
    stats.non_finite += sums.non_finite;
    if (sums.non_finite > 0 && (!stats.first_non_finite || tensor < *stats.first_non_finite))
      stats.first_non_finite = tensor;
  };
  for (std::size_t w = 0; w < work.size(); ++w) take(work[w].tensor, partials[w]);
  for (const auto& [tensor, sums] : elsewhere) take(tensor, sums);
  return stats;
}

}  // namespace steepest
