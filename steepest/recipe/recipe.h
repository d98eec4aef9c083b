#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "steepest/gradients/norm_policy.h"
#include "steepest/recipe/lr_scheduler_config.h"
#include "steepest/recipe/optimizer_config.h"
#include "steepest/recipe/precision_config.h"

namespace steepest {

/// The built-in model: a byte-level GPT, pre-norm, no biases.
struct ModelConfig {
  std::string type = "gpt";
  std::int64_t layers = 4, width = 128, heads = 4, context = 128;

  static constexpr auto fields() {
    using O = ModelConfig;
    return std::tuple{
        field("type", &O::type, "the built-in model: gpt"),
        field("layers", &O::layers, count_from(1, "1 or more"), "transformer blocks"),
        field("width", &O::width, count_from(1, "1 or more"), "channels; a multiple of heads"),
        field("heads", &O::heads, count_from(1, "1 or more"), "attention heads"),
        field("context", &O::context, count_from(1, "1 or more"), "bytes a window holds")};
  }
  static void check(const ModelConfig& o, Rules& rules);
  bool operator==(const ModelConfig&) const = default;
};

struct DatasetConfig {
  std::string path = "data/kjv.txt";
  double validation_fraction = 0.1;
  std::int64_t validation_windows = 512;

  static constexpr auto fields() {
    using O = DatasetConfig;
    return std::tuple{
        field("path", &O::path, "a file, or a folder whose files are read in the order of names"),
        field("validation_fraction", &O::validation_fraction,
              Range{.low = 0,
                    .high = 1,
                    .low_open = true,
                    .high_open = true,
                    .text = "above 0 and below 1"},
              "share of the text, at its end, that is held out"),
        field("validation_windows", &O::validation_windows, count_from(1, "1 or more"),
              "evenly spaced windows an evaluation reads")};
  }
  bool operator==(const DatasetConfig&) const = default;
};

struct StepSchedulerConfig {
  std::int64_t global_batch_size = 16;           ///< windows an update
  std::optional<std::int64_t> local_batch_size;  ///< windows a forward pass; unset: all at once
  std::int64_t max_steps = 600;
  std::int64_t val_every_steps = 50;
  std::int64_t ckpt_every_steps = 200;
  std::int64_t log_every_steps = 10;

  static constexpr auto fields() {
    using O = StepSchedulerConfig;
    return std::tuple{
        field("global_batch_size", &O::global_batch_size, count_from(1, "1 or more"),
              "windows an update"),
        field("local_batch_size", &O::local_batch_size, count_from(1, "1 or more"),
              "windows a forward pass; divides global_batch_size; unset: all at once"),
        field("max_steps", &O::max_steps, count_from(1, "1 or more"), "updates of the whole run"),
        field("val_every_steps", &O::val_every_steps, count_from(1, "1 or more"),
              "updates between evaluations"),
        field("ckpt_every_steps", &O::ckpt_every_steps, count_from(1, "1 or more"),
              "updates between checkpoints"),
        field("log_every_steps", &O::log_every_steps, count_from(1, "1 or more"),
              "updates between lines of metrics.jsonl")};
  }
  static void check(const StepSchedulerConfig& o, Rules& rules);
  bool operator==(const StepSchedulerConfig&) const = default;
};

/// What a step is judged by; see norm_policy_fields.
struct ClipGradNormConfig {
  double max_norm = 0;
  std::vector<std::string> norm_groups = {};
  bool exact_norm = false;
  NonFinitePolicy non_finite = NonFinitePolicy::kError;
  std::optional<double> grad_norm_skip_threshold = {};

  static constexpr auto fields() { return norm_policy_fields<ClipGradNormConfig>(); }
  static void check(const ClipGradNormConfig& o, Rules& rules) {
    check_norm_groups(o.norm_groups, rules);
  }
  bool operator==(const ClipGradNormConfig&) const = default;
};

struct CheckpointConfig {
  std::int64_t keep = 3;

  static constexpr auto fields() {
    using O = CheckpointConfig;
    return std::tuple{
        field("keep", &O::keep, count_from(1, "1 or more"), "newest checkpoints that are kept")};
  }
  bool operator==(const CheckpointConfig&) const = default;
};

/// A recipe: everything that `steepest train` reads.
struct Recipe {
  std::int64_t seed = 1;
  ModelConfig model;
  DatasetConfig dataset;
  OptimizerConfig optimizer = RuleConfig{};  ///< torch.optim.AdamW, as an empty section says
  std::vector<GroupRule> groups;
  std::optional<LRSchedulerConfig> lr_scheduler;
  StepSchedulerConfig step_scheduler;
  ClipGradNormConfig clip_grad_norm;
  CheckpointConfig checkpoint;
  std::optional<PrecisionConfig> precision;  ///< unset: float32 throughout
  std::vector<std::string> warnings;         ///< sections of others that were passed over
  /// Where it was read and the line of every key and item ("groups[0]" -> 12), for messages; empty
  /// for one that was made by hand.
  std::string source;
  std::map<std::string, int> lines;
};

/// The line of a value that --set gave.
inline constexpr int kFromSetting = 0;

/// A YAML document as neutral values, with the line of every key and item, for messages
/// ("optimizer.lr" -> 12).
struct YamlDocument {
  Json root;
  std::map<std::string, int> lines;
  std::string source;  ///< file name, for messages
};

/// Parses YAML: scalars as PyYAML reads YAML 1.1 (0x10, 1_000, yes), merge keys (`<<`). ConfigError
/// with the line for bad syntax, a repeated key, a key above 256 characters, more than 1 MiB,
/// 20,000 values or 64 levels, aliases and merges expanded: time and memory stay in proportion.
YamlDocument parse_yaml(std::string_view text, std::string source);
/// `key.path=value` (value is YAML) changes a key, making maps on the way; the paths of lists take
/// numbers. ConfigError: no '=', an empty path, a path through something that is not a map.
void apply_setting(YamlDocument& document, std::string_view setting);

/// From a document to a checked recipe: one ConfigError that lists every problem with file and
/// line.
Recipe read_recipe(const YamlDocument& document);
/// A problem that shows only when the optimizer is built (`groups[0]` matches no parameter): the
/// same error with "file:line: " before what the recipe says there.
ConfigError located(const ConfigError& error, const Recipe& recipe);
/// Reads, applies --set values in order, checks.
Recipe load_recipe(const std::filesystem::path& path,
                   const std::vector<std::string>& settings = {});
/// YAML text with all defaults filled in; reading it back gives the same recipe.
std::string write_recipe(const Recipe& recipe);

}  // namespace steepest
