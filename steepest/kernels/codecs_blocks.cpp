// 8-bit codes in blocks of kBlock elements, each block under one fp16 scale.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "steepest/kernels/codecs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "steepest/kernels/codecs_blocks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "steepest/kernels/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace steepest::kernels {
namespace HWY_NAMESPACE {
namespace {

using VI = hn::Vec<I>;
using I8 = hn::Rebind<std::int8_t, F>;
using U8 = hn::Rebind<std::uint8_t, F>;

/// Codes of a block above the largest scale go no further down than up.
HWY_INLINE VF Saturated(VF q) { return hn::Max(q, hn::Set(F(), -127.0f)); }

/// Blocks whose scales are worked out together, by vectors.
constexpr std::size_t kAtOnce = 16;

// With y = code / 127:  x = y / (2 - |y|) s = code / (254 - |code|) s
struct Softsign {
  using Code = std::int8_t;
  /// What is multiplied with in a block of scale s.
  static float Decoding(float s) { return s; }
  static HWY_INLINE VF Magnitude(VF x) { return hn::Abs(x); }
  static HWY_INLINE VF Decode(const Code* code, VF s) {
    const F d;
    const VF q = hn::ConvertTo(d, hn::PromoteTo(I(), hn::LoadU(I8(), code)));
    return hn::Mul(hn::Div(q, hn::Sub(hn::Set(d, 254.0f), hn::Abs(q))), s);
  }
  // n = x / s;  y = 2 n / (1 + |n|);  code = floor(127 y + 0.5)
  static HWY_INLINE void Encode(VF x, VF, VF s, Code* code) {
    const F d;
    const VF n = hn::Div(x, s);
    const VF y = hn::Div(hn::Add(n, n), hn::Add(hn::Set(d, 1.0f), hn::Abs(n)));
    const VF q = hn::Floor(hn::Add(hn::Mul(y, hn::Set(d, 127.0f)), hn::Set(d, 0.5f)));
    hn::StoreU(hn::DemoteTo(I8(), hn::ConvertTo(I(), Saturated(q))), I8(), code);
  }
};

// x = code (s / 127);  code = floor(127 (x / s) + 0.5)
struct Linear {
  using Code = std::int8_t;
  static float Decoding(float s) { return s / 127; }
  static HWY_INLINE VF Magnitude(VF x) { return hn::Abs(x); }
  static HWY_INLINE VF Decode(const Code* code, VF step) {
    return hn::Mul(hn::ConvertTo(F(), hn::PromoteTo(I(), hn::LoadU(I8(), code))), step);
  }
  static HWY_INLINE void Encode(VF x, VF, VF s, Code* code) {
    const F d;
    const VF q = hn::Floor(hn::Add(hn::Mul(hn::Div(x, s), hn::Set(d, 127.0f)), hn::Set(d, 0.5f)));
    hn::StoreU(hn::DemoteTo(I8(), hn::ConvertTo(I(), Saturated(q))), I8(), code);
  }
};

// x = (code (s / 255))^2;  r = sqrt(x);  code = floor(255 r / s + 0.5), kept at 1 or more where x >
// 0
template <bool kPublished>
struct Sqrt {
  using Code = std::uint8_t;
  static float Decoding(float s) { return s / 255; }
  // NaN may carry a sign, which would put it below all numbers.
  static HWY_INLINE VF Magnitude(VF x) { return hn::Abs(hn::Sqrt(x)); }
  static HWY_INLINE VF Decode(const Code* code, VF step) {
    const VF r = hn::Mul(hn::ConvertTo(F(), hn::PromoteTo(I(), hn::LoadU(U8(), code))), step);
    return hn::Mul(r, r);
  }
  static HWY_INLINE void Encode(VF x, VF r, VF s, Code* code) {
    const F d;
    VF q = hn::Floor(hn::Add(hn::Div(hn::Mul(hn::Set(d, 255.0f), r), s), hn::Set(d, 0.5f)));
    if (!kPublished) q = hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Max(q, hn::Set(d, 1.0f)), q);
    // AVX-512's way from 32 bits to 8 unsigned ones saturates only below 2^15.
    q = hn::Min(q, hn::Set(d, 255.0f));
    hn::StoreU(hn::DemoteTo(U8(), hn::ConvertTo(I(), q)), U8(), code);
  }
};

/// Whole blocks.
template <class Codec>
void DecodeBlocks(const typename Codec::Code* code, const std::uint16_t* scales, float* to,
                  std::size_t blocks) {
  const F d;
  const std::size_t lanes = hn::Lanes(d);
  float wide[kAtOnce];
  for (std::size_t done = 0; done < blocks; done += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, blocks - done);
    decode_fp16(scales + done, wide, count);
    for (std::size_t b = 0; b < count; ++b) {
      const VF s = hn::Set(d, Codec::Decoding(wide[b]));
      for (std::size_t i = 0; i < kBlock; i += lanes) {
        const std::size_t at = (done + b) * kBlock + i;
        hn::StoreU(Codec::Decode(code + at, s), d, to + at);
      }
    }
  }
}

