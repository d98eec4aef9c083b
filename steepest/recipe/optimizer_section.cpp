// The `optimizer` section: `_target_` by the names of both stacks, then the fields.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "steepest/base/nearest.h"
#include "steepest/optimizers/catalogue.h"
#include "steepest/optimizers/torch_muon_options.h"
#include "steepest/recipe/optimizer_config.h"

namespace steepest {
namespace {

/// What a name stands for.
enum class Target { kAdam, kAdamW, kMuon, kTorchMuon, kOwnMuon, kOwnRule, kTorchRule };

struct TargetName {
  std::string_view name;
  Target target;
  std::string_view rule;  ///< for kOwnRule and kTorchRule
};

/// The first name of each is the one we write.
constexpr TargetName kTargets[] = {
    {"adamw", Target::kAdamW, ""},
    {"adam", Target::kAdam, ""},
    {"muon", Target::kMuon, ""},
    {"dion.Muon", Target::kMuon, ""},
    {"torch.optim.AdamW", Target::kTorchRule, "adamw"},
    {"torch.optim.Adam", Target::kTorchRule, "adam"},
    {"torch.optim.SGD", Target::kTorchRule, "sgd"},
    {"torch.optim.Muon", Target::kTorchMuon, ""},
    {"sgd", Target::kOwnRule, "sgd"},
    {"lion", Target::kOwnRule, "lion"},
    {"emerging_optimizers.scalar_optimizers.Lion", Target::kOwnRule, "lion"},
    {"steepest.AdamW", Target::kOwnRule, "adamw"},
    {"steepest.Adam", Target::kOwnRule, "adam"},
    {"steepest.SGD", Target::kOwnRule, "sgd"},
    {"steepest.Lion", Target::kOwnRule, "lion"},
    {"steepest.Muon", Target::kOwnMuon, ""},
};

std::string lower(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return all;
}

/// Names of both stacks whose rules are not here yet.
constexpr std::string_view kNotYet[] = {
    "normuon",
    "dion.NorMuon",
    "dion",
    "dion.Dion",
    "dion.DionSimple",
    "dion2",
    "dion.Dion2",
    "dion3",
    "dion.Dion3",
    "dion.NorDion2",
    "fused_adam",
    "flash_adamw",
    "adaptive_muon",
    "mop",
    "muon_hyperball",
    "polargrad",
    "scion",
    "spel",
    "soap",
    "rekls",
    "tp_rekls",
    "moso",
    "stacked_soap",
    "kl_soap",
    "rekls_v3",
    "kl_m_soap",
    "signum",
    "laprop",
    "sim_ademamix",
    "psgd_pro",
    "iso",
    "oblique_sgd",
    "oblique_adam",
    "transformer_engine.pytorch.optimizers.fused_adam.FusedAdam"};

const TargetName* find_target(std::string_view name) {
  for (const TargetName& each : kTargets)
    if (lower(each.name) == lower(name)) return &each;
  return nullptr;
}

/// Keys that steer only how the reference executes; known, and without effect here.
constexpr std::string_view kExecutionOnly[] = {"foreach", "fused", "capturable", "differentiable"};

/// The options that `steepest.Muon` has beside the rule's own: the rule of all that is no hidden
/// matrix.
struct RestOptions {
  std::string scalar_opt = "adamw";
  std::optional<double> scalar_lr;
  Betas scalar_betas = {0.9, 0.95};
  double scalar_eps = 1e-8;
  double scalar_weight_decay = 0;

