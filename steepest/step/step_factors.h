#pragma once

#include <span>
#include <string>
#include <vector>

#include "steepest/gradients/norm_policy.h"

namespace steepest {

/// A norm beside the main one, and what it did to its gradients.
struct GroupNorm {
  std::string name;
  double grad_norm = 0;    ///< L2, unscaled, before clipping
  double clip_factor = 1;  ///< what its gradients were multiplied by
  bool operator==(const GroupNorm&) const = default;
};

/// What the gradients of each group are multiplied by in an update:
///   inverse loss scale * clip factor of their norm
struct StepFactors {
  double inverse_scale = 1;
  double clip_factor = 1;  ///< of the main norm
  std::span<const GroupNorm> others;

  /// `use` names a norm that is known; the driver saw to it.
  double of(const NormUse& use) const {
    if (!use.clip) return inverse_scale;
    if (!use.norm_group.empty())
      for (const GroupNorm& each : others)
        if (each.name == use.norm_group) return each.clip_factor * inverse_scale;
    return clip_factor * inverse_scale;
  }
};

}  // namespace steepest
