#pragma once

#include <cstdint>

namespace steepest::kernels {

/// How the values of a stream lie in memory.
enum class Format : std::uint8_t {
  kF32,
  kBF16,
  kF16,
  kE4M3Scaled,  ///< fp8 under one fp32 scale a tensor
  kF16Scaled,   ///< fp16 under one fp32 scale a tensor
  kSoftsign8,   ///< int8 codes, an fp16 scale every kBlock elements
  kLinear8,     ///< the same with evenly spaced codes
  kSqrt8,       ///< uint8 codes of the square root, for values >= 0
  kSqrt8Published,
};

/// The value of the largest magnitude in a format under one scale a tensor (scale = absmax / it); 0
/// for other formats. fp16 is left half of its range.
constexpr float most_of(Format format) {
  return format == Format::kE4M3Scaled ? 448.0f : format == Format::kF16Scaled ? 32752.0f : 0.0f;
}

/// What is kept beside a 16-bit weight so that small steps add up.
enum class Residue : std::uint8_t {
  kNone,
  kF32,          ///< the fp32 master itself
  kRemainder16,  ///< bf16 only: the 16 low bits of the master, exact
  kError8,       ///< where inside half an ulp the master lies: 24-bit masters
  kError16,
};

}  // namespace steepest::kernels
