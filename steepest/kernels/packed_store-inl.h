// From a tile of fp32 results to packed matrices, and the way back of an addend. Included once a
// target, so the guard is Highway's own.
#if defined(STEEPEST_KERNELS_PACKED_STORE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STEEPEST_KERNELS_PACKED_STORE_INL_H
#undef STEEPEST_KERNELS_PACKED_STORE_INL_H
#else
#define STEEPEST_KERNELS_PACKED_STORE_INL_H
#endif

#include <hwy/highway.h>

#include <cstring>

#include "steepest/kernels/packed.h"

HWY_BEFORE_NAMESPACE();
namespace steepest::kernels {
namespace HWY_NAMESPACE {

using Lanes16 = hwy::HWY_NAMESPACE::CappedTag<float, 16>;

/// bf16 to nearest, ties to even, in the upper half of each lane; the lower half is left over. NaN
/// stays NaN.
template <class V>
HWY_INLINE auto RoundedBf16(V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::DFromV<V> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto bits = hn::BitCast(du, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fff)));
  const auto is_nan = hn::RebindMask(du, hn::IsNaN(x));
  return hn::IfThenElse(is_nan, hn::Or(bits, hn::Set(du, 0x400000)), rounded);
}

/// to[c * to_stride + r] = from[r * stride + c] for r < 8, c < columns; columns a multiple of 4.
HWY_INLINE void TransposeEight(const std::uint32_t* from, std::size_t stride, std::size_t columns,
                               std::uint32_t* to, std::size_t to_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t r = 0; r < 8; ++r) to[c * to_stride + r] = from[r * stride + c];
#else
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::FixedTag<std::uint32_t, 4> d;
  const hn::FixedTag<std::uint64_t, 2> dd;
  for (std::size_t c = 0; c < columns; c += 4)
    for (std::size_t r = 0; r < 8; r += 4) {
      const std::uint32_t* const at = from + r * stride + c;
      const auto r0 = hn::LoadU(d, at), r1 = hn::LoadU(d, at + stride);
      const auto r2 = hn::LoadU(d, at + 2 * stride), r3 = hn::LoadU(d, at + 3 * stride);
      const auto low01 = hn::BitCast(dd, hn::InterleaveLower(d, r0, r1));
      const auto low23 = hn::BitCast(dd, hn::InterleaveLower(d, r2, r3));
      const auto high01 = hn::BitCast(dd, hn::InterleaveUpper(d, r0, r1));
      const auto high23 = hn::BitCast(dd, hn::InterleaveUpper(d, r2, r3));
      std::uint32_t* const out = to + c * to_stride + r;
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, low01, low23)), d, out);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, low01, low23)), d, out + to_stride);
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, high01, high23)), d, out + 2 * to_stride);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, high01, high23)), d, out + 3 * to_stride);
    }
#endif
}

/// to[c] = the pair of from[2 c] and from[2 c + 1] in bf16, for n values; n a multiple of 16.
HWY_INLINE void PairUp(const float* from, std::size_t n, std::uint32_t* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  const Lanes16 d;
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t c = 0; c < n; c += 2)
    to[c / 2] = hn::GetLane(RoundedBf16(hn::LoadU(d, from + c))) >> 16 |
                (hn::GetLane(RoundedBf16(hn::LoadU(d, from + c + 1))) & 0xffff0000u);
#else
  const hn::Repartition<std::uint64_t, decltype(d)> dw;
  const hn::Rebind<std::uint32_t, decltype(dw)> half;
  for (std::size_t c = 0; c < n; c += hn::Lanes(d)) {
    const auto two = hn::BitCast(dw, RoundedBf16(hn::LoadU(d, from + c)));
    const auto low = hn::And(hn::ShiftRight<16>(two), hn::Set(dw, 0xffffu));
    const auto high = hn::And(hn::ShiftRight<32>(two), hn::Set(dw, 0xffff0000u));
    hn::StoreU(hn::TruncateTo(half, hn::Or(low, high)), half, to + c / 2);
  }
#endif
}

/// C(i .. i + 8, a panel of columns) from tile [8][width] into C^T packed: the columns are its
/// rows.
HWY_INLINE void StoreColumns(const float* tile, const Packed& to, std::size_t panel,
                             std::size_t i) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (to.unit == Unit::kF32) {
    std::memcpy(to.at(panel, i), tile, kTileRows * to.width * sizeof(float));
    return;
  }
  const Lanes16 d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const std::size_t n = hn::Lanes(d);
  for (std::size_t r = 0; r < kTileRows; r += 2) {
    std::uint32_t* const out = to.at(panel, (i + r) / 2);
    for (std::size_t c = 0; c < to.width; c += n) {
      const auto even = RoundedBf16(hn::LoadU(d, tile + r * to.width + c));
      const auto odd = RoundedBf16(hn::LoadU(d, tile + (r + 1) * to.width + c));
      hn::StoreU(hn::Or(hn::ShiftRight<16>(even), hn::And(odd, hn::Set(du, 0xffff0000u))), du,
                 out + c);
    }
  }
}

/// The same tile into C packed: `count` of its columns, which start at column j of C, a multiple of
/// 8 both.
HWY_INLINE void StoreRows(const float* tile, std::size_t width, const Packed& to, std::size_t i,
                          std::size_t j, std::size_t count) {
  const std::size_t panel = i / to.width, row = i % to.width;
  if (to.unit == Unit::kF32) {
    TransposeEight(reinterpret_cast<const std::uint32_t*>(tile), width, count,
                   to.at(panel, j) + row, to.width);
    return;
  }
  HWY_ALIGN std::uint32_t pairs[kTileRows * kMaxWidth / 2];
  PairUp(tile, kTileRows * width, pairs);
  TransposeEight(pairs, width / 2, count / 2, to.at(panel, j / 2) + row, to.width);
}

/// tile <- scale tile + beta addend, the addend packed as StoreColumns leaves it.
HWY_INLINE void ScaleAndAdd(float* tile, float scale, const Packed& addend, float beta,
                            std::size_t panel, std::size_t i) {
  namespace hn = hwy::HWY_NAMESPACE;
  const Lanes16 d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const std::size_t n = hn::Lanes(d), width = addend.width;
  const auto s = hn::Set(d, scale), b = hn::Set(d, beta);
  if (addend.unit == Unit::kF32) {
    const auto* from = reinterpret_cast<const float*>(addend.at(panel, i));
    for (std::size_t c = 0; c < kTileRows * width; c += n)
      hn::StoreU(hn::MulAdd(b, hn::LoadU(d, from + c), hn::Mul(s, hn::LoadU(d, tile + c))), d,
                 tile + c);
    return;
  }
  for (std::size_t r = 0; r < kTileRows; r += 2) {
    const std::uint32_t* const from = addend.at(panel, (i + r) / 2);
    float* const even = tile + r * width;
    float* const odd = even + width;
    for (std::size_t c = 0; c < width; c += n) {
      const auto two = hn::LoadU(du, from + c);
      const auto low = hn::BitCast(d, hn::ShiftLeft<16>(two));
      const auto high = hn::BitCast(d, hn::And(two, hn::Set(du, 0xffff0000u)));
      hn::StoreU(hn::MulAdd(b, low, hn::Mul(s, hn::LoadU(d, even + c))), d, even + c);
      hn::StoreU(hn::MulAdd(b, high, hn::Mul(s, hn::LoadU(d, odd + c))), d, odd + c);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace steepest::kernels
HWY_AFTER_NAMESPACE();

#endif
