#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "steepest/base/json_fields.h"
#include "steepest/build/optimizer.h"
#include "steepest/checkpoint/checkpoint.h"
#include "steepest/step/lr_scheduler.h"
#include "steepest/train/model.h"

namespace steepest::train {

/// What a run knows beside tensors. There is no generator to save: data and sampling are functions
/// of the step.
struct Counters {
  std::int64_t step = 0;    ///< updates done; also the data's position
  std::int64_t tokens = 0;  ///< bytes the model was trained on
  std::optional<double> best_val_loss, last_val_loss;
  std::int64_t best_val_step = 0;

  Json to_json() const;
  /// CheckpointError if a key is missing.
  static Counters from_json(const Json& saved);
};

/// The living parts of a run that a checkpoint holds; borrowed. `scheduler` may be null.
struct TrainingParts {
  Gpt& model;
  Optimizer& optimizer;
  LRScheduler* scheduler;
};

/// Saves weights, optimizer states and options, the schedule's position, counters, the recipe,
/// the text's checksum and the count of threads into `parent`/step-N. Holds no time and no path:
/// equal runs give equal files.
std::filesystem::path save_training(const std::filesystem::path& parent, const TrainingParts& parts,
                                    const Counters& counters, const Json& recipe,
                                    const std::string& data_checksum,
                                    const WriteObserver& observe = {});

/// The threads of tensor operations a checkpoint was written with; 0 where it does not say.
int saved_threads(const Checkpoint& checkpoint);

/// Puts a checkpoint's values back. Everything is checked first; nothing is changed on failure.
/// CheckpointError: a weight is missing, too many, or has another shape or dtype.
Counters restore_training(const Checkpoint& checkpoint, const TrainingParts& parts);

}  // namespace steepest::train
