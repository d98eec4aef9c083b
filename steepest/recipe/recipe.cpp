#include "steepest/recipe/recipe.h"

#include <fmt/format.h>

#include <algorithm>

#include "steepest/base/error.h"
#include "steepest/base/files.h"
#include "steepest/recipe/foreign_keys.h"

namespace steepest {
namespace {

constexpr std::string_view kSections[] = {
    "seed",           "model",          "dataset",    "optimizer", "groups",     "lr_scheduler",
    "step_scheduler", "clip_grad_norm", "checkpoint", "precision", "distributed"};

template <class Section>
void read_section(const Json& root, const char* key, Section& section, Rules& all,
                  std::vector<std::string>& warnings) {
  if (!root.contains(key) || root[key].is_null()) return;
  Rules rules(key);
  read_fields(without_foreign_keys(key, root[key], rules, warnings), section, rules);
  check_fields(section, rules);
  all.take(rules);
}

/// A key that AutoModel reads and its grouping gives nothing to do.
void warn_of_flatten(const OptimizerConfig& config, const std::string& scope, Recipe& recipe) {
  const auto* muon = std::get_if<MuonConfig>(&config);
  if (muon && muon->flatten)
    recipe.warnings.push_back(fmt::format(
        "{}.flatten has no effect: weights above two dimensions go to scalar_opt, as in AutoModel; "
        "steepest.Muon takes them, with higher_dims: flatten",
        scope));
}

void read_groups(const Json& root, Recipe& recipe, Rules& all) {
  if (!root.contains("groups") || root["groups"].is_null()) return;
  if (!root["groups"].is_array()) {
    internal::wrong_type(root["groups"], "a list of groups", "groups", all);
    return;
  }
  const auto norm_keys = field_names<NormUse>();
  for (std::size_t i = 0; i < root["groups"].size(); ++i) {
    const Json& entry = root["groups"][i];
    Rules rules(fmt::format("groups[{}]", i));
    GroupRule rule;
    if (!entry.is_object()) {
      internal::wrong_type(entry, "a map", "", rules);
      all.take(rules);
      continue;
    }
    Json norm_use = Json::object();
    for (const auto& [key, value] : entry.items()) {
      if (key == "optional") {
        internal::read_value(value, rule.optional, key, rules);
      } else if (key == "optimizer") {
        rule.optimizer = value;
        Rules inner(rules.path("optimizer"));
        warn_of_flatten(read_optimizer_config(value, inner), rules.path("optimizer"), recipe);
        rules.take(inner);
      } else if (std::ranges::find(norm_keys, key) != norm_keys.end()) {
        norm_use[key] = value;
      } else if (key != "match") {
        rule.options[key] = value;
      } else if (!value.is_object() || value.empty()) {
        internal::wrong_type(value, "a map with role or name", key, rules);
      } else {
        for (const auto& [what, wanted] : value.items()) {
          if (what == "role") {
            internal::read_value(wanted, rule.role, "match.role", rules);
          } else if (what == "name") {
            internal::read_value(wanted, rule.name_pattern, "match.name", rules);
          } else {
            static constexpr std::string_view kKnown[] = {"role", "name"};
            internal::unknown_key("match." + what, kKnown, rules);
          }
        }
      }
    }
    read_fields(norm_use, rule.norm_use, rules);
    check_fields(rule.norm_use, rules);
    if (!rule.role && !rule.name_pattern && rules.problems().empty())
      rules.fail({.what = rules.path("match") + " is missing",
                  .remedy = "say match: {role: norm} or match: {name: regex}"});
    recipe.groups.push_back(std::move(rule));
    all.take(rules);
  }
}

/// What this version does not do is refused, not passed over in silence.
void read_limits(const Json& root, Recipe& recipe, Rules& all) {
  if (root.contains("distributed") && !root["distributed"].is_null() &&
      !root["distributed"].is_object())
    internal::wrong_type(root["distributed"], "a map of options", "distributed", all);
  if (root.contains("distributed") && root["distributed"].is_object())
    for (const auto& [key, value] : root["distributed"].items()) {
      const bool nothing = value.is_null() || value == "none" || value == false || value == 1;
      if (key == "optimizer" && !nothing)
        all.fail({.what = fmt::format("distributed.optimizer is {}",
                                      value.dump(-1, ' ', false, Json::error_handler_t::replace)),
                  .why = "this version trains in one process",
                  .remedy = "say none, or leave the section out"});
      else if (!nothing)
        recipe.warnings.push_back(fmt::format("distributed.{} has no effect in one process", key));
    }
}

/// Puts "file:line: " before a problem whose field the document holds: the longest known path it
/// begins with.
template <class Source>  // YamlDocument or Recipe
Problem located(Problem problem, const Source& from) {
  const std::string subject = problem.what.substr(0, problem.what.find_first_of(" :"));
  for (std::string path = subject; !path.empty();) {
    if (const auto line = from.lines.find(path); line != from.lines.end()) {
      problem.what = line->second == kFromSetting
                         ? fmt::format("--set: {}", problem.what)
                         : fmt::format("{}:{}: {}", from.source, line->second, problem.what);
      return problem;
    }
    const auto cut = path.find_last_of(".[");
    path = cut == std::string::npos ? "" : path.substr(0, cut);
  }
  problem.what = fmt::format("{}: {}", from.source, problem.what);
  return problem;
}

}  // namespace

void ModelConfig::check(const ModelConfig& o, Rules& rules) {
  rules.require(o.type == "gpt", "type", o.type, "gpt, the one built-in model");
  rules.require(o.heads < 1 || o.width % o.heads == 0, "width", o.width,
                fmt::format("a multiple of heads ({})", o.heads));
}

void StepSchedulerConfig::check(const StepSchedulerConfig& o, Rules& rules) {
  if (o.local_batch_size && *o.local_batch_size >= 1)
    rules.require(o.global_batch_size % *o.local_batch_size == 0, "global_batch_size",
                  o.global_batch_size,
                  fmt::format("a multiple of local_batch_size ({})", *o.local_batch_size));
}

Recipe read_recipe(const YamlDocument& document) {
  Rules all("");
  Recipe recipe;
  const Json root = without_foreign_keys("", document.root, all, recipe.warnings);
  if (!root.is_object()) {
    internal::wrong_type(root, "a map of sections", "the recipe", all);
  } else {
    for (const auto& item : root.items())
      if (std::ranges::find(kSections, item.key()) == std::end(kSections))
        internal::unknown_key(item.key(), kSections, all);
    if (root.contains("seed")) internal::read_value(root["seed"], recipe.seed, "seed", all);
    all.require(recipe.seed >= 0, "seed", recipe.seed, "0 or more");
    read_section(root, "model", recipe.model, all, recipe.warnings);
    read_section(root, "dataset", recipe.dataset, all, recipe.warnings);
    // Absent, empty and null are the same.
    if (root.contains("optimizer")) {
      Rules rules("optimizer");
      recipe.optimizer = read_optimizer_config(root["optimizer"], rules);
      warn_of_flatten(recipe.optimizer, "optimizer", recipe);
      all.take(rules);
    }
    read_groups(root, recipe, all);
    read_section(root, "step_scheduler", recipe.step_scheduler, all, recipe.warnings);
    read_section(root, "clip_grad_norm", recipe.clip_grad_norm, all, recipe.warnings);
    read_section(root, "checkpoint", recipe.checkpoint, all, recipe.warnings);
    if (root.contains("precision") && !root["precision"].is_null()) {
      Rules rules("precision");
      recipe.precision = read_precision(root["precision"], rules);
      all.take(rules);
    }
    read_limits(root, recipe, all);
    if (root.contains("lr_scheduler") && !root["lr_scheduler"].is_null()) {
      recipe.lr_scheduler.emplace();
      const std::size_t before = all.problems().size();
      read_section(root, "lr_scheduler", *recipe.lr_scheduler, all, recipe.warnings);
      if (all.problems().size() == before && base_lr(recipe.optimizer) > 0) {
        Rules rules("lr_scheduler");
        recipe.lr_scheduler->check_in({recipe.step_scheduler.max_steps}, base_lr(recipe.optimizer),
                                      base_weight_decay(recipe.optimizer), rules);
        all.take(rules);
      }
    }
  }
  if (!all.problems().empty()) {
    // Nobody reads more than a page of them.
    constexpr std::size_t kMost = 50;
    std::vector<Problem> problems;
    for (const Problem& each : all.problems()) {
      if (problems.size() == kMost) break;
      problems.push_back(located(each, document));
    }
    if (all.problems().size() > kMost)
      problems.push_back({.what = fmt::format("{}: and {} more problems", document.source,
                                              all.problems().size() - kMost)});
    throw ConfigError(problems);
  }
  recipe.source = document.source;
  recipe.lines = document.lines;
  return recipe;
}

ConfigError located(const ConfigError& error, const Recipe& recipe) {
  if (recipe.source.empty()) return error;
  std::vector<Problem> problems;
  for (const Problem& each : error.problems()) problems.push_back(located(each, recipe));
  return ConfigError(std::move(problems));
}

Recipe load_recipe(const std::filesystem::path& path, const std::vector<std::string>& settings) {
  YamlDocument document = parse_yaml(read_file(path), path.string());
  for (const std::string& each : settings) apply_setting(document, each);
  return read_recipe(document);
}

}  // namespace steepest
