#include "steepest/gradients/statistics.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace steepest {
namespace {

/// Elements a partial sum covers. Fixed, so that the sum does not depend on the number of threads.
constexpr std::int64_t kChunk = 1 << 15;
/// Independent running sums inside a chunk: enough to hide the latency of an addition.
constexpr int kLanes = 8;

struct Partial {
  double sum = 0;
  std::int64_t zeros = 0, non_finite = 0;
};

template <class T>
Partial read_chunk(const T* data, std::int64_t count) {
  double sums[kLanes] = {};
  std::int64_t zeros = 0;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) {
      const double x = static_cast<double>(data[i + lane]);
      sums[lane] += x * x;
      zeros += x == 0;
    }
  for (; i < count; ++i) {
    const double x = static_cast<double>(data[i]);
    sums[i % kLanes] += x * x;
    zeros += x == 0;
  }
  Partial partial{.zeros = zeros};
  for (const double each : sums) partial.sum += each;
  // Only a sum that is not finite makes a second look worth while.
  if (!std::isfinite(partial.sum))
    for (std::int64_t j = 0; j < count; ++j)
      partial.non_finite += !std::isfinite(static_cast<double>(data[j]));
  return partial;
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
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined() || gradients[i].numel() == 0) continue;
    // Elements are read in logical order, so strides never show in the result.
    dense[i] = gradients[i].detach().cpu().contiguous();
    for (std::int64_t begin = 0; begin < dense[i].numel(); begin += kChunk)
      work.push_back({i, begin, std::min(kChunk, dense[i].numel() - begin)});
    stats.count += dense[i].numel();
  }
  std::vector<Partial> partials(work.size());
  at::parallel_for(
      0, static_cast<std::int64_t>(work.size()), 1, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t w = from; w < to; ++w) {
          const Work& item = work[static_cast<std::size_t>(w)];
          const at::Tensor& tensor = dense[item.tensor];
          AT_DISPATCH_FLOATING_TYPES_AND2(
              at::kHalf, at::kBFloat16, tensor.scalar_type(), "gradient_statistics", [&] {
                partials[static_cast<std::size_t>(w)] =
                    read_chunk(tensor.const_data_ptr<scalar_t>() + item.begin, item.count);
              });
        }
      });
  for (std::size_t w = 0; w < work.size(); ++w) {
    stats.sum_of_squares += partials[w].sum;
    stats.zeros += partials[w].zeros;
    stats.non_finite += partials[w].non_finite;
    if (partials[w].non_finite > 0 && !stats.first_non_finite)
      stats.first_non_finite = work[w].tensor;
  }
  return stats;
}

}  // namespace steepest
