#include "steepest/optimizers/lion.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "steepest/optimizers/arithmetic.h"
#include "steepest/tensor/bridge.h"

namespace steepest {

void LionRule::require(const at::Tensor& param, const Options&, std::string_view name) {
  require_updatable(param, name);
}

LionState LionRule::make_state(const at::Tensor& param, const Options&) {
  LionState state;
  state.exp_avg = at::zeros(param.sizes(), param.options());
  return state;
}

// x = lerp(m, g, 1 - b1);  u = sign(x)    with the old m
// m <- lerp(m, g, 1 - b2)
// w <- (1 - lr wd) w - lr u
void LionRule::update(std::span<const Slot<State>> slots, const Options& o, double factor) {
  const at::NoGradGuard no_grad;
  const auto [b1, b2] = o.betas;
  for (const Slot<State>& slot : slots) {
    State& s = *slot.state;
    ++s.step;
    const at::ScalarType type = compute_type(slot.param);
    at::Tensor w = dense(slot.param, type), m = dense(s.exp_avg, type);
    const at::Tensor g = effective_gradient(slot.grad, type, factor);
    const at::Tensor x = at::lerp(m, g, 1 - b1);
    // sign() would turn a NaN into 0 and hide it.
    const at::Tensor u = at::where(x.isnan(), x, x.sign());
    m.lerp_(g, 1 - b2);
    if (o.weight_decay != 0) w.mul_(1 - o.lr * o.weight_decay);
    w.add_(u, -o.lr);
    store(s.exp_avg, m);
    store(slot.param, w);
  }
}

}  // namespace steepest
