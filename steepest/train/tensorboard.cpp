#include "steepest/train/tensorboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "steepest/base/error.h"
#include "steepest/base/files.h"
#include "steepest/train/tensorboard_event.pb.h"

namespace steepest::train {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::size_t kHeader = 12, kFooter = 4;

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78u : 0u);
    table[i] = value;
  }
  return table;
}

template <class Integer>
std::string little_endian(Integer value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof value; ++i)
    bytes += static_cast<char>((value >> (8 * i)) & 0xFF);
  return bytes;
}

template <class Integer>
Integer from_little_endian(std::string_view bytes) {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i)
    value |= static_cast<Integer>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

std::optional<fs::path> newest_event_file(const fs::path& folder) {
  std::optional<fs::path> newest;
  if (!fs::is_directory(folder)) return newest;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const bool is_events = entry.path().filename().string().starts_with(kPrefix);
    if (is_events && (!newest || entry.path() > *newest)) newest = entry.path();
  }
  return newest;
}

void add_scalar(tensorboard::Summary& summary, const char* tag, double value) {
  auto* entry = summary.add_value();
  entry->set_tag(tag);
  entry->set_simple_value(static_cast<float>(value));
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = crc_table();
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char byte : bytes)
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  return crc ^ 0xFFFFFFFFu;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

std::string tfrecord(std::string_view data) {
  const std::string length = little_endian(std::uint64_t{data.size()});
  return length + little_endian(masked_crc32c(length)) + std::string(data) +
         little_endian(masked_crc32c(data));
}

std::optional<std::string_view> take_tfrecord(std::string_view& bytes) {
  if (bytes.size() < kHeader + kFooter) return std::nullopt;
  const auto length_bytes = bytes.substr(0, 8);
  if (from_little_endian<std::uint32_t>(bytes.substr(8)) != masked_crc32c(length_bytes))
    return std::nullopt;
  const auto length = from_little_endian<std::uint64_t>(length_bytes);
  if (length > bytes.size() - kHeader - kFooter) return std::nullopt;
  const auto data = bytes.substr(kHeader, length);
  if (from_little_endian<std::uint32_t>(bytes.substr(kHeader + length)) != masked_crc32c(data))
    return std::nullopt;
  bytes.remove_prefix(kHeader + length + kFooter);
  return data;
}

EventFile::EventFile(const fs::path& folder, double wall_time) {
  const auto newest = newest_event_file(folder);
  path_ = newest.value_or(
      folder / fmt::format("{}{}.steepest", kPrefix, static_cast<std::int64_t>(wall_time)));
  const bool is_new = !newest || fs::file_size(*newest) == 0;
  out_.open(path_, std::ios::app | std::ios::binary);
  if (is_new) {
    tensorboard::Event first;
    first.set_wall_time(wall_time);
    first.set_file_version("brain.Event:2");
    write(first.SerializeAsString());
  }
}

void EventFile::append(const StepMetrics& metrics, double wall_time) {
  tensorboard::Event event;
  event.set_wall_time(wall_time);
  event.set_step(metrics.step);
  const Json line = metrics.to_json();
  for (const auto& [key, value] : line.items())
    if (key != "step") add_scalar(*event.mutable_summary(), key.c_str(), value.get<double>());
  write(event.SerializeAsString());
}

void EventFile::sync() { sync_file(path_); }

void EventFile::write(std::string_view record) {
  out_ << tfrecord(record) << std::flush;
  if (!out_)
    throw IoError(Problem{fmt::format("'{}' cannot be written", path_.string()),
                          std::strerror(errno), "make room on the disk, then go on with --resume"});
}

void truncate_events(const fs::path& folder, std::int64_t step) {
  const auto path = newest_event_file(folder);
  if (!path) return;
  const std::string bytes = read_file(*path);
  std::string_view rest = bytes;
  std::size_t keep = 0;
  while (const auto record = take_tfrecord(rest)) {
    tensorboard::Event event;
    const bool whole = event.ParseFromArray(record->data(), static_cast<int>(record->size()));
    if (!whole || event.step() > step) break;
    keep = bytes.size() - rest.size();
  }
  if (keep != bytes.size()) fs::resize_file(*path, keep);
}

}  // namespace steepest::train
