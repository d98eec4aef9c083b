#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace steepest::train {

/// Where the parts of a run lie. Nothing is touched by building one.
class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path recipe() const { return root_ / "recipe.yaml"; }
  std::filesystem::path metrics() const { return root_ / "metrics.jsonl"; }
  std::filesystem::path log() const { return root_ / "log.txt"; }
  std::filesystem::path checkpoints() const { return root_ / "checkpoints"; }

  /// The folder's own name, for people: also of "runs/a/", "." and "..".
  std::string name() const;

  /// ConfigError where there is no run with a loss to draw.
  void require_curves() const;
  /// True where a run was begun.
  bool holds_run() const;
  /// Throws before anything is written: ConfigError if a run lies here and it is not to be resumed,
  /// or if the path is no folder; IoError with the system's reason if files cannot be made in it.
  /// Makes the folder, and locks it against other processes for as long as what is returned lives:
  /// ConfigError where another one has it.
  [[nodiscard]] std::shared_ptr<const void> open(bool resume) const;
  /// Writes recipe.yaml.
  void write_recipe(std::string_view yaml) const;

 private:
  std::filesystem::path root_;
};

/// "runs/NAME" for "recipes/NAME.yaml".
std::filesystem::path default_run_folder(const std::filesystem::path& recipe);

}  // namespace steepest::train
