#include "steepest/optimizers/gradient_check.h"

#include <c10/core/ScalarType.h>
#include <fmt/format.h>

#include "steepest/base/error.h"
#include "steepest/tensor/bridge.h"

namespace steepest {

bool gradient_fits(const at::Tensor& param, const at::Tensor& grad) {
  return grad.layout() == at::kStrided && at::isFloatingType(grad.scalar_type()) &&
         grad.sizes() == param.sizes() && grad.device() == param.device();
}

void require_gradient(const at::Tensor& param, const at::Tensor& grad, std::string_view name) {
  if (grad.layout() != at::kStrided)
    throw LayoutError(
        {.what = fmt::format("the gradient of parameter {} is sparse", name),
         .why = "the rules here work on every element of a dense gradient",
         .remedy = "call to_dense() on it, or build the embedding with sparse false"});
  if (!at::isFloatingType(grad.scalar_type()))
    throw DtypeError({.what = fmt::format("the gradient of parameter {} has element type {}", name,
                                          c10::toString(grad.scalar_type())),
                      .why = "only floating point gradients can be applied",
                      .remedy = "give float32, float64, bfloat16 or float16"});
  if (grad.sizes() != param.sizes())
    throw ShapeError(
        {.what = fmt::format("the gradient of parameter {} has shape {}, the parameter {}", name,
                             shape_text(shape_of(grad)), shape_text(shape_of(param))),
         .why = "it would be broadcast or cut",
         .remedy = "give one of the parameter's shape"});
  if (grad.device() != param.device())
    throw StateError(
        {.what = fmt::format("the gradient of parameter {} is on {}, the parameter on {}", name,
                             grad.device().str(), param.device().str()),
         .why = "an update reads both in one place",
         .remedy = "move the gradient to the parameter's device"});
}

}  // namespace steepest
