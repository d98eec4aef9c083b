#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace steepest::bench {

using Step = std::function<void()>;

// What a libtorch program has: libtorch's own classes. Each keeps states of its own; parameters and
// gradients are shared with the other contenders. lr 1e-6, weight decay 0.1, betas 0.9 and 0.999.

/// torch::optim::AdamW.
Step libtorch_adamw(std::vector<at::Tensor> params);
/// torch::optim::SGD with momentum 0.9.
Step libtorch_sgd(std::vector<at::Tensor> params);
/// torch::nn::utils::clip_grad_norm_ to 1.
Step libtorch_clip(std::vector<at::Tensor> params);
/// libtorch_clip, torch::optim::AdamW, zero_grad to zeros.
Step libtorch_whole_step(std::vector<at::Tensor> params);
/// libtorch_clip, at::_fused_adamw_, _foreach_zero_.
Step fused_whole_step(std::vector<at::Tensor> params);

}  // namespace steepest::bench
