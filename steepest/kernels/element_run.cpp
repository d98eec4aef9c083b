#include "steepest/kernels/element_run.h"

#include <algorithm>
#include <cstring>

namespace steepest::kernels {
namespace {

template <class T>
T* at(void* values, std::size_t first) {
  return static_cast<T*>(values) + first;
}
std::uint16_t* scales_at(const Stream& stream, std::size_t first) {
  return at<std::uint16_t>(stream.scales, first / kBlock);
}
/// One scale a tensor: 0 (nothing but zeros) counts as 1.
float scale_of(const Stream& stream) {
  const float scale = *static_cast<const float*>(stream.scales);
  return scale == 0 ? 1 : scale;
}
float store_scale_of(const Stream& stream) {
  return stream.store_scale == 0 ? 1 : stream.store_scale;
}

/// Bytes of an element of the stream's values.
std::size_t width(Format format) {
  switch (format) {
    case Format::kF32:
      return 4;
    case Format::kBF16:
    case Format::kF16:
    case Format::kF16Scaled:
      return 2;
    default:
      return 1;
  }
}

}  // namespace

void decode(const Stream& s, std::size_t first, float* to, std::size_t n) {
  switch (s.format) {
    case Format::kF32:
      std::memcpy(to, at<float>(s.values, first), n * sizeof(float));
      return;
    case Format::kBF16:
      return decode_bf16(at<std::uint16_t>(s.values, first), to, n);
    case Format::kF16:
      return decode_fp16(at<std::uint16_t>(s.values, first), to, n);
    case Format::kE4M3Scaled:
      return decode_e4m3_scaled(at<std::uint8_t>(s.values, first), scale_of(s), to, n);
    case Format::kF16Scaled:
      return decode_fp16_scaled(at<std::uint16_t>(s.values, first), scale_of(s), to, n);
    case Format::kSoftsign8:
      return decode_softsign8(at<std::int8_t>(s.values, first), scales_at(s, first), to, n);
    case Format::kLinear8:
      return decode_linear8(at<std::int8_t>(s.values, first), scales_at(s, first), to, n);
    case Format::kSqrt8:
    case Format::kSqrt8Published:
      return decode_sqrt8(at<std::uint8_t>(s.values, first), scales_at(s, first), to, n);
  }
}

void encode(const Stream& s, std::size_t first, const float* from, std::size_t n) {
  switch (s.format) {
    case Format::kF32:
      std::memcpy(at<float>(s.values, first), from, n * sizeof(float));
      return;
    case Format::kBF16:
      return encode_bf16(from, at<std::uint16_t>(s.values, first), n);
    case Format::kF16:
      return encode_fp16(from, at<std::uint16_t>(s.values, first), n);
    case Format::kE4M3Scaled:
      return encode_e4m3_scaled(from, store_scale_of(s), at<std::uint8_t>(s.values, first), n);
    case Format::kF16Scaled:
      return encode_fp16_scaled(from, store_scale_of(s), at<std::uint16_t>(s.values, first), n);
    case Format::kSoftsign8:
      return encode_softsign8(from, at<std::int8_t>(s.values, first), scales_at(s, first), n);
    case Format::kLinear8:
      return encode_linear8(from, at<std::int8_t>(s.values, first), scales_at(s, first), n);
    case Format::kSqrt8:
    case Format::kSqrt8Published:
      return encode_sqrt8(from, at<std::uint8_t>(s.values, first), scales_at(s, first), n,
                          s.format == Format::kSqrt8Published);
  }
}

void decode(const WeightStream& w, std::size_t first, float* to, std::size_t n) {
  const bool half = w.format == Format::kF16;
  const auto* narrow = at<std::uint16_t>(w.values, first);
  switch (w.residue) {
    case Residue::kNone:
      return decode(Stream{w.format, w.values, nullptr}, first, to, n);
    case Residue::kF32:
      std::memcpy(to, at<float>(w.beside, first), n * sizeof(float));
      return;
    case Residue::kRemainder16:
      return join_remainder(narrow, at<std::int16_t>(w.beside, first), to, n);
    case Residue::kError8:
      return half ? decode_fp16_error8(narrow, at<std::int8_t>(w.beside, first), to, n)
                  : decode_bf16_error8(narrow, at<std::int8_t>(w.beside, first), to, n);
    case Residue::kError16:
      return half ? decode_fp16_error16(narrow, at<std::int16_t>(w.beside, first), to, n)
                  : decode_bf16_error16(narrow, at<std::int16_t>(w.beside, first), to, n);
  }
}

void encode(const WeightStream& w, std::size_t first, const float* from, std::size_t n,
            const Draw& draw) {
  const bool half = w.format == Format::kF16;
  auto* narrow = at<std::uint16_t>(w.values, first);
  switch (w.residue) {
    case Residue::kNone:
      if (w.stochastic && w.format != Format::kF32)
        return half ? encode_fp16_stochastic(from, narrow, n, draw, first)
                    : encode_bf16_stochastic(from, narrow, n, draw, first);
      return encode(Stream{w.format, w.values, nullptr}, first, from, n);
    case Residue::kF32:
      if (from != at<float>(w.beside, first))
        std::memcpy(at<float>(w.beside, first), from, n * sizeof(float));
      return half ? encode_fp16(from, narrow, n) : encode_bf16(from, narrow, n);
    case Residue::kRemainder16:
      return split_remainder(from, narrow, at<std::int16_t>(w.beside, first), n);
    case Residue::kError8:
      return half ? encode_fp16_error8(from, narrow, at<std::int8_t>(w.beside, first), n)
                  : encode_bf16_error8(from, narrow, at<std::int8_t>(w.beside, first), n);
    case Residue::kError16:
      return half ? encode_fp16_error16(from, narrow, at<std::int16_t>(w.beside, first), n)
                  : encode_bf16_error16(from, narrow, at<std::int16_t>(w.beside, first), n);
  }
}

void run(const TileRule& rule, const ElementRun& r) {
  const bool w_in_place =
      r.w.residue == Residue::kF32 || (r.w.residue == Residue::kNone && r.w.format == Format::kF32);
  bool all_in_place = w_in_place && r.w.residue == Residue::kNone && r.g.format == Format::kF32;
  for (const Stream& s : r.s) all_in_place &= s.values == nullptr || s.format == Format::kF32;
  const std::size_t step = all_in_place ? r.count : kTile;

  alignas(64) float scratch[5][kTile];
  for (std::size_t done = 0; done < r.count; done += step) {
    const std::size_t first = r.first + done, n = std::min(step, r.count - done);
    Tile tile{.count = n, .prefetch = r.prefetch};
    if (w_in_place) {
      tile.w = at<float>(r.w.residue == Residue::kF32 ? r.w.beside : r.w.values, first);
    } else {
      tile.w = scratch[0];
      decode(r.w, first, tile.w, n);
    }
    if (r.g.format == Format::kF32) {
      tile.g = at<float>(r.g.values, first);
      if (r.clear_g) tile.cleared = at<float>(r.g.values, first);
    } else {
      decode(r.g, first, scratch[1], n);
      tile.g = scratch[1];
    }
    for (int k = 0; k < 3; ++k) {
      const Stream& s = r.s[k];
      if (s.values == nullptr) continue;
      if (s.format == Format::kF32) {
        tile.s[k] = at<float>(s.values, first);
      } else {
        tile.s[k] = scratch[2 + k];
        decode(s, first, tile.s[k], n);
      }
    }
    rule.apply(rule.scalars, tile);
    if (!w_in_place || r.w.residue == Residue::kF32) encode(r.w, first, tile.w, n, r.draw);
    for (int k = 0; k < 3; ++k)
      if (r.s[k].values != nullptr && r.s[k].format != Format::kF32)
        encode(r.s[k], first, tile.s[k], n);
    if (r.clear_g && r.g.format != Format::kF32)
      std::memset(at<std::byte>(r.g.values, first * width(r.g.format)), 0, n * width(r.g.format));
  }
}

void magnitudes(const TileRule& rule, const ElementRun& r, float (&largest)[3]) {
  alignas(64) float scratch[5][kTile];
  for (std::size_t done = 0; done < r.count; done += kTile) {
    const std::size_t first = r.first + done, n = std::min(kTile, r.count - done);
    Tile tile{.count = n, .w = scratch[0], .g = scratch[1]};
    decode(r.w, first, scratch[0], n);
    decode(r.g, first, scratch[1], n);
    for (int k = 0; k < 3; ++k) {
      if (r.s[k].values == nullptr) continue;
      tile.s[k] = scratch[2 + k];
      decode(r.s[k], first, tile.s[k], n);
    }
    rule.apply(rule.scalars, tile);
    for (int k = 0; k < 3; ++k)
      if (tile.s[k] != nullptr) {
        const float here = largest_magnitude(tile.s[k], n);
        // NaN wins, so that it shows in the scale.
        if (largest[k] == largest[k] && !(here <= largest[k])) largest[k] = here;
      }
  }
}

}  // namespace steepest::kernels
