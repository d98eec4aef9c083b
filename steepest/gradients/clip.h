#pragma once

namespace steepest {

/// The factor by which gradients of global norm `norm` are multiplied so that it is at most
/// `max_norm`:
///   min(1, max_norm / (norm + 1e-6))     as torch.nn.utils.clip_grad_norm_ and Megatron-Core have
///   it.
/// max_norm <= 0 means no clipping: 1. A norm that is NaN or Inf gives NaN: such a step must not be
/// applied.
double clip_factor(double norm, double max_norm);

}  // namespace steepest
