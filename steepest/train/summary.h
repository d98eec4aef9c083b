#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "steepest/base/json_fields.h"

namespace steepest::train {

/// Seconds by part of a run, in this process.
struct PartTimes {
  double data = 0, forward = 0, backward = 0, optimizer = 0, evaluation = 0, checkpoint = 0;

  double training() const { return data + forward + backward + optimizer; }
};

enum class Outcome { kFinished, kAlreadyFinished, kStopped };

/// What a run came to.
struct TrainSummary {
  Outcome outcome = Outcome::kFinished;
  int signal = 0;  ///< that stopped it
  std::filesystem::path folder = {};
  std::int64_t parameters = 0;
  std::int64_t step = 0, max_steps = 0;
  std::int64_t tokens = 0, tokens_here = 0;  ///< of the whole run, and in this process
  std::optional<double> best_val_loss = {}, last_val_loss = {};
  std::int64_t best_val_step = 0;
  PartTimes times = {};
  double seconds = 0;                  ///< of this process, start to end
  std::int64_t peak_memory_bytes = 0;  ///< resident, of this process
  std::string sample = {};             ///< drawn from the model, printable

  double tokens_per_second() const;
  /// 0; 128 + N where signal N stopped it.
  int exit_status() const;
  Json to_json() const;
  /// A table and the sampled lines, for people.
  std::string text() const;
};

/// Peak resident memory of this process so far.
std::int64_t peak_memory_bytes();

}  // namespace steepest::train
