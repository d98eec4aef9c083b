#include "steepest/train/run_log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>

#include "steepest/base/error.h"
#include "steepest/base/files.h"

namespace steepest::train {

RunLog::RunLog(const std::filesystem::path& path, Progress& progress)
    : path_(path), progress_(progress) {
  try {
    file_ = std::make_shared<spdlog::logger>(
        "run", std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string()));
  } catch (const spdlog::spdlog_ex& failure) {
    throw IoError(Problem{fmt::format("'{}' cannot be written", path.string()), failure.what(),
                          "make the folder writable, or give another with --out"});
  }
  file_->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  file_->flush_on(spdlog::level::info);
  // A full disk must not end a run through its log: metrics and checkpoints report it by name.
  file_->set_error_handler([](const std::string&) {});
}
RunLog::~RunLog() = default;

void RunLog::info(std::string_view text) {
  file_->info("{}", text);
  progress_.note(text);
}
void RunLog::warn(std::string_view text) {
  file_->warn("{}", text);
  progress_.note(fmt::format("warning: {}", text));
}
void RunLog::error(std::string_view text) { file_->error("{}", text); }
void RunLog::detail(std::string_view text) { file_->info("{}", text); }

void RunLog::sync() {
  file_->flush();
  sync_file(path_);
}

}  // namespace steepest::train
