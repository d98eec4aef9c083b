#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "steepest/kernels/codecs.h"

/// The storage formats of kernels/codecs.h in ATen's operators, on any device: the judge of the
/// loops over lanes, which give the same bits. Formulas and their order are those of that header.
/// Divisions are by tensors, as ATen multiplies with the inverse of a plain number on CUDA.
///
/// fp32 tensors of any shape go in and come out; formats in blocks take the elements in logical
/// order. bf16 and fp16 tensors carry their own dtype.
namespace steepest::plain {

/// To bf16 or fp16, nearest, ties to even.
at::Tensor round_nearest(const at::Tensor& x, at::ScalarType type);
/// By chance; `first` is the index of x[0] in its parameter.
at::Tensor round_stochastic(const at::Tensor& x, at::ScalarType type, const kernels::Draw& draw,
                            std::int64_t first);
/// The 16 random bits of elements first .. first + count - 1, int32.
at::Tensor random_bits(const kernels::Draw& draw, std::int64_t first, std::int64_t count,
                       at::Device device);

/// A 16-bit weight and what is kept beside it.
struct Master {
  at::Tensor narrow, beside;
};
/// bf16 and int16.
Master split_remainder(const at::Tensor& x);
at::Tensor join_remainder(const Master& master);
/// bf16 or fp16 and int8 (width = 8) or int16 (width = 16).
Master encode_error(const at::Tensor& x, at::ScalarType type, int width);
at::Tensor decode_error(const Master& master);

/// int8 or uint8 codes of x's shape and an fp16 scale every kBlock elements.
struct Blocks {
  at::Tensor codes, scales;
};
Blocks encode_softsign8(const at::Tensor& x);
at::Tensor decode_softsign8(const Blocks& blocks);
Blocks encode_linear8(const at::Tensor& x);
at::Tensor decode_linear8(const Blocks& blocks);
Blocks encode_sqrt8(const at::Tensor& x, bool published);
at::Tensor decode_sqrt8(const Blocks& blocks);

/// `scale` is one fp32 on x's device. E4M3 travels as uint8.
at::Tensor encode_e4m3_scaled(const at::Tensor& x, const at::Tensor& scale);
at::Tensor decode_e4m3_scaled(const at::Tensor& stored, const at::Tensor& scale);
at::Tensor encode_fp16_scaled(const at::Tensor& x, const at::Tensor& scale);
at::Tensor decode_fp16_scaled(const at::Tensor& stored, const at::Tensor& scale);
/// One fp32 on x's device, 0 of no elements.
at::Tensor largest_magnitude(const at::Tensor& x);

}  // namespace steepest::plain
