// plan_groups: which parameter goes to which rule, and why.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "steepest/base/error.h"
#include "steepest/base/nearest.h"
#include "steepest/optimizers/catalogue.h"
#include "steepest/recipe/optimizer_config.h"

namespace steepest {
namespace {

/// A pattern with the meaning of Python's re.search.
class Pattern {
 public:
  /// One that is no regular expression goes to `problems` and is found nowhere.
  Pattern(const std::string& text, const std::string& where, std::vector<Problem>& problems) {
    int code = 0;
    PCRE2_SIZE offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), PCRE2_UTF,
                              &code, &offset, nullptr));
    if (code_) {
      match_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
      return;
    }
    PCRE2_UCHAR message[256];
    pcre2_get_error_message(code, message, sizeof message);
    problems.push_back(
        {.what = fmt::format("{}: '{}' is no regular expression", where, text),
         .why = fmt::format("at position {}: {}", offset, reinterpret_cast<const char*>(message))});
  }
  bool valid() const { return code_ != nullptr; }
  bool found_in(const std::string& subject) const {
    return valid() && pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(subject.data()),
                                  subject.size(), 0, 0, match_.get(), nullptr) >= 0;
  }

 private:
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code_{nullptr, &pcre2_code_free};
  std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match_{
      nullptr, &pcre2_match_data_free};
};

bool is_matrix(const ParamInfo& param) {
  return param.role == Role::kHidden && param.shape.size() >= 2;
}

using Indices = std::vector<std::size_t>;

/// One rule for everything.
std::vector<GroupPlan> plan_all(RuleOptions options, const Indices& trainable) {
  return {{"all", std::move(options), trainable, "one rule for all parameters"}};
}

// Dion's groups as AutoModel makes them: embeddings and the output without decay; hidden matrices;
// the rest.
std::vector<GroupPlan> plan_muon(const MuonConfig& o, std::span<const ParamInfo> params,
                                 const Indices& trainable) {
  const auto scalar = [&](double lr, double wd) -> RuleOptions {
    if (o.scalar_opt == "lion")
      return LionOptions{.lr = lr, .betas = o.scalar_betas, .weight_decay = wd};
    return AdamWOptions{.lr = lr, .betas = o.scalar_betas, .eps = o.scalar_eps, .weight_decay = wd};
  };
  MuonOptions muon = MuonOptions::dion();
  muon.lr = o.lr;
  muon.weight_decay = o.weight_decay;
  muon.momentum = o.mu;
  muon.eps = o.epsilon;
  muon.scale = o.adjust_lr.value_or(ScaleMode::kNone);
  muon.nesterov = o.nesterov;

  GroupPlan matrices{"matrices", muon, {}, "a hidden matrix"};
  GroupPlan embeddings{
      "embeddings", scalar(o.embed_lr.value_or(o.scalar_lr.value_or(o.lr)), 0), {}, "an embedding"};
  GroupPlan output{"output", scalar(0, 0), {}, "the output matrix"};
  GroupPlan rest{
      "rest", scalar(o.scalar_lr.value_or(o.lr), o.weight_decay), {}, "not a hidden matrix"};
  for (const std::size_t i : trainable) {
    const ParamInfo& param = params[i];
    if (param.role == Role::kEmbedding) {
      embeddings.params.push_back(i);
    } else if (param.role == Role::kOutput || param.name.find("lm_head") != std::string::npos) {
      // The first one's columns decide, as in AutoModel: lr / sqrt(d_in).
      if (output.params.empty()) {
        const auto columns = static_cast<double>(param.shape.empty() ? 1 : param.shape.back());
        output.options = scalar(o.lm_head_lr.value_or(o.lr / std::sqrt(columns)), 0);
      }
      output.params.push_back(i);
    } else if (param.role == Role::kHidden && param.shape.size() == 2) {
      matrices.params.push_back(i);
    } else {
      rest.params.push_back(i);
    }
  }
  return {std::move(matrices), std::move(embeddings), std::move(output), std::move(rest)};
}

