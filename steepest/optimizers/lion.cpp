#include "steepest/optimizers/lion.h"

#include <ATen/ops/lerp.h>
#include <ATen/ops/where.h>

namespace steepest {

LionNumbers LionFormula::numbers(const Options& o, std::int64_t, double factor, bool) {
  return {.factor = factor,
          .decay = 1 - o.lr * o.weight_decay,
          .b1 = o.betas.first,
          .b2 = o.betas.second,
          .step_size = -o.lr};
}

std::array<ElementStream<LionState>, 1> LionFormula::streams() {
  return {{{&LionState::exp_avg, &LionState::exp_avg_scales, true}}};
}

kernels::LionScalars LionFormula::scalars(const LionNumbers& o) {
  return {.factor = static_cast<float>(o.factor),
          .decay = static_cast<float>(o.decay),
          .one_minus_b1 = static_cast<float>(1 - o.b1),
          .one_minus_b2 = static_cast<float>(1 - o.b2),
          .step_size = static_cast<float>(o.step_size)};
}

// g <- factor g;   x = lerp(m, g, 1 - b1) with the old m;   u = sign(x)
// m <- lerp(m, g, 1 - b2);   w <- (1 - lr wd) w;   w <- w - lr u
void LionFormula::plain(const LionNumbers& o, at::Tensor& w, const at::Tensor& grad,
                        std::array<at::Tensor, 3>& states) {
  at::Tensor& m = states[0];
  const at::Tensor g = o.factor == 1 ? grad : grad * o.factor;
  const at::Tensor x = at::lerp(m, g, 1 - o.b1);
  // sign() would turn a NaN into 0 and hide it.
  const at::Tensor u = at::where(x.isnan(), x, x.sign());
  m.lerp_(g, 1 - o.b2);
  if (o.decay != 1) w.mul_(o.decay);
  w.add_(u, o.step_size);
}

}  // namespace steepest
