#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

namespace steepest {

/// What an update needs of a gradient, checked before a step changes anything. LayoutError: a
/// sparse gradient. DtypeError: one that is not real floating point. ShapeError: another shape than
/// the parameter's, which would be broadcast silently. StateError: on another device.
/// `name` is the parameter's.
///
/// `gradient_fits` is the same question without the words.
bool gradient_fits(const at::Tensor& param, const at::Tensor& grad);
void require_gradient(const at::Tensor& param, const at::Tensor& grad, std::string_view name);

}  // namespace steepest
