#pragma once

#include <cstdint>

#include "bench/references.h"

namespace steepest::bench {

/// Windows a step, as recipes/gpt.yaml has them.
inline constexpr std::int64_t kWindows = 16;

/// One training step of the built-in model, as it is by default, on fixed bytes: forward, backward,
/// norm and clip, Muon for hidden matrices and AdamW for the rest, gradients to none. With our
/// Optimizer, or as a plain libtorch program does it: clip_grad_norm_, torch.optim.Muon's
/// operators, torch::optim::AdamW.
Step training_step(bool ours);

}  // namespace steepest::bench
