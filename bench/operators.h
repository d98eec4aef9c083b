#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "bench/references.h"

namespace steepest::bench {

// The best that can be put together from ATen's operators. Each keeps states of its own; parameters
// and gradients are shared with the other contenders. lr 1e-6, weight decay 0.1.

/// at::_fused_adamw_ over the list, betas 0.9 and 0.999.
Step fused_adamw(std::vector<at::Tensor> params);
/// at::_fused_sgd_ over the list, momentum 0.9, no decay.
Step fused_sgd(std::vector<at::Tensor> params);
/// Lion in _foreach operators, betas 0.9 and 0.99.
Step foreach_lion(std::vector<at::Tensor> params);
/// at::_foreach_norm and the norm of the norms.
Step foreach_norm(std::vector<at::Tensor> params);

/// torch.optim.Muon's operators in their order, a matrix after the other: lerp, lerp, bf16, norm,
/// five times mm, addmm, addmm.
Step operators_muon(std::vector<at::Tensor> params);
/// The same update with _foreach operators and batched products over equal shapes.
Step batched_muon(std::vector<at::Tensor> params);
/// The iteration of Muon on one matrix: norm, five times mm, addmm, addmm.
at::Tensor operators_newton_schulz(const at::Tensor& g, bool bf16);

}  // namespace steepest::bench
