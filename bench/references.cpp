#include "bench/references.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_zero.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <utility>

#include "bench/operators.h"
#include "bench/workloads.h"

namespace steepest::bench {
namespace {

std::shared_ptr<torch::optim::AdamW> make_adamw(std::vector<at::Tensor> params) {
  return std::make_shared<torch::optim::AdamW>(std::move(params),
                                               torch::optim::AdamWOptions(1e-6).weight_decay(0.1));
}

}  // namespace

Step libtorch_adamw(std::vector<at::Tensor> params) {
  return [optimizer = make_adamw(std::move(params))] { optimizer->step(); };
}

Step libtorch_sgd(std::vector<at::Tensor> params) {
  auto optimizer = std::make_shared<torch::optim::SGD>(
      std::move(params), torch::optim::SGDOptions(1e-6).momentum(0.9));
  return [optimizer] { optimizer->step(); };
}

Step libtorch_clip(std::vector<at::Tensor> params) {
  return [params = std::move(params)] { torch::nn::utils::clip_grad_norm_(params, 1.0); };
}

Step libtorch_whole_step(std::vector<at::Tensor> params) {
  return [optimizer = make_adamw(params), clip = libtorch_clip(params)] {
    clip();
    optimizer->step();
    optimizer->zero_grad(/*set_to_none=*/false);
  };
}

Step fused_whole_step(std::vector<at::Tensor> params) {
  return [update = fused_adamw(params), clip = libtorch_clip(params), params] {
    clip();
    update();
    const at::NoGradGuard no_grad;
    at::_foreach_zero_(grads_of(params));
  };
}

}  // namespace steepest::bench
