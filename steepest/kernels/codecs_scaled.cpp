// fp8 (E4M3) and fp16 under one fp32 scale a tensor.
#include <cstring>
#include <limits>

#include "steepest/kernels/codecs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "steepest/kernels/codecs_scaled.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "steepest/kernels/half-inl.h"
#include "steepest/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace steepest::kernels {
namespace HWY_NAMESPACE {
namespace {

using U8 = hn::Rebind<std::uint8_t, F>;

/// E4M3: 4 bits of exponent (bias 7), 3 of mantissa, no Inf, NaN is 0x7F. Exact.
HWY_INLINE VF E4m3ToF32(VU bits) {
  const U u;
  const I i;
  const VU sign = hn::ShiftLeft<24>(hn::And(bits, hn::Set(u, 0x80)));
  const VU magnitude = hn::And(bits, hn::Set(u, 0x7F));
  const auto signed_magnitude = hn::BitCast(i, magnitude);
  const VF small = hn::Mul(hn::ConvertTo(F(), signed_magnitude), hn::Set(F(), 0x1p-9f));
  VU result = hn::Add(hn::ShiftLeft<20>(magnitude), hn::Set(u, (127 - 7) << 23));
  result = hn::IfThenElse(hn::RebindMask(u, hn::Lt(signed_magnitude, hn::Set(i, 8))), Bits(small),
                          result);
  result = hn::IfThenElse(hn::RebindMask(u, hn::Eq(signed_magnitude, hn::Set(i, 0x7F))),
                          hn::Set(u, 0x7FC00000), result);
  return FromBits(hn::Or(result, sign));
}

/// To nearest, ties to even; beyond 448 it stays 448; NaN becomes 0x7F.
HWY_INLINE VU F32ToE4m3(VF v) {
  const U u;
  const I i;
  const VU sign = hn::And(hn::ShiftRight<24>(Bits(v)), hn::Set(u, 0x80));
  const VF a = hn::Min(hn::Abs(v), hn::Set(F(), 448.0f));
  const VU magnitude = Bits(a);
  const VU odd = hn::And(hn::ShiftRight<20>(magnitude), hn::Set(u, 1));
  const VU normal = hn::ShiftRight<20>(
      hn::Sub(hn::Add(magnitude, hn::Add(odd, hn::Set(u, 0x7FFFF))), hn::Set(u, (127 - 7) << 23)));
  // Adding 2^14 rounds to multiples of 2^-9, the smallest step, which are then the low bits.
  const VU shift = hn::Set(u, 0x46800000);
  const VU small = hn::Sub(Bits(hn::Add(a, FromBits(shift))), shift);
  const auto is_small =
      hn::RebindMask(u, hn::Lt(hn::BitCast(i, magnitude), hn::Set(i, 0x3C800000)));
  const VU result = hn::Or(hn::IfThenElse(is_small, small, normal), sign);
  return hn::IfThenElse(hn::RebindMask(u, hn::IsNaN(v)), hn::Set(u, 0x7F), result);
}

void DecodeE4m3(const std::uint8_t* from, float scale, float* to, std::size_t n) {
  const auto body = [scale](const std::uint8_t* f, float* t) {
    const VU bits = hn::BitCast(U(), hn::PromoteTo(I(), hn::LoadU(U8(), f)));
    hn::StoreU(hn::Mul(E4m3ToF32(bits), hn::Set(F(), scale)), F(), t);
  };
  ForLanes(hn::Lanes(F()), n, body, from, to);
}
void EncodeE4m3(const float* from, float inverse, std::uint8_t* to, std::size_t n) {
  const auto body = [inverse](const float* f, std::uint8_t* t) {
    const VU bits = F32ToE4m3(hn::Mul(hn::LoadU(F(), f), hn::Set(F(), inverse)));
    hn::StoreU(hn::DemoteTo(U8(), hn::BitCast(I(), bits)), U8(), t);
  };
  ForLanes(hn::Lanes(F()), n, body, from, to);
}
void DecodeF16Scaled(const std::uint16_t* from, float scale, float* to, std::size_t n) {
  const auto body = [scale](const std::uint16_t* f, float* t) {
    hn::StoreU(hn::Mul(F16ToF32(LoadU16(f)), hn::Set(F(), scale)), F(), t);
  };
  ForLanes(hn::Lanes(F()), n, body, from, to);
}
void EncodeF16Scaled(const float* from, float inverse, std::uint16_t* to, std::size_t n) {
  const auto body = [inverse](const float* f, std::uint16_t* t) {
    StoreU16(F32ToF16(hn::Mul(hn::LoadU(F(), f), hn::Set(F(), inverse))), t);
  };
  ForLanes(hn::Lanes(F()), n, body, from, to);
}

/// Bits of |x| are ordered as the numbers, Inf and NaN above all.
std::int32_t LargestBits(const float* from, std::size_t n) {
  const I i;
  auto most = hn::Zero(i);
  const auto body = [&](const float* f) {
    most = hn::Max(most, hn::BitCast(i, hn::Abs(hn::LoadU(F(), f))));
  };
  ForLanes(hn::Lanes(F()), n, body, from);
  return hn::GetLane(hn::MaxOfLanes(i, most));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace steepest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace steepest::kernels {
HWY_EXPORT(DecodeE4m3);
HWY_EXPORT(EncodeE4m3);
HWY_EXPORT(DecodeF16Scaled);
HWY_EXPORT(EncodeF16Scaled);
HWY_EXPORT(LargestBits);

namespace {
float not_zero(float scale) { return scale == 0 ? 1 : scale; }
}  // namespace

void decode_e4m3_scaled(const std::uint8_t* from, float scale, float* to, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(DecodeE4m3)(from, not_zero(scale), to, n);
}
void encode_e4m3_scaled(const float* from, float scale, std::uint8_t* to, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(EncodeE4m3)(from, 1 / not_zero(scale), to, n);
}
void decode_fp16_scaled(const std::uint16_t* from, float scale, float* to, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(DecodeF16Scaled)(from, not_zero(scale), to, n);
}
void encode_fp16_scaled(const float* from, float scale, std::uint16_t* to, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(EncodeF16Scaled)(from, 1 / not_zero(scale), to, n);
}
float largest_magnitude(const float* from, std::size_t n) {
  const std::int32_t bits = HWY_DYNAMIC_DISPATCH(LargestBits)(from, n);
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace steepest::kernels
#endif
