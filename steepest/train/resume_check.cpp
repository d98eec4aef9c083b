#include "steepest/train/resume_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace steepest::train {
namespace {

constexpr std::array<std::string_view, 5> kFree = {
    "step_scheduler.val_every_steps", "step_scheduler.ckpt_every_steps",
    "step_scheduler.log_every_steps", "checkpoint.keep", "dataset.path"};
constexpr std::string_view kMaxSteps = "step_scheduler.max_steps";

void flatten(const Json& value, const std::string& path, std::map<std::string, Json>& out) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, inner] : value.items())
      flatten(inner, path.empty() ? key : path + "." + key, out);
  } else if (!value.is_null()) {
    out[path] = value;
  }
}

std::map<std::string, Json> flatten(const Json& value) {
  std::map<std::string, Json> out;
  flatten(value, "", out);
  return out;
}

std::string shown(const std::map<std::string, Json>& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? "not set" : found->second.dump();
}

/// True if a run of another length has the same rates and decays at every step.
bool length_is_free(std::int64_t saved_steps, const Recipe& now) {
  if (!now.lr_scheduler) return true;
  const double lr = base_lr(now.optimizer), decay = base_weight_decay(now.optimizer);
  const TrainingLength before{.max_steps = saved_steps};
  const TrainingLength after{.max_steps = now.step_scheduler.max_steps};
  return now.lr_scheduler->shape(before, lr) == now.lr_scheduler->shape(after, lr) &&
         now.lr_scheduler->weight_decay(before, decay) ==
             now.lr_scheduler->weight_decay(after, decay);
}

}  // namespace

Json recipe_json(const Recipe& recipe) { return parse_yaml(write_recipe(recipe), "recipe").root; }

std::vector<Problem> resume_differences(const Json& saved, const Recipe& now) {
  const auto before = flatten(saved), after = flatten(recipe_json(now));
  std::set<std::string> keys;
  for (const auto& [key, value] : before) keys.insert(key);
  for (const auto& [key, value] : after) keys.insert(key);
  std::vector<Problem> problems;
  for (const auto& key : keys) {
    if (std::find(kFree.begin(), kFree.end(), key) != kFree.end()) continue;
    const auto old_value = before.find(key), new_value = after.find(key);
    const bool same = old_value != before.end() && new_value != after.end() &&
                      old_value->second == new_value->second;
    if (same) continue;
    if (key == kMaxSteps && old_value != before.end() && old_value->second.is_number_integer() &&
        length_is_free(old_value->second.get<std::int64_t>(), now))
      continue;
    problems.push_back({fmt::format("{} was {} in the run that is to be resumed and is now {}", key,
                                    shown(before, key), shown(after, key)),
                        "the run would not go on as if it had never stopped",
                        "set it back, or start a run of its own with --out DIR"});
  }
  return problems;
}

}  // namespace steepest::train
