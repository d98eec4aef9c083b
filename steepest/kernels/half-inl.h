// bf16 and fp16 vectors to fp32 and back. Included once a target, so the guard is Highway's.
#if defined(STEEPEST_KERNELS_HALF_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STEEPEST_KERNELS_HALF_INL_H
#undef STEEPEST_KERNELS_HALF_INL_H
#else
#define STEEPEST_KERNELS_HALF_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace steepest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using U = hn::RebindToUnsigned<F>;
using I = hn::RebindToSigned<F>;
using U16 = hn::Rebind<std::uint16_t, F>;
using I16 = hn::Rebind<std::int16_t, F>;
using VF = hn::Vec<F>;
using VU = hn::Vec<U>;

HWY_INLINE VU LoadU16(const std::uint16_t* from) {
  return hn::PromoteTo(U(), hn::LoadU(U16(), from));
}
HWY_INLINE void StoreU16(VU v, std::uint16_t* to) {
  // Values are below 2^16: the signed, saturating form is exact and every target has it.
  hn::StoreU(hn::DemoteTo(U16(), hn::BitCast(I(), v)), U16(), to);
}
HWY_INLINE VU Bits(VF v) { return hn::BitCast(U(), v); }
HWY_INLINE VF FromBits(VU v) { return hn::BitCast(F(), v); }

HWY_INLINE VF Bf16ToF32(VU bits) { return FromBits(hn::ShiftLeft<16>(bits)); }

/// To nearest, ties to even; NaN becomes 0x7FC0, as in c10.
HWY_INLINE VU F32ToBf16(VF v) {
  const U u;
  const VU bits = Bits(v);
  const VU odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1));
  const VU rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7FFF))));
  return hn::IfThenElse(hn::RebindMask(u, hn::IsNaN(v)), hn::Set(u, 0x7FC0), rounded);
}

/// Exact. A number m 2^-24 below fp16's smallest normal one is found by a multiplication; the
/// others by moving bits. Inf and NaN keep their meaning.
HWY_INLINE VF F16ToF32(VU bits) {
  const U u;
  const VU sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(u, 0x8000)));
  const VU magnitude = hn::And(bits, hn::Set(u, 0x7FFF));
  const VF small = hn::Mul(hn::ConvertTo(F(), hn::BitCast(I(), magnitude)), hn::Set(F(), 0x1p-24f));
  const VU normal = hn::Add(hn::ShiftLeft<13>(magnitude), hn::Set(u, (127 - 15) << 23));
  const VU special = hn::Or(hn::ShiftLeft<13>(magnitude), hn::Set(u, 0x7F800000));
  const auto is_small = hn::Lt(hn::BitCast(I(), magnitude), hn::Set(I(), 0x0400));
  const auto is_special = hn::Gt(hn::BitCast(I(), magnitude), hn::Set(I(), 0x7BFF));
  VU result = hn::IfThenElse(hn::RebindMask(u, is_special), special, normal);
  result = hn::IfThenElse(hn::RebindMask(u, is_small), Bits(small), result);
  return FromBits(hn::Or(result, sign));
}

/// To nearest, ties to even; NaN becomes 0x7E00.
HWY_INLINE VU F32ToF16(VF v) {
  const U u;
  const I i;
  const VU bits = Bits(v);
  const VU sign = hn::ShiftRight<16>(hn::And(bits, hn::Set(u, 0x80000000)));
  const VU magnitude = hn::And(bits, hn::Set(u, 0x7FFFFFFF));
  // Normal: the 13 low bits are rounded off, the exponent is moved; a carry may run into it.
  const VU odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(u, 1));
  const VU normal = hn::ShiftRight<13>(
      hn::Sub(hn::Add(magnitude, hn::Add(odd, hn::Set(u, 0xFFF))), hn::Set(u, (127 - 15) << 23)));
  // Small: adding 1/2 rounds to multiples of 2^-24, which are then the low bits.
  const VU half = hn::Set(u, 0x3F000000);
  const VU small = hn::Sub(Bits(hn::Add(FromBits(magnitude), FromBits(half))), half);
  const auto above = [&](std::int32_t limit) {
    return hn::RebindMask(u, hn::Gt(hn::BitCast(i, magnitude), hn::Set(i, limit)));
  };
  VU result = hn::IfThenElse(above(0x387FFFFF), normal, small);
  result = hn::IfThenElse(above(0x477FEFFF), hn::Set(u, 0x7C00), result);
  result = hn::Or(result, sign);
  return hn::IfThenElse(above(0x7F800000), hn::Set(u, 0x7E00), result);
}

}  // namespace HWY_NAMESPACE
}  // namespace steepest::kernels
HWY_AFTER_NAMESPACE();

#endif
