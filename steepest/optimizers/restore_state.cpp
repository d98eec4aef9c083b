#include "steepest/optimizers/restore_state.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/ScalarType.h>
#include <fmt/format.h>

#include "steepest/base/error.h"
#include "steepest/tensor/bridge.h"

namespace steepest {

std::int64_t restored_step(const at::Tensor& saved, std::string_view name) {
  if (saved.numel() != 1)
    throw StateError({.what = fmt::format("state step of {} has {} values", name, saved.numel()),
                      .why = "it is a single counter"});
  return saved.item<std::int64_t>();
}

void restore_tensor(at::Tensor& target, const at::Tensor& later, const at::Tensor& saved,
                    const at::Tensor& param, std::string_view key, std::string_view name) {
  const at::NoGradGuard no_grad;
  if (!saved.defined()) {
    if (target.defined())
      throw StateError({.what = fmt::format("state {} of {} is missing", key, name),
                        .why = "it was saved under other options, or by another program",
                        .remedy = "build the optimizer with the options it was saved with"});
    return;
  }
  if (!target.defined()) target = later.defined() ? later : at::zeros_like(param);
  const bool coded =
      !at::isFloatingType(saved.scalar_type()) || !at::isFloatingType(target.scalar_type());
  if (coded && saved.scalar_type() != target.scalar_type())
    throw StateError({.what = fmt::format("state {} of {} was saved as {}, here it is kept as {}",
                                          key, name, c10::toString(saved.scalar_type()),
                                          c10::toString(target.scalar_type())),
                      .why = "codes mean something in their own format alone",
                      .remedy = "set states and masters as they were when it was saved"});
  if (saved.sizes() != target.sizes())
    throw StateError(
        {.what = fmt::format("state {} of {} has shape {}, here it is {}", key, name,
                             shape_text(shape_of(saved)), shape_text(shape_of(target))),
         .why = "a state must have the shape of its parameter",
         .remedy = "load into the model it was saved from"});
  target.copy_(saved);
}

}  // namespace steepest
