#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/ScalarType.h>
#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "steepest/base/error.h"
#include "steepest/optimizers/rule.h"
#include "steepest/tensor/bridge.h"

namespace steepest {

/// The state of a parameter as it was saved, in tensors of its own: `saved(key)` gives the tensor
/// of a key, undefined where there is none. The configured dtype wins over the saved one.
/// StateError: a state that the options call for is missing, or has another shape; `name` is the
/// parameter's in the message.
template <Rule R, class Saved>
typename R::State restored_state(const at::Tensor& param, const typename R::Options& options,
                                 std::int64_t step, const Saved& saved, std::string_view name) {
  using State = typename R::State;
  const at::NoGradGuard no_grad;
  R::require(param, options, name);
  State state = R::make_state(param, options);
  State later;  // with the states that come with a first update
  if constexpr (requires { R::full_state(param, options); }) later = R::full_state(param, options);
  state.step = step;
  for_each_state_tensor<State>([&](const StateField<State>& field) {
    at::Tensor& target = state.*(field.member);
    const at::Tensor from = saved(field.key);
    if (!from.defined()) {
      if (target.defined())
        throw StateError({.what = fmt::format("state {} of {} is missing", field.key, name),
                          .why = "it was saved under other options, or by another program",
                          .remedy = "build the optimizer with the options it was saved with"});
      return;
    }
    if (!target.defined())
      target = (later.*(field.member)).defined() ? later.*(field.member) : at::zeros_like(param);
    const bool coded =
        !at::isFloatingType(from.scalar_type()) || !at::isFloatingType(target.scalar_type());
    if (coded && from.scalar_type() != target.scalar_type())
      throw StateError({.what = fmt::format("state {} of {} was saved as {}, here it is kept as {}",
                                            field.key, name, c10::toString(from.scalar_type()),
                                            c10::toString(target.scalar_type())),
                        .why = "codes mean something in their own format alone",
                        .remedy = "set states and masters as they were when it was saved"});
    if (from.sizes() != target.sizes())
      throw StateError(
          {.what = fmt::format("state {} of {} has shape {}, here it is {}", field.key, name,
                               shape_text(shape_of(from)), shape_text(shape_of(target))),
           .why = "a state must have the shape of its parameter",
           .remedy = "load into the model it was saved from"});
    target.copy_(from);
  });
  return state;
}

}  // namespace steepest
