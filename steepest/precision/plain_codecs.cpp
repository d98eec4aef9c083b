#include "steepest/precision/plain_codecs.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <limits>

namespace steepest::plain {
namespace {

constexpr std::int64_t kBlock = kernels::kBlock;

at::Tensor bits(const at::Tensor& x) { return x.contiguous().view(at::kInt); }
at::Tensor number(const at::Tensor& bits) { return bits.view(at::kFloat); }

/// A value as a tensor on the device of `like`.
at::Tensor value(float number, const at::Tensor& like) {
  return at::full({}, number, at::device(like.device()).dtype(at::kFloat));
}

/// 2^e as its bit pattern says it.
at::Tensor power_of_two(const at::Tensor& e) { return number((e + 127).bitwise_left_shift(23)); }

/// x 2^e in two steps, so that no factor leaves fp32's range; floor halves of e.
at::Tensor times_power_of_two(const at::Tensor& x, const at::Tensor& e) {
  const at::Tensor h = e.bitwise_right_shift(1);
  return x * power_of_two(h) * power_of_two(e - h);
}

struct Narrow {
  int mantissa, bias, most_exponent, nan;
};
Narrow describe(at::ScalarType type) {
  return type == at::kBFloat16 ? Narrow{7, 127, 0xFF, 0x7FC0} : Narrow{10, 15, 0x1F, 0x7E00};
}

/// k = E(x_narrow) - mant - 1, log2 of half a step at it.
at::Tensor half_step(const at::Tensor& narrow) {
  const Narrow n = describe(narrow.scalar_type());
  const at::Tensor pattern = narrow.contiguous().view(at::kShort).to(at::kInt);
  const at::Tensor field = pattern.bitwise_right_shift(n.mantissa).bitwise_and(n.most_exponent);
  return field.clamp_min(1) - (n.bias + n.mantissa + 1);
}

/// By rows of kBlock, the last one filled up with zeros.
at::Tensor rows(const at::Tensor& x) {
  const at::Tensor flat = x.reshape({-1});
  const std::int64_t missing = (kBlock - flat.numel() % kBlock) % kBlock;
  return at::constant_pad_nd(flat, {0, missing}).view({-1, kBlock});
}
at::Tensor of_shape(const at::Tensor& rows, const at::Tensor& like) {
  return rows.view({-1}).narrow(0, 0, like.numel()).view(like.sizes());
}

/// Scales are one a row: s = min(max(largest magnitude, 1e-12), 65504); NaN where that is not
/// finite.
at::Tensor row_scales(const at::Tensor& magnitudes) {
  const at::Tensor most = magnitudes.amax({1}, /*keepdim=*/true);
  return at::where(most.isfinite(), most.clamp(1e-12f, 65504.0f),
                   value(std::numeric_limits<float>::quiet_NaN(), most));
}
Blocks stored(const at::Tensor& codes, const at::Tensor& scales, const at::Tensor& like,
              at::ScalarType type) {
  // Beyond the largest scale codes saturate.
  const bool is_signed = type == at::kChar;
  const at::Tensor inside = codes.clamp(is_signed ? -127 : 0, is_signed ? 127 : 255);
  const at::Tensor said = at::where(scales.isnan(), value(0, scales), inside);
  return {of_shape(said.to(type), like), round_nearest(scales.view({-1}), at::kHalf)};
}
at::Tensor wide_scales(const Blocks& blocks) { return blocks.scales.to(at::kFloat).unsqueeze(1); }

at::Tensor not_zero(const at::Tensor& scale) {
  return at::where(scale == 0, value(1, scale), scale).squeeze();
}
at::Tensor under(const at::Tensor& x, const at::Tensor& scale) {
  return x * (value(1, scale) / not_zero(scale));
}

}  // namespace

at::Tensor round_nearest(const at::Tensor& x, at::ScalarType type) {
  const at::NoGradGuard no_grad;
  // ATen's loops do not agree on the pattern of NaN.
  return x.contiguous()
      .to(type)
      .view(at::kShort)
      .masked_fill(x.isnan(), describe(type).nan)
      .view(type);
}

// Philox4x32-10 with counter (e / 8, step), see steepest/base/random.cpp; of the 8 halves of its
// words, low ones first, element e takes half e % 8.
at::Tensor random_bits(const kernels::Draw& draw, std::int64_t first, std::int64_t count,
                       at::Device device) {
  const at::NoGradGuard no_grad;
  constexpr std::int64_t kLow = 0xFFFFFFFF;
  const auto low = [](const at::Tensor& x) { return x.bitwise_and(kLow); };
  const auto high = [&](const at::Tensor& x) { return low(x.bitwise_right_shift(32)); };
  const std::int64_t begin = first >> 3, end = (first + count + 7) >> 3;
  const at::Tensor block = at::arange(begin, end, at::device(device).dtype(at::kLong));
  const at::Tensor zero = block - block;
  std::array<at::Tensor, 4> c = {low(block), high(block),
                                 zero + static_cast<std::int64_t>(draw.step & kLow),
                                 zero + static_cast<std::int64_t>(draw.step >> 32)};
  const std::uint64_t key = draw.seed ^ (draw.param * 0x9E3779B97F4A7C15);
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    // Products of 32-bit words fill 64 bits; two's complement keeps all of them.
    const at::Tensor p0 = c[0] * std::int64_t{0xD2511F53}, p1 = c[2] * std::int64_t{0xCD9E8D57};
    c = {high(p1).bitwise_xor(c[1]).bitwise_xor(std::int64_t{k0}), low(p1),
         high(p0).bitwise_xor(c[3]).bitwise_xor(std::int64_t{k1}), low(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  const at::Tensor words = at::stack(c, 1);
  const at::Tensor halves =
      at::stack({words.bitwise_and(0xFFFF), words.bitwise_right_shift(16)}, 2);
  return halves.view({-1}).narrow(0, first & 7, count).to(at::kInt);
}

at::Tensor round_stochastic(const at::Tensor& x, at::ScalarType type, const kernels::Draw& draw,
                            std::int64_t first) {
  const at::NoGradGuard no_grad;
  const at::Tensor random = random_bits(draw, first, x.numel(), x.device()).view(x.sizes());
  const at::Tensor magnitude = bits(x).bitwise_and(0x7FFFFFFF);
  if (type == at::kBFloat16) {
    // Up by `random` of 2^16 parts of a step, then cut off; not past the largest finite value.
    const at::Tensor up = (magnitude + random).clamp_max(0x7F7FFFFF);
    const at::Tensor sign = bits(x).bitwise_and(std::numeric_limits<std::int32_t>::min());
    const at::Tensor chosen = up.bitwise_or(sign).bitwise_right_shift(16).to(at::kShort);
    const at::Tensor special = magnitude > 0x7F7FFFFF;
    return at::where(special, round_nearest(x, type).view(at::kShort), chosen).view(type);
  }
  // In units of fp16's step at x: cut off, and one more with the probability of what was cut.
  const at::Tensor e = magnitude.bitwise_right_shift(23).sub(127).clamp_min(-14);
  const at::Tensor scaled = x.abs() * power_of_two(10 - e), whole = scaled.trunc();
  const at::Tensor up = (scaled - whole > random.to(at::kFloat) * 0x1p-16).to(at::kFloat);
  const at::Tensor rounded = ((whole + up) * power_of_two(e - 10)).clamp_max(65504.0f).copysign(x);
  // What lies beyond fp16's numbers goes the way of rounding to nearest.
  return round_nearest(at::where(magnitude > 0x477FEFFF, x, rounded), type);
}

Master split_remainder(const at::Tensor& x) {
  const at::NoGradGuard no_grad;
  const at::Tensor r = bits(x).to(at::kShort);  // the low 16 bits
  const at::Tensor high = bits(x).bitwise_right_shift(16).to(at::kShort);
  return {(high + (r < 0).to(at::kShort)).view(at::kBFloat16), r};
}

at::Tensor join_remainder(const Master& master) {
  const at::NoGradGuard no_grad;
  const at::Tensor r = master.beside.to(at::kInt);
  const at::Tensor high =
      master.narrow.contiguous().view(at::kShort).to(at::kInt) - (r < 0).to(at::kInt);
  return number(high.bitwise_left_shift(16).bitwise_or(r.bitwise_and(0xFFFF)));
}

Master encode_error(const at::Tensor& x, at::ScalarType type, int width) {
  const at::NoGradGuard no_grad;
  const float most = width == 8 ? 127.0f : 32767.0f;
  const at::Tensor narrow = round_nearest(x, type);
  const at::Tensor wide = narrow.to(at::kFloat);
  const at::Tensor f = times_power_of_two(x - wide, -half_step(narrow)).clamp(-1, 1);
  const at::Tensor code = (f.abs() * most + 0.5f).floor().copysign(f);
  // Nothing is kept beside Inf and NaN.
  return {narrow,
          at::where(wide.isfinite(), code, value(0, x)).to(width == 8 ? at::kChar : at::kShort)};
}

at::Tensor decode_error(const Master& master) {
  const at::NoGradGuard no_grad;
  const float most = master.beside.scalar_type() == at::kChar ? 127.0f : 32767.0f;
  const at::Tensor part = master.beside.to(at::kFloat) / value(most, master.beside);
  return master.narrow.to(at::kFloat) + times_power_of_two(part, half_step(master.narrow));
}

Blocks encode_softsign8(const at::Tensor& x) {
  const at::NoGradGuard no_grad;
  const at::Tensor r = rows(x), s = row_scales(r.abs());
  const at::Tensor n = r / s, y = (n + n) / (1 + n.abs());
  return stored((y * 127.0f + 0.5f).floor(), s, x, at::kChar);
}
at::Tensor decode_softsign8(const Blocks& blocks) {
  const at::NoGradGuard no_grad;
  const at::Tensor q = rows(blocks.codes).to(at::kFloat);
  return of_shape(q / (254.0f - q.abs()) * wide_scales(blocks), blocks.codes);
}

Blocks encode_linear8(const at::Tensor& x) {
  const at::NoGradGuard no_grad;
  const at::Tensor r = rows(x), s = row_scales(r.abs());
  return stored((r / s * 127.0f + 0.5f).floor(), s, x, at::kChar);
}
at::Tensor decode_linear8(const Blocks& blocks) {
  const at::NoGradGuard no_grad;
  const at::Tensor step = wide_scales(blocks) / value(127, blocks.scales);
  return of_shape(rows(blocks.codes).to(at::kFloat) * step, blocks.codes);
}

Blocks encode_sqrt8(const at::Tensor& x, bool published) {
  const at::NoGradGuard no_grad;
  const at::Tensor v = rows(x), r = v.sqrt(), s = row_scales(r);
  at::Tensor q = (r * 255.0f / s + 0.5f).floor();
  if (!published) q = at::where(v > 0, q.clamp_min(1), q);
  return stored(q, s, x, at::kByte);
}
at::Tensor decode_sqrt8(const Blocks& blocks) {
  const at::NoGradGuard no_grad;
  const at::Tensor step = wide_scales(blocks) / value(255, blocks.scales);
  const at::Tensor r = rows(blocks.codes).to(at::kFloat) * step;
  return of_shape(r * r, blocks.codes);
}

at::Tensor encode_e4m3_scaled(const at::Tensor& x, const at::Tensor& scale) {
  const at::NoGradGuard no_grad;
  const at::Tensor inside = under(x, scale).contiguous().clamp(-448.0f, 448.0f);
  return inside.to(at::kFloat8_e4m3fn).view(at::kByte).masked_fill(inside.isnan(), 0x7F);
}
at::Tensor decode_e4m3_scaled(const at::Tensor& stored, const at::Tensor& scale) {
  const at::NoGradGuard no_grad;
  return stored.contiguous().view(at::kFloat8_e4m3fn).to(at::kFloat) * not_zero(scale);
}

at::Tensor encode_fp16_scaled(const at::Tensor& x, const at::Tensor& scale) {
  return round_nearest(under(x, scale), at::kHalf);
}
at::Tensor decode_fp16_scaled(const at::Tensor& stored, const at::Tensor& scale) {
  const at::NoGradGuard no_grad;
  return stored.to(at::kFloat) * not_zero(scale);
}

at::Tensor largest_magnitude(const at::Tensor& x) {
  const at::NoGradGuard no_grad;
  if (x.numel() == 0) return at::zeros({}, x.options());
  return x.abs().amax();
}

}  // namespace steepest::plain
