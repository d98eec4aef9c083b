#include "steepest/optimizers/adam.h"

#include <ATen/ops/maximum.h>

#include <cmath>

namespace steepest {
namespace {

template <class Options>
AdamNumbers adam_numbers(const Options& o, bool decoupled, std::int64_t step, double factor) {
  const auto [b1, b2] = o.betas;
  const auto t = static_cast<double>(step);
  const double c1 = 1 - std::pow(b1, t), c2 = 1 - std::pow(b2, t);
  return {.factor = o.maximize ? -factor : factor,
          .l2 = decoupled ? 0 : o.weight_decay,
          .decay = decoupled ? 1 - o.lr * o.weight_decay : 1,
          .b1 = b1,
          .b2 = b2,
          .sqrt_c2 = std::sqrt(c2),
          .eps = o.eps,
          .step_size = -o.lr / c1};
}

}  // namespace

AdamNumbers AdamWFormula::numbers(const Options& o, std::int64_t step, double factor, bool) {
  return adam_numbers(o, /*decoupled=*/true, step, factor);
}
AdamNumbers AdamL2Formula::numbers(const Options& o, std::int64_t step, double factor, bool) {
  return adam_numbers(o, o.decoupled_weight_decay, step, factor);
}

std::array<ElementStream<AdamState>, 3> AdamFormula::streams() {
  using S = AdamState;
  return {{{&S::exp_avg, &S::exp_avg_scales, true},
           {&S::exp_avg_sq, &S::exp_avg_sq_scales, false},
           {&S::max_exp_avg_sq, &S::max_exp_avg_sq_scales, false}}};
}

kernels::AdamScalars AdamFormula::scalars(const AdamNumbers& o) {
  return {.factor = static_cast<float>(o.factor),
          .l2 = static_cast<float>(o.l2),
          .decay = static_cast<float>(o.decay),
          .one_minus_b1 = static_cast<float>(1 - o.b1),
          .b2 = static_cast<float>(o.b2),
          .one_minus_b2 = static_cast<float>(1 - o.b2),
          .sqrt_c2 = static_cast<float>(o.sqrt_c2),
          .eps = static_cast<float>(o.eps),
          .step_size = static_cast<float>(o.step_size)};
}

// g <- factor g  (negative to climb);   L2:  g <- g + wd w;   decoupled:  w <- (1 - lr wd) w
// m <- lerp(m, g, 1 - b1);   v <- b2 v + (1 - b2) g^2;   vv <- amsgrad ? max(vv, v) : v
// c1 = 1 - b1^t,  c2 = 1 - b2^t,  step_size = -lr / c1
// w <- w + step_size m / (sqrt(vv) / sqrt(c2) + eps)
void AdamFormula::plain(const AdamNumbers& o, at::Tensor& w, const at::Tensor& grad,
                        std::array<at::Tensor, 3>& states) {
  auto& [m, v, largest] = states;
  at::Tensor g = o.factor == 1 ? grad : grad * o.factor;
  if (o.l2 != 0) g = g.add(w, o.l2);
  if (o.decay != 1) w.mul_(o.decay);
  m.lerp_(g, 1 - o.b1);
  v.mul_(o.b2).addcmul_(g, g, 1 - o.b2);
  if (largest.defined()) largest = at::maximum(largest, v);
  const at::Tensor& vv = largest.defined() ? largest : v;
  // ATen's fp32 sqrt is an ulp off in long tensors and not in short ones: through fp64 it is the
  // nearest everywhere.
  const at::Tensor root = vv.to(at::kDouble).sqrt().to(vv.scalar_type());
  w.addcdiv_(m, (root / o.sqrt_c2).add_(o.eps), o.step_size);
}

}  // namespace steepest
