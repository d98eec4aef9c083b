#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <cstdint>
#include <string_view>

#include "steepest/optimizers/rule.h"

namespace steepest {

/// A step counter as it was saved. StateError: not a single value; `name` is the parameter's.
std::int64_t restored_step(const at::Tensor& saved, std::string_view name);

/// Copies a saved state into `target`, in the type that `target` has. `later` is what a state that
/// comes with the first update would be: it takes the place of an undefined target.
/// StateError: `saved` is undefined though the target is there, has another shape, or holds codes
/// of another format; `key` is the state's name, `name` the parameter's.
void restore_tensor(at::Tensor& target, const at::Tensor& later, const at::Tensor& saved,
                    const at::Tensor& param, std::string_view key, std::string_view name);

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
    restore_tensor(state.*(field.member), later.*(field.member), saved(field.key), param, field.key,
                   name);
  });
  return state;
}

}  // namespace steepest
