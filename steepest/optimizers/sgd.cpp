#include "steepest/optimizers/sgd.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "steepest/optimizers/arithmetic.h"
#include "steepest/tensor/bridge.h"

namespace steepest {

void SGDRule::require(const at::Tensor& param, const Options&, std::string_view name) {
  require_updatable(param, name);
}

SGDState SGDRule::make_state(const at::Tensor&, const Options&) { return {}; }

// g <- maximize ? -g : g;   g <- g + wd w
// buf <- first time ? g : mu buf + (1 - dampening) g
// d = mu == 0 ? g : nesterov ? g + mu buf : buf
// w <- w - lr d
void SGDRule::update(std::span<const Slot<State>> slots, const Options& o, double factor) {
  const at::NoGradGuard no_grad;
  for (const Slot<State>& slot : slots) {
    State& s = *slot.state;
    ++s.step;
    const at::ScalarType type = compute_type(slot.param);
    at::Tensor w = dense(slot.param, type);
    at::Tensor g = effective_gradient(slot.grad, type, factor, o.maximize);
    if (o.weight_decay != 0) g = g.add(w, o.weight_decay);
    at::Tensor d = g;
    if (o.momentum != 0) {
      at::Tensor buf;
      if (!s.momentum_buffer.defined()) {
        s.momentum_buffer = at::empty(slot.param.sizes(), slot.param.options());
        buf = g;
      } else {
        buf = dense(s.momentum_buffer, type).mul_(o.momentum).add_(g, 1 - o.dampening);
      }
      store(s.momentum_buffer, buf);
      d = o.nesterov ? g.add(buf, o.momentum) : buf;
    }
    w.add_(d, -o.lr);
    store(slot.param, w);
  }
}

}  // namespace steepest
