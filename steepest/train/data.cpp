#include "steepest/train/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include "steepest/base/error.h"
#include "steepest/base/files.h"
#include "steepest/base/hash.h"
#include "steepest/base/random.h"

namespace steepest::train {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kDataStream = 1;

[[noreturn]] void refuse(std::string what, std::string why, std::string remedy) {
  throw ConfigError(Problem{std::move(what), std::move(why), std::move(remedy)});
}

std::vector<fs::path> files_under(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const bool hidden = entry->path().filename().string().starts_with('.');
    if (entry->is_directory(error)) {
      if (hidden) entry.disable_recursion_pending();
    } else if (!hidden && entry->is_regular_file(error)) {
      files.push_back(entry->path());
    }
  }
  if (error)
    refuse(fmt::format("dataset.path: the folder '{}' cannot be read", folder.string()),
           error.message(), "make it readable");
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_text(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status))
    refuse(fmt::format("dataset.path: there is no file or folder '{}'", path.string()), "",
           "give a text with --set dataset.path=FILE_OR_FOLDER");
  if (!fs::is_directory(status) && !fs::is_regular_file(status))
    refuse(fmt::format("dataset.path: '{}' is neither a file nor a folder", path.string()),
           "a device or a pipe has no end that is known before it is read",
           "write the text to a file and give that");
  if (!fs::is_directory(status)) return read_file(path);
  const auto files = files_under(path);
  if (files.empty())
    refuse(fmt::format("dataset.path: the folder '{}' holds no file", path.string()), "",
           "give a folder with text in it");
  std::string text;
  for (const auto& file : files) text += read_file(file);
  return text;
}

void copy_window(std::string_view text, std::int64_t start, std::span<std::int64_t> out) {
  const auto from = text.substr(static_cast<std::size_t>(start), out.size());
  std::transform(from.begin(), from.end(), out.begin(), [](char byte) {
    return static_cast<std::int64_t>(static_cast<unsigned char>(byte));
  });
}

}  // namespace

TextData TextData::load(const DatasetConfig& config, std::int64_t context) {
  return from_text(read_text(config.path), config, context, config.path);
}

TextData TextData::from_text(std::string text, const DatasetConfig& config, std::int64_t context,
                             std::string_view name) {
  if (text.empty())
    refuse(fmt::format("dataset.path: '{}' is empty", name), "there is nothing to learn from",
           "give a text with --set dataset.path=FILE_OR_FOLDER");
  TextData data;
  const auto size = static_cast<std::int64_t>(text.size());
  const std::int64_t held_out =
      std::llround(static_cast<double>(size) * config.validation_fraction);
  const std::int64_t window = context + 1;
  const auto [part, length] = held_out < size - held_out ? std::pair("held-out", held_out)
                                                         : std::pair("training", size - held_out);
  if (length < window)
    refuse(fmt::format("dataset.path: '{}' is too short: its {} bytes leave {} for the {} part",
                       name, size, length, part),
           fmt::format("a window takes {} bytes, the context of {} and one more", window, context),
           "give a longer text, or lower model.context");
  data.text_ = std::move(text);
  data.split_ = static_cast<std::size_t>(size - held_out);
  data.context_ = context;
  data.checksum_ = steepest::checksum(data.text_);
  const std::int64_t last = held_out - window;
  const std::int64_t windows = config.validation_windows;
  for (std::int64_t i = 0; i < windows; ++i)
    data.validation_starts_.push_back(windows == 1 ? 0 : i * last / (windows - 1));
  return data;
}

std::int64_t TextData::training_start(std::uint64_t seed, std::int64_t step, std::int64_t index,
                                      std::int64_t global_batch) const {
  const auto starts = split_ - static_cast<std::size_t>(window()) + 1;
  const auto position = static_cast<std::uint64_t>(step * global_batch + index);
  return static_cast<std::int64_t>(CounterRandom(seed).below(starts, kDataStream, position));
}

void TextData::fill_training(std::uint64_t seed, std::int64_t step, std::int64_t first,
                             std::int64_t count, std::int64_t global_batch,
                             std::span<std::int64_t> out) const {
  const auto width = static_cast<std::size_t>(window());
  for (std::int64_t i = 0; i < count; ++i)
    copy_window(training(), training_start(seed, step, first + i, global_batch),
                out.subspan(static_cast<std::size_t>(i) * width, width));
}

void TextData::fill_validation(std::int64_t first, std::int64_t count,
                               std::span<std::int64_t> out) const {
  const auto width = static_cast<std::size_t>(window());
  for (std::int64_t i = 0; i < count; ++i)
    copy_window(held_out(), validation_starts_[static_cast<std::size_t>(first + i)],
                out.subspan(static_cast<std::size_t>(i) * width, width));
}

}  // namespace steepest::train
