// bf16 and fp16, to nearest and by chance.
#include <algorithm>
#include <bit>
#include <cstring>

#include "steepest/kernels/codecs.h"

#ifndef STEEPEST_KERNELS_CODECS_HALF_ONCE
#define STEEPEST_KERNELS_CODECS_HALF_ONCE
namespace steepest::kernels {
/// Most that one turn of a vector loop of the generator makes.
inline constexpr std::size_t kBlocksAtOnce = 32;
}  // namespace steepest::kernels
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "steepest/kernels/codecs_half.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "steepest/kernels/half-inl.h"
#include "steepest/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace steepest::kernels {
namespace HWY_NAMESPACE {
namespace {

using Word = std::uint16_t;

void DecodeBf16(const Word* from, float* to, std::size_t n) {
  const auto body = [](const Word* f, float* t) { hn::StoreU(Bf16ToF32(LoadU16(f)), F(), t); };
  ForLanes(hn::Lanes(F()), n, body, from, to);
}
void DecodeF16(const Word* from, float* to, std::size_t n) {
  const auto body = [](const Word* f, float* t) { hn::StoreU(F16ToF32(LoadU16(f)), F(), t); };
  ForLanes(hn::Lanes(F()), n, body, from, to);
}
void EncodeBf16(const float* from, Word* to, std::size_t n) {
  const auto body = [](const float* f, Word* t) { StoreU16(F32ToBf16(hn::LoadU(F(), f)), t); };
  ForLanes(hn::Lanes(F()), n, body, from, to);
}
void EncodeF16(const float* from, Word* to, std::size_t n) {
  const auto body = [](const float* f, Word* t) { StoreU16(F32ToF16(hn::LoadU(F(), f)), t); };
  ForLanes(hn::Lanes(F()), n, body, from, to);
}

// Up by `random` of 2^16 parts of a bf16 step, then cut off: up with probability low bits / 2^16.
void EncodeBf16Stochastic(const float* from, const Word* random, Word* to, std::size_t n) {
  const auto body = [](const float* f, const Word* r, Word* t) {
    const U u;
    const I i;
    const VF x = hn::LoadU(F(), f);
    const VU bits = Bits(x);
    const VU sign = hn::And(bits, hn::Set(u, 0x80000000));
    const VU magnitude = hn::And(bits, hn::Set(u, 0x7FFFFFFF));
    // Past the largest finite value there is no neighbour to round to.
    const VU up = hn::Min(hn::Add(magnitude, LoadU16(r)), hn::Set(u, 0x7F7FFFFF));
    const auto special =
        hn::RebindMask(u, hn::Gt(hn::BitCast(i, magnitude), hn::Set(i, 0x7F7FFFFF)));
    const VU chosen = hn::ShiftRight<16>(hn::Or(sign, up));
    StoreU16(hn::IfThenElse(special, F32ToBf16(x), chosen), t);
  };
  ForLanes(hn::Lanes(F()), n, body, from, random, to);
}

// In units of fp16's step at x, which is a power of two: cut off, and one more with the probability
// of what was cut.
void EncodeF16Stochastic(const float* from, const Word* random, Word* to, std::size_t n) {
  const auto body = [](const float* f, const Word* r, Word* t) {
    const I i;
    const VF x = hn::LoadU(F(), f), a = hn::Abs(x);
    // 2^(max(E, -14) - 10) and its inverse, by their exponents.
    const auto exponent =
        hn::Max(hn::BitCast(i, hn::ShiftRight<23>(Bits(a))), hn::Set(i, 127 - 14));
    const auto power = [&](auto e) { return hn::BitCast(F(), hn::ShiftLeft<23>(e)); };
    const VF step = power(hn::Sub(exponent, hn::Set(i, 10)));
    const VF inverse = power(hn::Sub(hn::Set(i, 254 + 10), exponent));
    const VF scaled = hn::Mul(a, inverse), whole = hn::Trunc(scaled);
    const VF chance =
        hn::Mul(hn::ConvertTo(F(), hn::BitCast(i, LoadU16(r))), hn::Set(F(), 0x1p-16f));
    const VF up = hn::IfThenElseZero(hn::Gt(hn::Sub(scaled, whole), chance), hn::Set(F(), 1.0f));
    const VF rounded = hn::Min(hn::Mul(hn::Add(whole, up), step), hn::Set(F(), 65504.0f));
    // What lies beyond fp16's numbers goes the way of rounding to nearest.
    const auto special = hn::Gt(hn::BitCast(i, Bits(a)), hn::Set(i, 0x477FEFFF));
    const VF chosen = hn::IfThenElse(hn::RebindMask(F(), special), x, hn::CopySign(rounded, x));
    StoreU16(F32ToF16(hn::IfThenElse(hn::IsNaN(x), x, chosen)), t);
  };
  ForLanes(hn::Lanes(F()), n, body, from, random, to);
}

// Philox4x32-10, a counter a 64-bit lane; see steepest/base/random.cpp, which is the judge.
// counter = (block, step), key = seed; a block's words 0 and 1, then 2 and 3 are joined, the first
// of two in the low half. `to` has room for a multiple of kBlocksAtOnce.
void RandomBlocks(std::uint64_t seed, std::uint64_t step, std::uint64_t first, std::uint64_t* to,
                  std::size_t blocks) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  for (std::size_t b = 0; b < blocks; ++b) {
    std::uint32_t c[4] = {static_cast<std::uint32_t>(first + b),
                          static_cast<std::uint32_t>((first + b) >> 32),
                          static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32)};
    std::uint32_t k0 = static_cast<std::uint32_t>(seed),
                  k1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0],
                          p1 = std::uint64_t{0xCD9E8D57} * c[2];
      c[0] = static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0;
      c[1] = static_cast<std::uint32_t>(p1);
      c[2] = static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1;
      c[3] = static_cast<std::uint32_t>(p0);
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    to[2 * b] = c[0] | std::uint64_t{c[1]} << 32;
    to[2 * b + 1] = c[2] | std::uint64_t{c[3]} << 32;
  }
