#include "steepest/optimizers/adam.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "steepest/optimizers/arithmetic.h"
#include "steepest/tensor/bridge.h"

namespace steepest {
namespace {

AdamState fresh_state(const at::Tensor& param, bool amsgrad) {
  AdamState state;
  state.exp_avg = at::zeros(param.sizes(), param.options());
  state.exp_avg_sq = at::zeros(param.sizes(), param.options());
  if (amsgrad) state.max_exp_avg_sq = at::zeros(param.sizes(), param.options());
  return state;
}

// g <- maximize ? -g : g
// decoupled:  w <- (1 - lr wd) w          L2:  g <- g + wd w
// m <- lerp(m, g, 1 - b1)                 v <- b2 v + (1 - b2) g^2
// vv <- amsgrad ? max(vv, v) : v          c1 = 1 - b1^t,  c2 = 1 - b2^t
// w <- w - lr / c1 * m / (sqrt(vv) / sqrt(c2) + eps)
template <class Options>
void adam(std::span<const Slot<AdamState>> slots, const Options& o, bool decoupled, double factor) {
  const at::NoGradGuard no_grad;
  const auto [b1, b2] = o.betas;
  for (const Slot<AdamState>& slot : slots) {
    AdamState& s = *slot.state;
    ++s.step;
    if (slot.param.numel() == 0) continue;
    const at::ScalarType type = compute_type(slot.param);
    at::Tensor w = dense(slot.param, type), m = dense(s.exp_avg, type),
               v = dense(s.exp_avg_sq, type);
    at::Tensor g = effective_gradient(slot.grad, type, factor, o.maximize);

    if (o.weight_decay != 0) {
      if (decoupled)
        w.mul_(1 - o.lr * o.weight_decay);
      else
        g = g.add(w, o.weight_decay);
    }
    m.lerp_(g, 1 - b1);
    v.mul_(b2).addcmul_(g, g, 1 - b2);
    at::Tensor vv = v;
    if (o.amsgrad) {
      if (!s.max_exp_avg_sq.defined())
        s.max_exp_avg_sq = at::zeros(slot.param.sizes(), slot.param.options());
      vv = at::maximum(dense(s.max_exp_avg_sq, type), v);
      store(s.max_exp_avg_sq, vv);
    }
    const auto t = static_cast<double>(s.step);
    const double c1 = 1 - std::pow(b1, t), c2 = 1 - std::pow(b2, t);
    w.addcdiv_(m, (vv.sqrt() / std::sqrt(c2)).add_(o.eps), -o.lr / c1);

    store(s.exp_avg, m);
    store(s.exp_avg_sq, v);
    store(slot.param, w);
  }
}

}  // namespace

void AdamWRule::require(const at::Tensor& param, const Options&, std::string_view name) {
  require_updatable(param, name);
}
AdamState AdamWRule::make_state(const at::Tensor& param, const Options& options) {
  return fresh_state(param, options.amsgrad);
}
void AdamWRule::update(std::span<const Slot<State>> slots, const Options& options, double factor) {
  adam(slots, options, /*decoupled=*/true, factor);
}

void AdamRule::require(const at::Tensor& param, const Options&, std::string_view name) {
  require_updatable(param, name);
}
AdamState AdamRule::make_state(const at::Tensor& param, const Options& options) {
  return fresh_state(param, options.amsgrad);
}
void AdamRule::update(std::span<const Slot<State>> slots, const Options& options, double factor) {
  adam(slots, options, options.decoupled_weight_decay, factor);
}

}  // namespace steepest
