#pragma once

#include "steepest/recipe/recipe.h"

namespace steepest::train {

/// Bytes that a run takes at the very least, as doubles: they may be beyond any integer.
struct LeastMemory {
  double parameters = 0;  ///< weights and their gradients
  double batch = 0;       ///< what a forward pass keeps for the backward one
};

/// A bound from below: optimizer states, masters and the text come on top.
LeastMemory least_memory(const Recipe& recipe);

/// ConfigError if a run cannot fit into `memory` bytes.
void require_memory(const Recipe& recipe, double memory);

/// Bytes of memory that the machine has.
double machine_memory();

}  // namespace steepest::train
