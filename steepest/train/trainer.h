#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "steepest/base/files.h"
#include "steepest/params/param_set.h"
#include "steepest/recipe/recipe.h"
#include "steepest/train/progress.h"
#include "steepest/train/summary.h"

namespace steepest::train {

/// A run to be made.
struct TrainRequest {
  Recipe recipe;
  std::filesystem::path out;  ///< the run folder
  bool resume = false;
  int threads = 0;  ///< of libtorch; 0: its own choice
  std::vector<std::filesystem::path>
      compare;  ///< run folders whose curves are drawn beside this one's

  Progress* progress = nullptr;      ///< null: silent; must outlive the call
  std::function<int()> stop;         ///< asked between updates: the signal that came, or 0
  WriteObserver observe_checkpoint;  ///< stages of a checkpoint being written
  /// Called between backward and the optimizer, with the updates done so far: for probes of
  /// gradients.
  std::function<void(std::int64_t step, const ParamSet& params)> after_backward;
};

/// Trains the built-in model. What a wrong recipe, text or folder is to be refused for is found
/// before anything is written. NonFiniteError: a loss or gradient is not finite; the bad update
/// left no trace, in memory or on disk.
TrainSummary train(const TrainRequest& request);

}  // namespace steepest::train
