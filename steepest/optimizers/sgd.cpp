#include "steepest/optimizers/sgd.h"

namespace steepest {

SGDNumbers SGDFormula::numbers(const Options& o, std::int64_t, double factor, bool first) {
  return {.factor = o.maximize ? -factor : factor,
          .l2 = o.weight_decay,
          .momentum = o.momentum,
          .dampening = o.dampening,
          .nesterov = o.nesterov,
          .first = first,
          .step_size = -o.lr};
}

std::array<ElementStream<SGDState>, 1> SGDFormula::streams() {
  return {{{&SGDState::momentum_buffer, &SGDState::momentum_buffer_scales, true}}};
}

kernels::SgdScalars SGDFormula::scalars(const SGDNumbers& o) {
  return {.factor = static_cast<float>(o.factor),
          .l2 = static_cast<float>(o.l2),
          .momentum = static_cast<float>(o.momentum),
          .one_minus_dampening = static_cast<float>(1 - o.dampening),
          .nesterov = o.nesterov,
          .first = o.first,
          .step_size = static_cast<float>(o.step_size)};
}

// g <- factor g  (negative to climb);   g <- g + wd w
// buf <- first ? g : mu buf + (1 - dampening) g
// d = mu == 0 ? g : nesterov ? g + mu buf : buf;   w <- w - lr d
void SGDFormula::plain(const SGDNumbers& o, at::Tensor& w, const at::Tensor& grad,
                       std::array<at::Tensor, 3>& states) {
  at::Tensor& buf = states[0];
  at::Tensor g = o.factor == 1 ? grad : grad * o.factor;
  if (o.l2 != 0) g = g.add(w, o.l2);
  at::Tensor d = g;
  if (buf.defined()) {
    if (o.first)
      buf.copy_(g);
    else
      buf.mul_(o.momentum).add_(g, 1 - o.dampening);
    d = o.nesterov ? g.add(buf, o.momentum) : buf;
  }
  w.add_(d, o.step_size);
}

}  // namespace steepest