#else
  const hn::ScalableTag<std::uint64_t> d;
  const hn::Repartition<std::uint32_t, decltype(d)> d32;
  using V = hn::Vec<decltype(d)>;
  const auto low = hn::Set(d, 0xFFFFFFFF);
  const auto product = [&](V c, std::uint32_t by) {
    return hn::MulEven(hn::BitCast(d32, c), hn::Set(d32, by));
  };
  // A round waits for its products: several vectors take turns.
  constexpr std::size_t kTurns = 4;
  static_assert(kBlocksAtOnce % (kTurns * hn::MaxLanes(d)) == 0);
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t b = 0; b < blocks; b += kTurns * lanes) {
    V c0[kTurns], c1[kTurns], c2[kTurns], c3[kTurns];
    for (std::size_t t = 0; t < kTurns; ++t) {
      const V index = hn::Iota(d, first + b + t * lanes);
      c0[t] = hn::And(index, low), c1[t] = hn::ShiftRight<32>(index);
      c2[t] = hn::Set(d, step & 0xFFFFFFFF), c3[t] = hn::Set(d, step >> 32);
    }
    std::uint32_t k0 = static_cast<std::uint32_t>(seed),
                  k1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      for (std::size_t t = 0; t < kTurns; ++t) {
        const V p0 = product(c0[t], 0xD2511F53), p1 = product(c2[t], 0xCD9E8D57);
        c0[t] = hn::Xor(hn::ShiftRight<32>(p1), hn::Xor(c1[t], hn::Set(d, k0)));
        c1[t] = hn::And(p1, low);
        c2[t] = hn::Xor(hn::ShiftRight<32>(p0), hn::Xor(c3[t], hn::Set(d, k1)));
        c3[t] = hn::And(p0, low);
      }
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    for (std::size_t t = 0; t < kTurns; ++t)
      hn::StoreInterleaved2(hn::Or(c0[t], hn::ShiftLeft<32>(c1[t])),
                            hn::Or(c2[t], hn::ShiftLeft<32>(c3[t])), d, to + 2 * (b + t * lanes));
  }
#endif
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace steepest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace steepest::kernels {
HWY_EXPORT(DecodeBf16);
HWY_EXPORT(DecodeF16);
HWY_EXPORT(EncodeBf16);
HWY_EXPORT(EncodeF16);
HWY_EXPORT(EncodeBf16Stochastic);
HWY_EXPORT(EncodeF16Stochastic);
HWY_EXPORT(RandomBlocks);

void decode_bf16(const std::uint16_t* from, float* to, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(DecodeBf16)(from, to, n);
}
void decode_fp16(const std::uint16_t* from, float* to, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(DecodeF16)(from, to, n);
}
void encode_bf16(const float* from, std::uint16_t* to, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(EncodeBf16)(from, to, n);
}
void encode_fp16(const float* from, std::uint16_t* to, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(EncodeF16)(from, to, n);
}

namespace {

/// Element e takes 16 bits of the generator's block e / 8: of word (e % 8) / 2 the low half where e
/// is even, else the high one.
template <class Encode>
void with_random_bits(const float* from, std::uint16_t* to, std::size_t n, const Draw& draw,
                      std::uint64_t first, const Encode& encode) {
  constexpr std::size_t kAtOnce = 512;
  // One block more where the first element is not the first of its block.
  alignas(64) std::uint64_t words[2 * (kAtOnce / 8 + kBlocksAtOnce)];
  std::uint16_t random[kAtOnce];
  for (std::size_t done = 0; done < n; done += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, n - done);
    const std::uint64_t begin = first + done, block = begin / 8;
    const std::size_t skip = begin % 8;
    HWY_DYNAMIC_DISPATCH(RandomBlocks)
    (draw.seed ^ (draw.param * 0x9E3779B97F4A7C15), draw.step, block, words,
     (skip + count + 7) / 8);
    if constexpr (std::endian::native == std::endian::little)
      std::memcpy(random, reinterpret_cast<const std::byte*>(words) + 2 * skip, 2 * count);
    else
      for (std::size_t i = 0; i < count; ++i)
        random[i] = static_cast<std::uint16_t>(words[(skip + i) / 4] >> (16 * ((skip + i) % 4)));
    encode(from + done, random, to + done, count);
  }
}

}  // namespace

void encode_bf16_stochastic(const float* from, std::uint16_t* to, std::size_t n, const Draw& draw,
                            std::uint64_t first) {
  with_random_bits(from, to, n, draw, first, HWY_DYNAMIC_DISPATCH(EncodeBf16Stochastic));
}
void encode_fp16_stochastic(const float* from, std::uint16_t* to, std::size_t n, const Draw& draw,
                            std::uint64_t first) {
  with_random_bits(from, to, n, draw, first, HWY_DYNAMIC_DISPATCH(EncodeF16Stochastic));
}

}  // namespace steepest::kernels
#endif