std::vector<GroupPlan> plan_rule(const RuleConfig& o, std::span<const ParamInfo> params,
                                 const Indices& trainable) {
  if (!find_rule(rule_name(o.matrices))->matrices_only) return plan_all(o.matrices, trainable);
  RuleOptions undecayed = o.rest;
  set_weight_decay(undecayed, 0);
  GroupPlan matrices{"matrices", o.matrices, {}, "a hidden matrix"};
  GroupPlan rest{"rest", o.rest, {}, "an embedding or the output"};
  GroupPlan vectors{"vectors", undecayed, {}, "a norm, a bias or another vector: never decayed"};
  for (const std::size_t i : trainable) {
    if (is_matrix(params[i]))
      matrices.params.push_back(i);
    else if (params[i].role == Role::kEmbedding || params[i].role == Role::kOutput)
      rest.params.push_back(i);
    else
      vectors.params.push_back(i);
  }
  return {std::move(matrices), std::move(rest), std::move(vectors)};
}

std::vector<GroupPlan> plan_base(const OptimizerConfig& config, std::span<const ParamInfo> params,
                                 const Indices& these) {
  if (const auto* adam = std::get_if<AdamConfig>(&config))
    return plan_all(AdamOptions{.lr = adam->lr,
                                .betas = adam->betas,
                                .eps = adam->eps,
                                .weight_decay = adam->weight_decay,
                                .amsgrad = adam->amsgrad},
                    these);
  if (const auto* adamw = std::get_if<AdamWConfig>(&config))
    return plan_all(AdamWOptions{.lr = adamw->lr,
                                 .betas = adamw->betas,
                                 .eps = adamw->eps,
                                 .weight_decay = adamw->weight_decay,
                                 .amsgrad = adamw->amsgrad},
                    these);
  if (const auto* muon = std::get_if<MuonConfig>(&config)) return plan_muon(*muon, params, these);
  return plan_rule(std::get<RuleConfig>(config), params, these);
}

/// Adds what is not told yet: a group that is split over several rules has the same problem in
/// each.
void tell(std::vector<Problem>& problems, const std::vector<Problem>& more) {
  for (const Problem& each : more)
    if (std::ranges::find(problems, each) == problems.end()) problems.push_back(each);
}

/// A matrix rule that was asked for by name must get a matrix: else everything would silently go to
/// the rule of the rest.
void require_matrices(const std::vector<GroupPlan>& plans, const std::string& where,
                      std::vector<Problem>& problems) {
  bool asked = false;
  for (const GroupPlan& each : plans)
    if (find_rule(rule_name(each.options))->matrices_only) {
      if (!each.params.empty()) return;
      asked = true;
    }
  if (asked)
    problems.push_back(
        {.what = where + " asks for a matrix rule, and no parameter of it is a hidden matrix",
         .why = "everything would silently go to the rule of the rest",
         .remedy = "use adamw, or set the roles of the parameters that are matrices"});
}

Problem unmatched(std::size_t index, const GroupRule& rule, std::span<const ParamInfo> params,
                  std::size_t trainable) {
  std::vector<std::string_view> names;
  for (const ParamInfo& each : params) names.push_back(each.name);
  const auto near = rule.name_pattern ? nearest(*rule.name_pattern, names) : std::nullopt;
  const std::string wanted = rule.name_pattern ? fmt::format(": pattern '{}'", *rule.name_pattern)
                             : rule.role       ? fmt::format(": role {}", spelling(*rule.role))
                                               : "";
  return {
      .what = fmt::format("groups[{}] matches none of the {} trainable parameters{}", index,
                          trainable, wanted),
      .why =
          "an empty group is nearly always a misspelt pattern, or an earlier group took its "
          "parameters",
      .remedy = near ? fmt::format(
                           "the nearest name is '{}'; fix the pattern or set optional: true", *near)
                     : "fix the match or set optional: true"};
}

