#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

namespace steepest {

/// The type point-wise arithmetic is done in: fp32 for 16-bit tensors, else the tensor's own.
inline at::ScalarType compute_type(const at::Tensor& tensor) {
  return at::isReducedFloatingType(tensor.scalar_type()) ? at::kFloat : tensor.scalar_type();
}

/// A dense tensor in logical order and in `type`: the tensor itself where it is that already, else
/// a copy. ATen's vector and scalar loops may differ in the last bit, so all arithmetic runs on
/// contiguous memory: strides never show.
inline at::Tensor dense(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.detach().to(type).resolve_neg().contiguous();
}

/// The gradient times the factor (loss scale and clipping), negated to climb, in `type`; never the
/// caller's memory if changed. An fp64 gradient is narrowed after the factor is on it: a scaled one
/// may be beyond fp32.
inline at::Tensor effective_gradient(const at::Tensor& grad, at::ScalarType type, double factor,
                                     bool maximize = false) {
  const double sign = maximize ? -factor : factor;
  const at::Tensor g = dense(grad, grad.scalar_type() == at::kDouble ? at::kDouble : type);
  return (sign == 1 ? g : g * sign).to(type);
}

/// Rounds `value` once into `target`, unless they are the same memory.
inline void store(const at::Tensor& target, const at::Tensor& value) {
  if (target.data_ptr() != value.data_ptr() || target.scalar_type() != value.scalar_type())
    target.copy_(value);
}

}  // namespace steepest
