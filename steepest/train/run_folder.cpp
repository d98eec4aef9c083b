#include "steepest/train/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "steepest/base/error.h"
#include "steepest/base/files.h"
#include "steepest/train/metrics.h"

namespace steepest::train {

namespace fs = std::filesystem;

namespace {

/// A lock of this process on a folder. The system lifts it when the process ends, however it ends.
std::shared_ptr<const void> locked(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0 || ::flock(file, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    if (file >= 0) ::close(file);
    // File systems without locks are no reason to refuse a run.
    if (file >= 0 && reason != EWOULDBLOCK) return nullptr;
    throw ConfigError(Problem{fmt::format("'{}' is in use by another process", folder.string()),
                              "two runs in one folder would overwrite each other's files",
                              "wait for it, or give another folder with --out DIR"});
  }
  return {reinterpret_cast<const void*>(1), [file](const void*) { ::close(file); }};
}

}  // namespace

std::string RunFolder::name() const {
  fs::path path = fs::absolute(root_).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string();
}

void RunFolder::require_curves() const {
  std::error_code error;
  std::string what;
  if (!fs::is_directory(root_, error))
    what = fmt::format("--compare: there is no folder '{}'", root_.string());
  else if (!fs::exists(metrics(), error))
    what = fmt::format("--compare: '{}' holds no run: it has no metrics.jsonl", root_.string());
  else if (read_metrics(metrics()).empty())
    what = fmt::format("--compare: '{}' holds no step", metrics().string());
  if (!what.empty())
    throw ConfigError(Problem{what, "there is no curve to draw beside this run's",
                              "give the folder of a run, such as runs/gpt-adamw"});
}

bool RunFolder::holds_run() const {
  std::error_code error;
  return fs::exists(recipe(), error) || fs::exists(metrics(), error) ||
         fs::exists(checkpoints(), error);
}

std::shared_ptr<const void> RunFolder::open(bool resume) const {
  std::error_code error;
  const auto status = fs::status(root_, error);
  if (fs::exists(status) && !fs::is_directory(status))
    throw ConfigError(Problem{fmt::format("'{}' is not a folder", root_.string()),
                              "a run takes a folder of its own", "give another with --out DIR"});
  const auto refuse_second_run = [&] {
    throw ConfigError(Problem{fmt::format("'{}' holds a run already", root_.string()),
                              "a second run would overwrite it",
                              "go on with --resume, or give another folder with --out DIR"});
  };
  if (!resume && holds_run()) refuse_second_run();
  require_writable_folder(root_);
  auto lock = locked(root_);
  // Another process may have been faster.
  if (!resume && holds_run()) refuse_second_run();
  return lock;
}

void RunFolder::write_recipe(std::string_view yaml) const { replace_file(recipe(), yaml); }

fs::path default_run_folder(const fs::path& recipe) {
  const fs::path stem = recipe.stem();
  return fs::path("runs") / (stem.empty() ? fs::path("run") : stem);
}

}  // namespace steepest::train
