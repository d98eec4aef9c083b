#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "steepest/base/dtype.h"

namespace steepest {

/// ATen's element type of ours and back. DtypeError for one that we have no name for.
at::ScalarType to_scalar_type(Dtype dtype);
Dtype to_dtype(at::ScalarType type);

/// The values of a tensor as contiguous little-endian bytes on the CPU (a copy only where needed;
/// it is kept alive by `keep`, which receives the tensor whose memory the span shows).
std::span<const std::byte> tensor_bytes(const at::Tensor& tensor, at::Tensor& keep);
/// A new CPU tensor with these bytes. ShapeError if their number does not fit.
at::Tensor tensor_from_bytes(Dtype dtype, const std::vector<std::int64_t>& shape,
                             std::span<const std::byte> bytes);
/// Copies bytes of `dtype` into an existing tensor of the same shape (any device, dtype converted).
void copy_bytes_into(at::Tensor& target, Dtype dtype, std::span<const std::byte> bytes);
std::vector<std::int64_t> shape_of(const at::Tensor& tensor);
/// "[4, 6]", for messages.
std::string shape_text(const std::vector<std::int64_t>& shape);

/// LayoutError for a sparse tensor or one whose elements share memory (an expanded view): an
/// in-place update of such a tensor would be wrong. DtypeError for one that is not floating point.
/// `name` is the parameter's.
void require_updatable(const at::Tensor& param, std::string_view name);

}  // namespace steepest
