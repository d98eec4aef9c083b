#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "steepest/train/metrics.h"

namespace steepest::train {

/// CRC-32C (Castagnoli), as TFRecord files carry it.
std::uint32_t crc32c(std::string_view bytes);
/// TFRecord's masked form of it: rotated right by 15 and a constant added.
std::uint32_t masked_crc32c(std::string_view bytes);
/// A record: 8 bytes length, masked CRC of these, data, masked CRC of the data; little endian.
std::string tfrecord(std::string_view data);
/// Takes the first record off `bytes` and gives its data; nothing where it is cut short or a CRC is
/// wrong.
std::optional<std::string_view> take_tfrecord(std::string_view& bytes);

/// Writes the scalars of metrics.jsonl as TensorBoard events.
class EventFile {
 public:
  /// Goes on in the newest events.out.tfevents.* of `folder`, or starts one named by `wall_time`,
  /// seconds since 1970.
  EventFile(const std::filesystem::path& folder, double wall_time);
  void append(const StepMetrics& metrics, double wall_time);
  /// Waits until the disk has it all. IoError where the disk refuses.
  void sync();
  const std::filesystem::path& path() const { return path_; }

 private:
  void write(std::string_view record);
  std::filesystem::path path_;
  std::ofstream out_;
};

/// Takes events of later steps than `step`, and everything after a broken record, off the newest
/// event file of `folder`.
void truncate_events(const std::filesystem::path& folder, std::int64_t step);

}  // namespace steepest::train