template <class Codec>
void EncodeBlocks(const float* from, typename Codec::Code* code, std::uint16_t* scales,
                  std::size_t blocks) {
  const F d;
  const I di;
  const std::size_t lanes = hn::Lanes(d);
  float largest[kAtOnce];
  HWY_ALIGN float magnitudes[kAtOnce * kBlock];
  for (std::size_t done = 0; done < blocks; done += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, blocks - done);
    for (std::size_t b = 0; b < count; ++b) {
      // Bits of numbers >= 0 are ordered as the numbers, Inf and NaN above all.
      VI most = hn::Zero(di);
      for (std::size_t i = 0; i < kBlock; i += lanes) {
        const VF magnitude = Codec::Magnitude(hn::LoadU(d, from + (done + b) * kBlock + i));
        hn::StoreU(magnitude, d, magnitudes + b * kBlock + i);
        most = hn::Max(most, hn::BitCast(di, magnitude));
      }
      const std::int32_t bits = hn::GetLane(hn::MaxOfLanes(di, most));
      std::memcpy(&largest[b], &bits, sizeof bits);
      // Above fp16's range a block saturates at its largest scale instead of becoming Inf.
      largest[b] = std::isfinite(largest[b]) ? std::clamp(largest[b], 1e-12f, 65504.0f)
                                             : std::numeric_limits<float>::quiet_NaN();
    }
    encode_fp16(largest, scales + done, count);
    for (std::size_t b = 0; b < count; ++b) {
      const std::size_t at = (done + b) * kBlock;
      if (std::isnan(largest[b])) {
        std::memset(code + at, 0, kBlock);
        continue;
      }
      const VF s = hn::Set(d, largest[b]);
      for (std::size_t i = 0; i < kBlock; i += lanes)
        Codec::Encode(hn::LoadU(d, from + at + i), hn::LoadU(d, magnitudes + b * kBlock + i), s,
                      code + at + i);
    }
  }
}

/// The last, short block is filled up with zeros, which never are its largest value.
template <class Codec>
HWY_INLINE void Decode(const typename Codec::Code* code, const std::uint16_t* scales, float* to,
                       std::size_t n) {
  const std::size_t whole = n / kBlock, rest = n % kBlock;
  DecodeBlocks<Codec>(code, scales, to, whole);
  if (rest == 0) return;
  typename Codec::Code codes[kBlock] = {};
  float values[kBlock];
  std::memcpy(codes, code + whole * kBlock, rest);
  DecodeBlocks<Codec>(codes, scales + whole, values, 1);
  std::memcpy(to + whole * kBlock, values, rest * sizeof(float));
}
template <class Codec>
HWY_INLINE void Encode(const float* from, typename Codec::Code* code, std::uint16_t* scales,
                       std::size_t n) {
  const std::size_t whole = n / kBlock, rest = n % kBlock;
  EncodeBlocks<Codec>(from, code, scales, whole);
  if (rest == 0) return;
  float values[kBlock] = {};
  typename Codec::Code codes[kBlock];
  std::memcpy(values, from + whole * kBlock, rest * sizeof(float));
  EncodeBlocks<Codec>(values, codes, scales + whole, 1);
  std::memcpy(code + whole * kBlock, codes, rest);
}

void DecodeSoftsign8(const std::int8_t* c, const std::uint16_t* s, float* t, std::size_t n) {
  Decode<Softsign>(c, s, t, n);
}
void EncodeSoftsign8(const float* f, std::int8_t* c, std::uint16_t* s, std::size_t n) {
  Encode<Softsign>(f, c, s, n);
}
void DecodeLinear8(const std::int8_t* c, const std::uint16_t* s, float* t, std::size_t n) {
  Decode<Linear>(c, s, t, n);
}
void EncodeLinear8(const float* f, std::int8_t* c, std::uint16_t* s, std::size_t n) {
  Encode<Linear>(f, c, s, n);
}
void DecodeSqrt8(const std::uint8_t* c, const std::uint16_t* s, float* t, std::size_t n) {
  Decode<Sqrt<true>>(c, s, t, n);
}
void EncodeSqrt8(const float* f, std::uint8_t* c, std::uint16_t* s, std::size_t n, bool published) {
  published ? Encode<Sqrt<true>>(f, c, s, n) : Encode<Sqrt<false>>(f, c, s, n);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace steepest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace steepest::kernels {
HWY_EXPORT(DecodeSoftsign8);
HWY_EXPORT(EncodeSoftsign8);
HWY_EXPORT(DecodeLinear8);
HWY_EXPORT(EncodeLinear8);
HWY_EXPORT(DecodeSqrt8);
HWY_EXPORT(EncodeSqrt8);

void decode_softsign8(const std::int8_t* code, const std::uint16_t* scales, float* to,
                      std::size_t n) {
  HWY_DYNAMIC_DISPATCH(DecodeSoftsign8)(code, scales, to, n);
}
void encode_softsign8(const float* from, std::int8_t* code, std::uint16_t* scales, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(EncodeSoftsign8)(from, code, scales, n);
}
void decode_linear8(const std::int8_t* code, const std::uint16_t* scales, float* to,
                    std::size_t n) {
  HWY_DYNAMIC_DISPATCH(DecodeLinear8)(code, scales, to, n);
}
void encode_linear8(const float* from, std::int8_t* code, std::uint16_t* scales, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(EncodeLinear8)(from, code, scales, n);
}
void decode_sqrt8(const std::uint8_t* code, const std::uint16_t* scales, float* to, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(DecodeSqrt8)(code, scales, to, n);
}
void encode_sqrt8(const float* from, std::uint8_t* code, std::uint16_t* scales, std::size_t n,
                  bool published) {
  HWY_DYNAMIC_DISPATCH(EncodeSqrt8)(from, code, scales, n, published);
}

}  // namespace steepest::kernels
#endif
