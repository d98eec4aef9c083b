#pragma once

#include <cstddef>
#include <cstdint>

namespace steepest::kernels {

/// Elements that share a scale in the 8-bit block formats.
inline constexpr std::size_t kBlock = 32;

/// Which random bits an element gets: they depend on these three and the element's index in its
/// parameter alone, so neither the cut into pieces nor the number of threads shows in a result.
struct Draw {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;   ///< updates of the parameter
  std::uint64_t param = 0;  ///< a number of the parameter, for instance a hash of its name
};

// Every function below works on `n` elements at any alignment; `from` and `to` must not overlap.
// What an element becomes does not depend on its position, on n or on the instruction set; for the
// block formats a block starts every kBlock elements, and the last one may be short.

/// bf16 and fp16 to fp32, exact; NaN stays NaN.
void decode_bf16(const std::uint16_t* from, float* to, std::size_t n);
void decode_fp16(const std::uint16_t* from, float* to, std::size_t n);
/// fp32 to nearest, ties to even; above the largest finite value Inf; NaN stays NaN.
void encode_bf16(const float* from, std::uint16_t* to, std::size_t n);
void encode_fp16(const float* from, std::uint16_t* to, std::size_t n);
/// fp32 to one of its two neighbours, up with the probability of its distance from the lower one:
/// the mean of many roundings is the value. `first` is the index of from[0] in its parameter.
/// Finite values never become Inf or NaN by rounding alone beyond the largest finite neighbour;
/// Inf and NaN stay.
void encode_bf16_stochastic(const float* from, std::uint16_t* to, std::size_t n, const Draw& draw,
                            std::uint64_t first);
void encode_fp16_stochastic(const float* from, std::uint16_t* to, std::size_t n, const Draw& draw,
                            std::uint64_t first);

/// bf16 + the 16 low bits of the fp32 master (Transformer Engine's parameter remainders): exact for
/// every pattern. The bf16 value is the master rounded to nearest, ties away from zero.
///   split:  r = low 16 bits as int16;  P = high 16 bits + (r < 0)
///   join:   master = (P - (r < 0)) << 16 | (r & 0xffff)
void join_remainder(const std::uint16_t* narrow, const std::int16_t* remainder, float* to,
                    std::size_t n);
void split_remainder(const float* from, std::uint16_t* narrow, std::int16_t* remainder,
                     std::size_t n);

/// FlashOptim's error codes: the master is a bf16 or fp16 value and where inside half an ulp of it
/// the fp32 value lies, in 8 bits (24-bit masters) or 16 (32-bit masters; not exact: 0.27 % of
/// values come back one fp32 ulp off). Formulas and evaluation order: FlashOptim, arXiv 2602.23349;
///   S = 127 or 32767, mant = 7 (bf16) or 10 (fp16), E(x) = unbiased exponent of |x| (1 - bias for
///   zero and subnormal)
///   encode:  x_narrow = x to nearest even; e = x - x_narrow; k = E(x_narrow) - mant - 1;
///            f = clamp((e 2^h) 2^(-k-h), -1, 1), h = floor(-k/2); code = sign(f) floor(|f| S +
///            0.5)
///   decode:  x = x_narrow + ((code / S) 2^h) 2^(k-h), h = floor(k/2)
void decode_bf16_error8(const std::uint16_t* narrow, const std::int8_t* code, float* to,
                        std::size_t n);
void encode_bf16_error8(const float* from, std::uint16_t* narrow, std::int8_t* code, std::size_t n);
void decode_bf16_error16(const std::uint16_t* narrow, const std::int16_t* code, float* to,
                         std::size_t n);
void encode_bf16_error16(const float* from, std::uint16_t* narrow, std::int16_t* code,
                         std::size_t n);
void decode_fp16_error8(const std::uint16_t* narrow, const std::int8_t* code, float* to,
                        std::size_t n);
void encode_fp16_error8(const float* from, std::uint16_t* narrow, std::int8_t* code, std::size_t n);
void decode_fp16_error16(const std::uint16_t* narrow, const std::int16_t* code, float* to,
                         std::size_t n);
void encode_fp16_error16(const float* from, std::uint16_t* narrow, std::int16_t* code,
                         std::size_t n);

/// 8-bit blocks: one fp16 scale a block. A block whose maximum is not finite gets a NaN scale and
/// zero codes, so that NaN shows. Scales below fp16's range store as 0 and decode to 0; above it a
/// block saturates: no finite value becomes Inf.
///   softsign (signed):  s = max(max|x|, 1e-12); n = x/s; y = 2n/(1+|n|); code = floor(127 y + 0.5)
///                       y = code/127; n = y/(2-|y|); x = n fp32(fp16 s)
///   linear (signed):    code = floor(127 x/s + 0.5);  x = code/127 fp32(fp16 s)
///   sqrt (x >= 0):      r = sqrt(x); s = max(max r, 1e-12); code = floor(255 r/s + 0.5)
///                       x = (code/255 fp32(fp16 s))^2
/// Codes are those of the formulas taken step by step. Decoding folds constants, so that an element
/// costs one division at most, and may be two fp32 ulps off the formulas:
///   softsign   x = (code / (254 - |code|)) s      linear  x = code (s / 127)
///   sqrt       x = (code (s / 255))^2
/// The sqrt code is kept at 1 or more where x > 0 unless `published`: as published it rounds to 0
/// where the softsign code of the momentum does not, and m / (sqrt(v) + eps) explodes.
void decode_softsign8(const std::int8_t* code, const std::uint16_t* scales, float* to,
                      std::size_t n);
void encode_softsign8(const float* from, std::int8_t* code, std::uint16_t* scales, std::size_t n);
void decode_linear8(const std::int8_t* code, const std::uint16_t* scales, float* to, std::size_t n);
void encode_linear8(const float* from, std::int8_t* code, std::uint16_t* scales, std::size_t n);
void decode_sqrt8(const std::uint8_t* code, const std::uint16_t* scales, float* to, std::size_t n);
void encode_sqrt8(const float* from, std::uint8_t* code, std::uint16_t* scales, std::size_t n,
                  bool published);

/// fp8 (E4M3: no Inf, largest 448) and fp16 under one fp32 scale a tensor (Transformer Engine's
/// scaled states): stored = x / scale, x = stored * scale.
///   fp8:  scale = absmax / 448          fp16:  scale = absmax / 32752
/// A scale of 0 counts as 1. The division is x * (1 / scale), rounded to nearest even.
void decode_e4m3_scaled(const std::uint8_t* from, float scale, float* to, std::size_t n);
void encode_e4m3_scaled(const float* from, float scale, std::uint8_t* to, std::size_t n);
void decode_fp16_scaled(const std::uint16_t* from, float scale, float* to, std::size_t n);
void encode_fp16_scaled(const float* from, float scale, std::uint16_t* to, std::size_t n);
/// The largest |x|; NaN if any x is NaN.
float largest_magnitude(const float* from, std::size_t n);

}  // namespace steepest::kernels