/// The parameters that each rule takes: first match wins. The last entry holds those that none
/// took. Rules that take nothing go to `problems`.
std::vector<Indices> take(const std::vector<GroupRule>& rules, std::span<const ParamInfo> params,
                          const Indices& trainable, std::vector<Problem>& problems) {
  std::vector<Indices> taken(rules.size() + 1);
  std::vector<std::unique_ptr<Pattern>> patterns;
  for (std::size_t r = 0; r < rules.size(); ++r)
    patterns.push_back(rules[r].name_pattern
                           ? std::make_unique<Pattern>(*rules[r].name_pattern,
                                                       fmt::format("groups[{}].match.name", r),
                                                       problems)
                           : nullptr);
  for (const std::size_t i : trainable) {
    std::size_t r = 0;
    while (r < rules.size() && ((patterns[r] && !patterns[r]->found_in(params[i].name)) ||
                                (rules[r].role && *rules[r].role != params[i].role)))
      ++r;
    taken[r].push_back(i);
  }
  for (std::size_t r = 0; r < rules.size(); ++r)
    if (taken[r].empty() && !rules[r].optional && (!patterns[r] || patterns[r]->valid()))
      problems.push_back(unmatched(r, rules[r], params, trainable.size()));
  return taken;
}

/// The groups of one entry of `groups`: what its parameters would get without it, or from its own
/// optimizer, with the entry's fields changed.
std::vector<GroupPlan> plan_entry(std::size_t index, const GroupRule& rule,
                                  const OptimizerConfig& config, std::span<const ParamInfo> params,
                                  const Indices& these, std::vector<Problem>& problems) {
  const std::string scope = fmt::format("groups[{}]", index);
  OptimizerConfig base = config;
  if (!rule.optimizer.is_null()) {
    Rules inner(scope + ".optimizer");
    base = read_optimizer_config(rule.optimizer, inner);
    tell(problems, inner.problems());
    if (!inner.problems().empty()) return {};
  }
  std::vector<GroupPlan> mine = plan_base(base, params, these);
  if (!rule.optimizer.is_null() && !these.empty())
    require_matrices(mine, scope + ".optimizer", problems);
  std::erase_if(mine, [](const GroupPlan& each) { return each.params.empty(); });
  const bool alone = mine.size() == 1;
  for (GroupPlan& each : mine) {
    Rules fields(scope);
    std::visit(
        [&](auto& options) {
          read_fields(rule.options, options, fields);
          check_fields(options, fields);
        },
        each.options);
    tell(problems, fields.problems());
    each.norm_use = rule.norm_use;
    each.reason = fmt::format("{}: {}", scope, each.reason);
    each.name = alone ? scope : fmt::format("{}.{}", scope, each.name);
  }
  return mine;
}

}  // namespace

std::vector<GroupPlan> plan_groups(const OptimizerConfig& config,
                                   const std::vector<GroupRule>& rules,
                                   std::span<const ParamInfo> params) {
  Indices trainable;
  for (std::size_t i = 0; i < params.size(); ++i)
    if (params[i].trainable) trainable.push_back(i);
  if (trainable.empty())
    throw ConfigError({.what = fmt::format("none of the {} parameters is trainable", params.size()),
                       .why = "an optimizer without parameters would train nothing",
                       .remedy = "give a model whose parameters require gradients"});

  // A parameter's base is what it would get without `groups`: an entry there changes single fields
  // of it. All that is wrong is told at once.
  std::vector<Problem> problems;
  const std::vector<Indices> taken = take(rules, params, trainable, problems);
  std::vector<bool> is_left(params.size(), false);
  for (const std::size_t i : taken.back()) is_left[i] = true;
  std::vector<GroupPlan> plans = plan_base(config, params, trainable);
  require_matrices(plans, "optimizer", problems);
  for (GroupPlan& each : plans)
    std::erase_if(each.params, [&](std::size_t i) { return !is_left[i]; });
  for (std::size_t r = 0; r < rules.size(); ++r)
    for (GroupPlan& each : plan_entry(r, rules[r], config, params, taken[r], problems))
      plans.push_back(std::move(each));
  if (!problems.empty()) throw ConfigError(std::move(problems));
  std::erase_if(plans, [](const GroupPlan& each) { return each.params.empty(); });
  return plans;
}

}  // namespace steepest