  static constexpr auto fields() {
    using O = RestOptions;
    return std::tuple{
        field("scalar_opt", &O::scalar_opt, "rule of all other parameters: adamw or lion"),
        field("scalar_lr", &O::scalar_lr, at_least_zero(), "its step size; unset: lr"),
        field("scalar_betas", &O::scalar_betas, decay_factor(), "its betas"),
        field("scalar_eps", &O::scalar_eps, at_least_zero(), "its eps"),
        field("scalar_weight_decay", &O::scalar_weight_decay, at_least_zero(),
              "its decay, of embeddings and the output; norms and biases have none")};
  }
  static void check(const RestOptions& o, Rules& rules) {
    rules.require(o.scalar_opt == "adamw" || o.scalar_opt == "lion", "scalar_opt", o.scalar_opt,
                  "adamw or lion");
  }
};

template <class Options>
bool has_field(std::string_view key) {
  const auto names = field_names<Options>();
  return std::ranges::find(names, key) != names.end();
}

RuleOptions rest_of(const RestOptions& rest, double lr) {
  if (rest.scalar_opt == "lion")
    return LionOptions{.lr = rest.scalar_lr.value_or(lr),
                       .betas = rest.scalar_betas,
                       .weight_decay = rest.scalar_weight_decay};
  return AdamWOptions{.lr = rest.scalar_lr.value_or(lr),
                      .betas = rest.scalar_betas,
                      .eps = rest.scalar_eps,
                      .weight_decay = rest.scalar_weight_decay};
}

/// Options of two structs in one map: `rest` takes what `main` does not have. Unknown keys go to
/// the nearest of both.
template <class Main>
RuleConfig read_matrix_rule(const Json& fields, Rules& rules, auto&& matrices_of) {
  Json own = Json::object(), other = Json::object();
  std::vector<std::string_view> known = field_names<Main>();
  for (const std::string_view each : field_names<RestOptions>()) known.push_back(each);
  for (const auto& [key, value] : fields.items()) {
    if (has_field<Main>(key))
      own[key] = value;
    else if (has_field<RestOptions>(key))
      other[key] = value;
    else
      internal::unknown_key(key, known, rules);
  }
  Main main;
  RestOptions rest;
  read_fields(own, main, rules);
  check_fields(main, rules);
  read_fields(other, rest, rules);
  check_fields(rest, rules);
  return {.matrices = matrices_of(main), .rest = rest_of(rest, main.lr)};
}

/// What a name stands for; an unknown one is a problem that names the nearest.
const TargetName* read_target(const std::string& name, std::string_view key, Rules& rules) {
  if (const TargetName* const found = find_target(name)) return found;
  std::vector<std::string_view> known;
  for (const TargetName& each : kTargets) known.push_back(each.name);
  for (const std::string_view each : kNotYet)
    if (lower(each) == lower(name)) {
      rules.fail({.what = fmt::format("{} is '{}'", rules.path(key), name),
                  .why = "it is known and not supported here yet",
                  .remedy = fmt::format("there are {}", fmt::join(known, ", "))});
      return nullptr;
    }
  internal::unknown_spelling(name, known, key, rules);
  return nullptr;
}

template <class Config>
Config read_typed(const Json& fields, Rules& rules) {
  Config config;
  read_fields(fields, config, rules);
  check_fields(config, rules);
  return config;
}

}  // namespace

OptimizerConfig read_optimizer_config(const Json& section, Rules& rules) {
  if (!section.is_null() && !section.is_object()) {
    internal::wrong_type(section, "a map of options", "", rules);
    return RuleConfig{};
  }
  Json fields = Json::object();
  const TargetName* target = nullptr;
  bool named = false;
  for (const auto& [key, value] : section.items()) {
    if (key != "_target_" && key != "name") {
      fields[key] = value;
      continue;
    }
    if (value.is_null()) continue;
    named = true;
    std::string name;
    if (!internal::read_value(value, name, key, rules)) continue;
    const TargetName* const found = read_target(name, key, rules);
    if (target && found && (target->target != found->target || target->rule != found->rule))
      rules.fail({.what = fmt::format("{} is '{}'", rules.path(key), name),
                  .why = fmt::format("the same section names '{}', which is another optimizer",
                                     target->name),
                  .remedy = "give one of _target_ and name"});
    if (found) target = found;
  }
  if (!named) target = find_target("torch.optim.AdamW");
  if (!target) return RuleConfig{};
  switch (target->target) {
    case Target::kAdam:
      return read_typed<AdamConfig>(fields, rules);
    case Target::kAdamW:
      for (const std::string_view each : kExecutionOnly) fields.erase(std::string(each));
      return read_typed<AdamWConfig>(fields, rules);
    case Target::kMuon:
      return read_typed<MuonConfig>(fields, rules);
    case Target::kTorchMuon:
      // As in AutoModel the name alone stands for dion's rule; an option that only torch's has
      // means torch's.
      for (const char* each : {"momentum", "ns_steps", "ns_coefficients", "eps", "adjust_lr_fn"})
        if (fields.contains(each))
          return read_matrix_rule<TorchMuonOptions>(fields, rules, muon_options);
      return read_typed<MuonConfig>(fields, rules);
    case Target::kOwnMuon:
      return read_matrix_rule<MuonOptions>(fields, rules, [](const MuonOptions& o) { return o; });
    case Target::kTorchRule:
      for (const std::string_view each : kExecutionOnly) fields.erase(std::string(each));
      break;
    case Target::kOwnRule:
      break;
  }
  RuleOptions options = default_options(*find_rule(target->rule));
  std::visit(
      [&](auto& each) {
        read_fields(fields, each, rules);
        check_fields(each, rules);
      },
      options);
  return RuleConfig{.matrices = options, .rest = options};
}

Json write_optimizer_config(const OptimizerConfig& config) {
  const auto with_target = [](std::string_view target, const Json& fields) {
    Json section{{"_target_", std::string(target)}};
    for (const auto& [key, value] : fields.items()) section[key] = value;
    return section;
  };
  if (const auto* adam = std::get_if<AdamConfig>(&config))
    return with_target("adam", write_fields(*adam));
  if (const auto* adamw = std::get_if<AdamWConfig>(&config))
    return with_target("adamw", write_fields(*adamw));
  if (const auto* muon = std::get_if<MuonConfig>(&config))
    return with_target("muon", write_fields(*muon));
  const auto& rule = std::get<RuleConfig>(config);
  const RuleEntry& entry = *find_rule(rule_name(rule.matrices));
  Json section =
      with_target(fmt::format("steepest.{}", entry.title),
                  std::visit([](const auto& each) { return write_fields(each); }, rule.matrices));
  if (!entry.matrices_only) return section;
  RestOptions rest{.scalar_opt = std::string(rule_name(rule.rest)), .scalar_lr = lr(rule.rest)};
  rest.scalar_weight_decay = weight_decay(rule.rest);
  if (const auto* adamw = std::get_if<AdamWOptions>(&rule.rest)) {
    rest.scalar_betas = adamw->betas;
    rest.scalar_eps = adamw->eps;
  } else if (const auto* lion = std::get_if<LionOptions>(&rule.rest)) {
    rest.scalar_betas = lion->betas;
  }
  const Json extra = write_fields(rest);
  for (const auto& [key, value] : extra.items()) section[key] = value;
  return section;
}

}  // namespace steepest
