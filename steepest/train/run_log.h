#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "steepest/train/progress.h"

namespace spdlog {
class logger;
}

namespace steepest::train {

/// The log of one run: each line goes to log.txt with its time, and to people through the run's
/// progress. Belongs to whoever made it; no global logger is set.
class RunLog {
 public:
  /// Appends to `path`. IoError if it cannot be written. `progress` must outlive the log.
  RunLog(const std::filesystem::path& path, Progress& progress);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  void info(std::string_view text);
  void warn(std::string_view text);
  /// Only to the file: the program itself tells people why it ends.
  void error(std::string_view text);
  /// Only to the file: what would be too much on a terminal.
  void detail(std::string_view text);
  /// Waits until the disk has it all. IoError where the disk refuses.
  void sync();

 private:
  std::filesystem::path path_;
  Progress& progress_;
  std::shared_ptr<spdlog::logger> file_;
};

}  // namespace steepest::train
