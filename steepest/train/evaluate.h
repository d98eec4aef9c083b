#pragma once

#include "steepest/train/data.h"
#include "steepest/train/model.h"

namespace steepest::train {

/// Mean nats a byte over the evaluation's windows, in batches of a fixed size: the bits do not
/// depend on the recipe's batch. No gradient is made.
double evaluate(const Gpt& model, const TextData& data);

}  // namespace steepest::train
