#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "steepest/recipe/recipe.h"

namespace steepest::train {

/// A text as bytes, split by position: the last share of it is held out. Windows are `context`
/// bytes and the one that follows; which ones an update reads is a pure function of (seed, step,
/// index), so that a resumed run and a run cut into smaller batches read the same bytes.
class TextData {
 public:
  /// Reads a file, or all files of a folder and the folders in it, in the order of their paths;
  /// names that start with a dot are passed over. ConfigError: missing, empty, or too short for one
  /// window on both sides of the split.
  static TextData load(const DatasetConfig& config, std::int64_t context);
  /// The same from text in memory; `name` is for messages.
  static TextData from_text(std::string text, const DatasetConfig& config, std::int64_t context,
                            std::string_view name);

  std::string_view training() const { return std::string_view(text_).substr(0, split_); }
  std::string_view held_out() const { return std::string_view(text_).substr(split_); }
  std::int64_t window() const { return context_ + 1; }
  /// Of the whole text: a resumed run must read the same.
  const std::string& checksum() const { return checksum_; }

  /// First byte, in the training part, of window `index` of the update that follows `step` updates.
  std::int64_t training_start(std::uint64_t seed, std::int64_t step, std::int64_t index,
                              std::int64_t global_batch) const;
  /// Windows [first, first + count) of that update, one after the other, window() numbers each.
  void fill_training(std::uint64_t seed, std::int64_t step, std::int64_t first, std::int64_t count,
                     std::int64_t global_batch, std::span<std::int64_t> out) const;

  /// First bytes, in the held-out part, of the evaluation's windows: evenly spaced, from its first
  /// to its last.
  const std::vector<std::int64_t>& validation_starts() const { return validation_starts_; }
  void fill_validation(std::int64_t first, std::int64_t count, std::span<std::int64_t> out) const;

 private:
  std::string text_;
  std::size_t split_ = 0;
  std::int64_t context_ = 0;
  std::string checksum_;
  std::vector<std::int64_t> validation_starts_;
};

}  // namespace steepest::train
