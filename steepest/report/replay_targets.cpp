#include "steepest/report/replay_targets.h"

#include <fmt/format.h>

#include <utility>

#include "steepest/base/error.h"
#include "steepest/report/replay_dialects.h"

namespace steepest {
namespace {

using internal::DialectInput;
using internal::Translated;

struct TargetEntry {
  std::string_view name;
  Translated (*translate)(const DialectInput&, Rules&);
};

constexpr TargetEntry kTargets[] = {
    {"torch.optim.Adam", internal::torch_adam},
    {"torch.optim.AdamW", internal::torch_adamw},
    {"torch.optim.SGD", internal::torch_sgd},
    {"torch.optim.Muon", internal::torch_muon},
    {"dion.Muon", internal::dion_muon},
    {"muon.Muon", internal::kj_muon},
    {"muon.SingleDeviceMuon", internal::kj_muon},
    {"muon.MuonWithAuxAdam", internal::kj_with_aux_adam},
    {"muon.SingleDeviceMuonWithAuxAdam", internal::kj_with_aux_adam},
    {"emerging_optimizers.scalar_optimizers.Lion", internal::eo_lion},
};

const TargetEntry& find_target(const ReplayCase& file) {
  const auto target = file.optimizer.at("_target_").get<std::string>();
  for (const TargetEntry& entry : kTargets)
    if (entry.name == target) return entry;
  throw ConfigError({.what = fmt::format("{} is no optimizer that replay has a rule for", target)});
}

/// The options in force in a group: the optimizer's, overridden by the group's.
Json merged(const Json& optimizer, const Json& group) {
  Json all = optimizer;
  all.erase("_target_");
  for (const auto& [key, value] : group.items()) all[key] = value;
  return all;
}

}  // namespace

std::vector<ReplayTarget> replay_targets(const ReplayCase& file) {
  const TargetEntry& entry = find_target(file);
  std::vector<ReplayGroup> groups = file.groups;
  if (groups.empty()) {
    groups.emplace_back();
    for (const ReplayParam& param : file.params) groups.back().params.push_back(param.name);
  }

  std::vector<ReplayTarget> targets;
  Rules problems("");
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::string name =
        file.groups.empty() ? std::string(entry.name) : fmt::format("{} groups[{}]", entry.name, i);
    const Json options = merged(file.optimizer, groups[i].options);
    Rules rules(name);
    Translated translated = entry.translate({.options = options, .file = file}, rules);
    problems.take(rules);
    targets.push_back({.name = std::move(name),
                       .params = std::move(groups[i].params),
                       .options = std::move(translated.options),
                       .zero_for_missing = translated.zero_for_missing,
                       .state_names = std::move(translated.state_names)});
  }
  problems.enforce();
  return targets;
}

}  // namespace steepest
