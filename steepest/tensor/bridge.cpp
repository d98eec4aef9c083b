#include "steepest/tensor/bridge.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>
#include <fmt/format.h>

#include <cstring>

#include "steepest/base/error.h"

namespace steepest {

at::ScalarType to_scalar_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat32:
      return at::kFloat;
    case Dtype::kFloat64:
      return at::kDouble;
    case Dtype::kFloat16:
      return at::kHalf;
    case Dtype::kBFloat16:
      return at::kBFloat16;
    case Dtype::kInt64:
      return at::kLong;
    case Dtype::kInt32:
      return at::kInt;
    case Dtype::kInt16:
      return at::kShort;
    case Dtype::kInt8:
      return at::kChar;
    case Dtype::kUInt8:
      return at::kByte;
    case Dtype::kBool:
      return at::kBool;
  }
  throw DtypeError({.what = "an element type without a counterpart in libtorch"});
}

Dtype to_dtype(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return Dtype::kFloat32;
    case at::kDouble:
      return Dtype::kFloat64;
    case at::kHalf:
      return Dtype::kFloat16;
    case at::kBFloat16:
      return Dtype::kBFloat16;
    case at::kLong:
      return Dtype::kInt64;
    case at::kInt:
      return Dtype::kInt32;
    case at::kShort:
      return Dtype::kInt16;
    case at::kChar:
      return Dtype::kInt8;
    case at::kByte:
      return Dtype::kUInt8;
    case at::kBool:
      return Dtype::kBool;
    default:
      throw DtypeError(
          {.what = fmt::format("element type {} is not supported", c10::toString(type)),
           .remedy = "use a floating point type"});
  }
}

std::vector<std::int64_t> shape_of(const at::Tensor& tensor) {
  return {tensor.sizes().begin(), tensor.sizes().end()};
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::span<const std::byte> tensor_bytes(const at::Tensor& tensor, at::Tensor& keep) {
  keep = tensor.detach().cpu().resolve_neg().contiguous();
  return {static_cast<const std::byte*>(keep.const_data_ptr()), keep.nbytes()};
}

at::Tensor tensor_from_bytes(Dtype dtype, const std::vector<std::int64_t>& shape,
                             std::span<const std::byte> bytes) {
  at::Tensor tensor = at::empty(shape, at::TensorOptions(to_scalar_type(dtype)));
  if (tensor.nbytes() != bytes.size())
    throw ShapeError({.what = fmt::format("{} bytes do not make a tensor of shape {} and type {}",
                                          bytes.size(), shape_text(shape), name(dtype)),
                      .why = fmt::format("it takes {}", tensor.nbytes())});
  if (!bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

void copy_bytes_into(at::Tensor& target, Dtype dtype, std::span<const std::byte> bytes) {
  const at::NoGradGuard no_grad;
  target.copy_(tensor_from_bytes(dtype, shape_of(target), bytes));
}

void require_updatable(const at::Tensor& param, std::string_view param_name) {
  if (!param.defined())
    throw ConfigError({.what = fmt::format("parameter {} is an undefined tensor", param_name)});
  if (param.layout() != at::kStrided)
    throw LayoutError({.what = fmt::format("parameter {} is sparse", param_name),
                       .why = "an update writes every element in place",
                       .remedy = "use a dense parameter"});
  if (param.is_neg())
    throw LayoutError({.what = fmt::format("parameter {} is a negated view", param_name),
                       .why = "its sign is a flag and not in the memory that an update writes to",
                       .remedy = "give the tensor it is a view of, or a clone"});
  if (!at::isFloatingType(param.scalar_type()))
    throw DtypeError({.what = fmt::format("parameter {} has element type {}", param_name,
                                          c10::toString(param.scalar_type())),
                      .why = "only floating point parameters can be trained",
                      .remedy = "use float32, float64, bfloat16 or float16"});
  for (std::int64_t dim = 0; dim < param.dim(); ++dim)
    if (param.size(dim) > 1 && param.stride(dim) == 0)
      throw LayoutError(
          {.what = fmt::format("parameter {} is an expanded view", param_name),
           .why = "several of its elements are the same memory, so an in-place update is undefined",
           .remedy = "give the tensor it was expanded from, or a clone"});
}

}  // namespace steepest
