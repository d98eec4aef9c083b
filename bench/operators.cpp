#include "bench/operators.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_sign.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/full.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "bench/workloads.h"

namespace steepest::bench {
namespace {

constexpr double kLr = 1e-6, kDecay = 0.1;
// Source: torch.optim.Muon, torch 2.13: momentum and coefficients.
constexpr double kMu = 0.95, kA = 3.4445, kB = -4.7750, kC = 2.0315;
constexpr int kIterations = 5;

std::vector<at::Tensor> zeros_of(const std::vector<at::Tensor>& params) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& each : params) all.push_back(at::zeros_like(each.detach()));
  return all;
}

double shape_scale(const at::Tensor& w) {
  return std::sqrt(std::max(1.0, static_cast<double>(w.size(0)) / static_cast<double>(w.size(1))));
}

}  // namespace

Step fused_adamw(std::vector<at::Tensor> params) {
  std::vector<at::Tensor> m = zeros_of(params), v = zeros_of(params), steps;
  for (std::size_t i = 0; i < params.size(); ++i) steps.push_back(at::full({}, 1.0f));
  return
      [params = std::move(params), m = std::move(m), v = std::move(v), steps = std::move(steps)] {
        const at::NoGradGuard no_grad;
        at::_fused_adamw_(params, grads_of(params), m, v, {}, steps, kLr, 0.9, 0.999, kDecay, 1e-8,
                          /*amsgrad=*/false, /*maximize=*/false);
      };
}

Step fused_sgd(std::vector<at::Tensor> params) {
  std::vector<at::Tensor> buffers = zeros_of(params);
  return [params = std::move(params), buffers = std::move(buffers)] {
    const at::NoGradGuard no_grad;
    at::_fused_sgd_(params, grads_of(params), buffers, /*weight_decay=*/0.0, /*momentum=*/0.9, kLr,
                    /*dampening=*/0.0, /*nesterov=*/false, /*maximize=*/false,
                    /*is_first_step=*/false);
  };
}

// u = sign(lerp(m, g, 1 - b1));  w <- (1 - lr wd) w - lr u;  m <- lerp(m, g, 1 - b2)
Step foreach_lion(std::vector<at::Tensor> params) {
  std::vector<at::Tensor> m = zeros_of(params);
  return [params = std::move(params), m = std::move(m)] {
    const at::NoGradGuard no_grad;
    const std::vector<at::Tensor> grads = grads_of(params);
    const std::vector<at::Tensor> u = at::_foreach_lerp(m, grads, 1 - 0.9);
    at::_foreach_sign_(u);
    at::_foreach_mul_(params, at::Scalar(1 - kLr * kDecay));
    at::_foreach_add_(params, u, -kLr);
    at::_foreach_lerp_(m, grads, 1 - 0.99);
  };
}

Step foreach_norm(std::vector<at::Tensor> params) {
  return [params = std::move(params)] {
    const at::NoGradGuard no_grad;
    at::linalg_vector_norm(at::stack(at::_foreach_norm(grads_of(params), 2))).item<float>();
  };
}

// Source of the order of operators: torch.optim.Muon, torch 2.13.
at::Tensor operators_newton_schulz(const at::Tensor& g, bool bf16) {
  const at::NoGradGuard no_grad;
  at::Tensor x = bf16 ? g.to(at::kBFloat16) : g;
  const bool tall = x.size(0) > x.size(1);
  if (tall) x = x.t();
  x = x.div(x.norm().clamp(1e-7));
  for (int i = 0; i < kIterations; ++i) {
    const at::Tensor gram = at::mm(x, x.t());
    const at::Tensor update = at::addmm(gram, gram, gram, kB, kC);
    x = at::addmm(x, update, x, kA, 1);
  }
  return tall ? x.t() : x;
}

Step operators_muon(std::vector<at::Tensor> params) {
  std::vector<at::Tensor> buffers = zeros_of(params);
  return [params = std::move(params), buffers = std::move(buffers)] {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < params.size(); ++i) {
      const at::Tensor g = params[i].grad();
      buffers[i].lerp_(g, 1 - kMu);
      const at::Tensor x = operators_newton_schulz(at::lerp(g, buffers[i], kMu), /*bf16=*/true);
      const at::Tensor w = params[i].detach();
      w.mul_(1 - kLr * kDecay);
      w.add_(x, -kLr * shape_scale(w));
    }
  };
}

Step batched_muon(std::vector<at::Tensor> params) {
  std::vector<at::Tensor> buffers = zeros_of(params);
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> equal;
  for (std::size_t i = 0; i < params.size(); ++i)
    equal[{params[i].size(0), params[i].size(1)}].push_back(i);
  return [params = std::move(params), buffers = std::move(buffers), equal = std::move(equal)] {
    const at::NoGradGuard no_grad;
    const std::vector<at::Tensor> grads = grads_of(params);
    at::_foreach_lerp_(buffers, grads, 1 - kMu);
    const std::vector<at::Tensor> ahead = at::_foreach_lerp(grads, buffers, kMu);
    at::_foreach_mul_(params, at::Scalar(1 - kLr * kDecay));
    for (const auto& [shape, members] : equal) {
      std::vector<at::Tensor> inputs, weights;
      for (const std::size_t i : members) {
        inputs.push_back(ahead[i].to(at::kBFloat16));
        weights.push_back(params[i]);
      }
      at::Tensor x = at::stack(inputs);
      const bool tall = shape.first > shape.second;
      if (tall) x = x.mT();
      x = x.div(at::linalg_vector_norm(x, 2, at::IntArrayRef{1, 2}, /*keepdim=*/true).clamp(1e-7));
      for (int i = 0; i < kIterations; ++i) {
        const at::Tensor gram = at::bmm(x, x.mT());
        const at::Tensor update = at::baddbmm(gram, gram, gram, kB, kC);
        x = at::baddbmm(x, update, x, kA, 1);
      }
      if (tall) x = x.mT();
      at::_foreach_add_(weights, x.unbind(), -kLr * shape_scale(weights[0]));
    }
  };
}

}  // namespace steepest::bench
