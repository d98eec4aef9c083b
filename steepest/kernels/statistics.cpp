#include "steepest/kernels/statistics.h"

#include <algorithm>
#include <cmath>

#include "steepest/kernels/codecs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "steepest/kernels/statistics.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace steepest::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kSums = 32;

/// Adds whole rounds of kSums values to `sums`; the square of an fp32 value is exact in fp64, so a
/// fused multiply-add and two steps give the same bits. Returns the zeros.
std::size_t AddSquares(const float* from, std::size_t rounds, double* sums) {
  const hn::ScalableTag<double> d;
  const hn::ScalableTag<float> df;
  constexpr std::size_t kLanes = hn::MaxLanes(d), kVectors = kSums / kLanes;
  hn::Vec<decltype(d)> sum[kVectors];
  for (std::size_t k = 0; k < kVectors; ++k) sum[k] = hn::LoadU(d, sums + k * kLanes);
  const auto add = [&](auto& total, auto narrow) {
    const auto x = hn::PromoteTo(d, narrow);
    total = hn::MulAdd(x, x, total);
  };
  std::size_t zeros = 0;
  for (std::size_t r = 0; r < rounds; ++r, from += kSums) {
    hwy::Prefetch(from + 1024);
#if HWY_TARGET == HWY_SCALAR
    for (std::size_t k = 0; k < kVectors; ++k) {
      const auto narrow = hn::LoadU(df, from + k);
      zeros += hn::CountTrue(df, hn::Eq(narrow, hn::Zero(df)));
      add(sum[k], narrow);
    }
#else
    const hn::Half<decltype(df)> dh;
    for (std::size_t k = 0; k < kVectors; k += 2) {
      const auto narrow = hn::LoadU(df, from + k * kLanes);
      zeros += hn::CountTrue(df, hn::Eq(narrow, hn::Zero(df)));
      add(sum[k], hn::LowerHalf(dh, narrow));
      add(sum[k + 1], hn::UpperHalf(dh, narrow));
    }
#endif
  }
  for (std::size_t k = 0; k < kVectors; ++k) hn::StoreU(sum[k], d, sums + k * kLanes);
  return zeros;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace steepest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace steepest::kernels {
HWY_EXPORT(AddSquares);

namespace {

/// Decoded at a time; a multiple of the running sums.
constexpr std::size_t kAtOnce = 1024;

void add(const float* from, std::size_t n, double* sums, std::int64_t& zeros) {
  constexpr std::size_t kSums = 32;
  const std::size_t rounds = n / kSums;
  zeros += static_cast<std::int64_t>(HWY_DYNAMIC_DISPATCH(AddSquares)(from, rounds, sums));
  for (std::size_t i = rounds * kSums; i < n; ++i) {
    const double x = from[i];
    sums[i % kSums] += x * x;
    zeros += x == 0;
  }
}

/// Calls visit(fp32 values, count) for pieces that start at multiples of kAtOnce.
template <class Visit>
void for_pieces(Format format, const void* values, std::size_t n, const Visit& visit) {
  if (format == Format::kF32) return visit(static_cast<const float*>(values), n);
  float wide[kAtOnce];
  for (std::size_t i = 0; i < n; i += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, n - i);
    const auto* from = static_cast<const std::uint16_t*>(values) + i;
    format == Format::kBF16 ? decode_bf16(from, wide, count) : decode_fp16(from, wide, count);
    visit(wide, count);
  }
}

}  // namespace

Sums read_values(Format format, const void* values, std::size_t n) {
  double sums[32] = {};
  Sums result;
  for_pieces(format, values, n,
             [&](const float* from, std::size_t count) { add(from, count, sums, result.zeros); });
  for (const double each : sums) result.squares += each;
  // Only a sum that is not finite makes a second look worth while.
  if (!std::isfinite(result.squares))
    for_pieces(format, values, n, [&](const float* from, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) result.non_finite += !std::isfinite(from[i]);
    });
  return result;
}

}  // namespace steepest::kernels
#endif
