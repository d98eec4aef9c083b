// A 16-bit weight and what is kept beside it: the master's 16 low bits, or where inside half an ulp
// of the weight the master lies.
#include "steepest/kernels/codecs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "steepest/kernels/codecs_master.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "steepest/kernels/half-inl.h"
#include "steepest/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace steepest::kernels {
namespace HWY_NAMESPACE {
namespace {

using VI = hn::Vec<I>;
using I8 = hn::Rebind<std::int8_t, F>;

// master = (P - (r < 0)) << 16 | (r & 0xffff):  as r is sign-extended, (P << 16) + r.
void JoinRemainder(const std::uint16_t* narrow, const std::int16_t* remainder, float* to,
                   std::size_t n) {
  const auto body = [](const std::uint16_t* p, const std::int16_t* r, float* t) {
    const VI low = hn::PromoteTo(I(), hn::LoadU(I16(), r));
    const VU high = hn::ShiftLeft<16>(LoadU16(p));
    hn::StoreU(FromBits(hn::Add(high, hn::BitCast(U(), low))), F(), t);
  };
  ForLanes(hn::Lanes(F()), n, body, narrow, remainder, to);
}

// r = low 16 bits as int16;  P = high 16 bits + (r < 0) = (bits + 0x8000) >> 16
void SplitRemainder(const float* from, std::uint16_t* narrow, std::int16_t* remainder,
                    std::size_t n) {
  const auto body = [](const float* f, std::uint16_t* p, std::int16_t* r) {
    const VU bits = Bits(hn::LoadU(F(), f));
    StoreU16(hn::ShiftRight<16>(hn::Add(bits, hn::Set(U(), 0x8000))), p);
    const VI low = hn::ShiftRight<16>(hn::BitCast(I(), hn::ShiftLeft<16>(bits)));
    hn::StoreU(hn::DemoteTo(I16(), low), I16(), r);
  };
  ForLanes(hn::Lanes(F()), n, body, from, narrow, remainder);
}

/// What differs between bf16 and fp16 weights.
struct Bf16 {
  static constexpr int kMantissa = 7, kBias = 127, kMostExponent = 0xFF;
  static HWY_INLINE VF Wide(VU bits) { return Bf16ToF32(bits); }
  static HWY_INLINE VU Narrow(VF v) { return F32ToBf16(v); }
};
struct Fp16 {
  static constexpr int kMantissa = 10, kBias = 15, kMostExponent = 0x1F;
  static HWY_INLINE VF Wide(VU bits) { return F16ToF32(bits); }
  static HWY_INLINE VU Narrow(VF v) { return F32ToF16(v); }
};

/// Code loads and stores.
struct Code8 {
  using T = std::int8_t;
  static constexpr float kMost = 127;
  static HWY_INLINE VI Load(const T* from) { return hn::PromoteTo(I(), hn::LoadU(I8(), from)); }
  static HWY_INLINE void Store(VI v, T* to) { hn::StoreU(hn::DemoteTo(I8(), v), I8(), to); }
};
struct Code16 {
  using T = std::int16_t;
  static constexpr float kMost = 32767;
  static HWY_INLINE VI Load(const T* from) { return hn::PromoteTo(I(), hn::LoadU(I16(), from)); }
  static HWY_INLINE void Store(VI v, T* to) { hn::StoreU(hn::DemoteTo(I16(), v), I16(), to); }
};

/// k = E(x_narrow) - mant - 1, log2 of half a step at it.
template <class Narrow>
HWY_INLINE VI HalfStep(VU narrow) {
  const I i;
  const VU field = hn::And(hn::BitCast(U(), hn::ShiftRight<Narrow::kMantissa>(narrow)),
                           hn::Set(U(), Narrow::kMostExponent));
  const VI exponent = hn::Max(hn::BitCast(i, field), hn::Set(i, 1));
  return hn::Sub(exponent, hn::Set(i, Narrow::kBias + Narrow::kMantissa + 1));
}
HWY_INLINE VF PowerOfTwo(VI e) {
  return hn::BitCast(F(), hn::ShiftLeft<23>(hn::Add(e, hn::Set(I(), 127))));
}
/// x 2^e in two steps, so that no factor leaves fp32's range; floor halves of e.
HWY_INLINE VF TimesPowerOfTwo(VF x, VI e) {
  const VI h = hn::ShiftRight<1>(e);
  return hn::Mul(hn::Mul(x, PowerOfTwo(h)), PowerOfTwo(hn::Sub(e, h)));
}

template <class Narrow, class Code>
void DecodeError(const std::uint16_t* narrow, const typename Code::T* code, float* to,
                 std::size_t n) {
  const auto body = [](const std::uint16_t* p, const typename Code::T* c, float* t) {
    const VU bits = LoadU16(p);
    const VF part = hn::Div(hn::ConvertTo(F(), Code::Load(c)), hn::Set(F(), Code::kMost));
    const VF error = TimesPowerOfTwo(part, HalfStep<Narrow>(bits));
    hn::StoreU(hn::Add(Narrow::Wide(bits), error), F(), t);
  };
  ForLanes(hn::Lanes(F()), n, body, narrow, code, to);
}

template <class Narrow, class Code>
void EncodeError(const float* from, std::uint16_t* narrow, typename Code::T* code, std::size_t n) {
  const auto body = [](const float* f, std::uint16_t* p, typename Code::T* c) {
    const F d;
    const VF x = hn::LoadU(d, f);
    const VU bits = Narrow::Narrow(x);
    StoreU16(bits, p);
    const VF error = hn::Sub(x, Narrow::Wide(bits));
    const VF one = hn::Set(d, 1.0f);
    VF part = TimesPowerOfTwo(error, hn::Neg(HalfStep<Narrow>(bits)));
    part = hn::Min(hn::Max(part, hn::Neg(one)), one);
    const VF size =
        hn::Floor(hn::Add(hn::Mul(hn::Abs(part), hn::Set(d, Code::kMost)), hn::Set(d, 0.5f)));
    // Nothing is kept beside Inf and NaN.
    const auto finite = hn::IsFinite(Narrow::Wide(bits));
    Code::Store(hn::ConvertTo(I(), hn::IfThenElseZero(finite, hn::CopySign(size, part))), c);
  };
  ForLanes(hn::Lanes(F()), n, body, from, narrow, code);
}

void DecodeBf16Error8(const std::uint16_t* p, const std::int8_t* c, float* t, std::size_t n) {
  DecodeError<Bf16, Code8>(p, c, t, n);
}
void EncodeBf16Error8(const float* f, std::uint16_t* p, std::int8_t* c, std::size_t n) {
  EncodeError<Bf16, Code8>(f, p, c, n);
}
void DecodeBf16Error16(const std::uint16_t* p, const std::int16_t* c, float* t, std::size_t n) {
  DecodeError<Bf16, Code16>(p, c, t, n);
}
void EncodeBf16Error16(const float* f, std::uint16_t* p, std::int16_t* c, std::size_t n) {
  EncodeError<Bf16, Code16>(f, p, c, n);
}
void DecodeF16Error8(const std::uint16_t* p, const std::int8_t* c, float* t, std::size_t n) {
  DecodeError<Fp16, Code8>(p, c, t, n);
}
void EncodeF16Error8(const float* f, std::uint16_t* p, std::int8_t* c, std::size_t n) {
  EncodeError<Fp16, Code8>(f, p, c, n);
}
void DecodeF16Error16(const std::uint16_t* p, const std::int16_t* c, float* t, std::size_t n) {
  DecodeError<Fp16, Code16>(p, c, t, n);
}
void EncodeF16Error16(const float* f, std::uint16_t* p, std::int16_t* c, std::size_t n) {
  EncodeError<Fp16, Code16>(f, p, c, n);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace steepest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace steepest::kernels {
HWY_EXPORT(JoinRemainder);
HWY_EXPORT(SplitRemainder);
HWY_EXPORT(DecodeBf16Error8);
HWY_EXPORT(EncodeBf16Error8);
HWY_EXPORT(DecodeBf16Error16);
HWY_EXPORT(EncodeBf16Error16);
HWY_EXPORT(DecodeF16Error8);
HWY_EXPORT(EncodeF16Error8);
HWY_EXPORT(DecodeF16Error16);
HWY_EXPORT(EncodeF16Error16);

void join_remainder(const std::uint16_t* narrow, const std::int16_t* remainder, float* to,
                    std::size_t n) {
  HWY_DYNAMIC_DISPATCH(JoinRemainder)(narrow, remainder, to, n);
}
void split_remainder(const float* from, std::uint16_t* narrow, std::int16_t* remainder,
                     std::size_t n) {
  HWY_DYNAMIC_DISPATCH(SplitRemainder)(from, narrow, remainder, n);
}
void decode_bf16_error8(const std::uint16_t* narrow, const std::int8_t* code, float* to,
                        std::size_t n) {
  HWY_DYNAMIC_DISPATCH(DecodeBf16Error8)(narrow, code, to, n);
}
void encode_bf16_error8(const float* from, std::uint16_t* narrow, std::int8_t* code,
                        std::size_t n) {
  HWY_DYNAMIC_DISPATCH(EncodeBf16Error8)(from, narrow, code, n);
}
void decode_bf16_error16(const std::uint16_t* narrow, const std::int16_t* code, float* to,
                         std::size_t n) {
  HWY_DYNAMIC_DISPATCH(DecodeBf16Error16)(narrow, code, to, n);
}
void encode_bf16_error16(const float* from, std::uint16_t* narrow, std::int16_t* code,
                         std::size_t n) {
  HWY_DYNAMIC_DISPATCH(EncodeBf16Error16)(from, narrow, code, n);
}
void decode_fp16_error8(const std::uint16_t* narrow, const std::int8_t* code, float* to,
                        std::size_t n) {
  HWY_DYNAMIC_DISPATCH(DecodeF16Error8)(narrow, code, to, n);
}
void encode_fp16_error8(const float* from, std::uint16_t* narrow, std::int8_t* code,
                        std::size_t n) {
  HWY_DYNAMIC_DISPATCH(EncodeF16Error8)(from, narrow, code, n);
}
void decode_fp16_error16(const std::uint16_t* narrow, const std::int16_t* code, float* to,
                         std::size_t n) {
  HWY_DYNAMIC_DISPATCH(DecodeF16Error16)(narrow, code, to, n);
}
void encode_fp16_error16(const float* from, std::uint16_t* narrow, std::int16_t* code,
                         std::size_t n) {
  HWY_DYNAMIC_DISPATCH(EncodeF16Error16)(from, narrow, code, n);
}

}  // namespace steepest::kernels
#endif
