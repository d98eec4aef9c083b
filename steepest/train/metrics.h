#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "steepest/base/json_fields.h"

namespace steepest::train {

/// One line of metrics.jsonl: what is known of a logged step. Losses are in nats a byte.
struct StepMetrics {
  std::int64_t step = 0;  ///< updates applied so far; 0: the evaluation before training
  std::int64_t tokens = 0;
  std::optional<double> loss = {};         ///< of the update's own batch, before the update
  std::optional<double> lr = {}, wd = {};  ///< in force in that update, of the first group
  std::optional<double> grad_norm = {};    ///< before clipping
  std::optional<double> tokens_per_second =
      {};  ///< since the line before, evaluations and checkpoints left out
  std::optional<double> optimizer_ms = {};   ///< an update, mean since the line before
  std::optional<std::int64_t> skipped = {};  ///< updates thrown away so far
  std::optional<double> loss_scale = {};     ///< that update's, under loss scaling
  std::optional<double> val_loss = {};

  /// Keys in a fixed order, those without a value left out.
  Json to_json() const;
  static StepMetrics from_json(const Json& line);
};

/// Appends to metrics.jsonl; every line is on its way to the disk when append returns.
class MetricsFile {
 public:
  /// Opens for appending. IoError names the path.
  explicit MetricsFile(std::filesystem::path path);
  /// IoError on a full disk.
  void append(const StepMetrics& metrics);
  /// Waits until the disk has it all: called before a checkpoint that relies on it is written.
  /// IoError where the disk refuses.
  void sync();

 private:
  std::filesystem::path path_;
  std::ofstream out_;
};

/// All whole lines of a metrics file; an unfinished or broken line ends the list. Empty where there
/// is no file.
std::vector<StepMetrics> read_metrics(const std::filesystem::path& path);

/// Takes away lines of later steps than `step`, and an unfinished last one: the file is then as it
/// was when the checkpoint of that step was written. Nothing happens where there is no file.
void truncate_metrics(const std::filesystem::path& path, std::int64_t step);

}  // namespace steepest::train
