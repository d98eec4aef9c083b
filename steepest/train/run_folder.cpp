#include "steepest/train/run_folder.h"

#include <fmt/format.h>

#include <system_error>

#include "steepest/base/error.h"
#include "steepest/base/files.h"

namespace steepest::train {

namespace fs = std::filesystem;

bool RunFolder::holds_run() const {
  std::error_code error;
  return fs::exists(recipe(), error) || fs::exists(metrics(), error) ||
         fs::exists(checkpoints(), error);
}

void RunFolder::open(bool resume) const {
  std::error_code error;
  const auto status = fs::status(root_, error);
  if (fs::exists(status) && !fs::is_directory(status))
    throw ConfigError(Problem{fmt::format("'{}' is not a folder", root_.string()),
                              "a run takes a folder of its own", "give another with --out DIR"});
  if (!resume && holds_run())
    throw ConfigError(Problem{fmt::format("'{}' holds a run already", root_.string()),
                              "a second run would overwrite it",
                              "go on with --resume, or give another folder with --out DIR"});
  require_writable_folder(root_);
}

void RunFolder::write_recipe(std::string_view yaml) const { replace_file(recipe(), yaml); }

fs::path default_run_folder(const fs::path& recipe) {
  const fs::path stem = recipe.stem();
  return fs::path("runs") / (stem.empty() ? fs::path("run") : stem);
}

}  // namespace steepest::train
