#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "steepest/base/json_fields.h"
#include "steepest/gradients/norm_policy.h"
#include "steepest/optimizers/rule_options.h"
#include "steepest/params/param_info.h"

namespace steepest {

/// One rule for every parameter: AutoModel's `adam` and `adamw` (their defaults), ours `sgd` and
/// `lion`. Every options struct can be given to build_optimizer as it is; these add AutoModel's
/// defaults.
struct AdamConfig {
  double lr = 1e-4;
  double weight_decay = 0.01;
  Betas betas = {0.9, 0.999};
  double eps = 1e-8;
  bool amsgrad = false;

  static constexpr auto fields() {
    using O = AdamConfig;
    return std::tuple{field("lr", &O::lr, rate(), "step size"),
                      field("weight_decay", &O::weight_decay, at_least_zero(),
                            "L2: wd * w is added to the gradient"),
                      field("betas", &O::betas, decay_factor(),
                            "decay of the gradient average and of its square"),
                      field("eps", &O::eps, at_least_zero(), "added outside the square root"),
                      field("amsgrad", &O::amsgrad, "divide by the largest second moment so far")};
  }
  bool operator==(const AdamConfig&) const = default;
};

struct AdamWConfig {
  double lr = 1e-4;
  double weight_decay = 0.01;
  Betas betas = {0.9, 0.999};
  double eps = 1e-8;
  bool amsgrad = false;

  static constexpr auto fields() {
    using O = AdamWConfig;
    return std::tuple{field("lr", &O::lr, rate(), "step size"),
                      field("weight_decay", &O::weight_decay, at_least_zero(),
                            "decoupled: w shrinks by lr * wd a step"),
                      field("betas", &O::betas, decay_factor(),
                            "decay of the gradient average and of its square"),
                      field("eps", &O::eps, at_least_zero(), "added outside the square root"),
                      field("amsgrad", &O::amsgrad, "divide by the largest second moment so far")};
  }
  bool operator==(const AdamWConfig&) const = default;
};

/// AutoModel's `muon` (dion.Muon and its grouping): hidden matrices get Muon, all other parameters
/// `scalar_opt`.
struct MuonConfig {
  double lr = 5e-4;
  double weight_decay = 0.0;
  std::string scalar_opt = "adamw";
  Betas scalar_betas = {0.9, 0.999};
  double scalar_eps = 1e-8;
  std::optional<double> scalar_lr;
  std::optional<double> embed_lr;
  std::optional<double> lm_head_lr;
  double mu = 0.95;
  Betas betas = {0.9, 0.95};
  double epsilon = 1e-8;
  std::optional<ScaleMode> adjust_lr = ScaleMode::kUnitRmsNorm;
  bool nesterov = false;
  bool flatten = false;
  bool use_triton = false;

  static constexpr auto fields() {
    using O = MuonConfig;
    return std::tuple{
        field("lr", &O::lr, rate(), "step size of the matrices"),
        field("weight_decay", &O::weight_decay, at_least_zero(), "decoupled decay"),
        field("scalar_opt", &O::scalar_opt, "rule of all other parameters: adamw or lion"),
        field("scalar_betas", &O::scalar_betas, decay_factor(), "betas of scalar_opt"),
        field("scalar_eps", &O::scalar_eps, above_zero(), "eps of scalar_opt"),
        field("scalar_lr", &O::scalar_lr, rate(), "step size of scalar_opt; unset: lr"),
        field("embed_lr", &O::embed_lr, rate(), "step size of embeddings; unset: scalar_lr"),
        field("lm_head_lr", &O::lm_head_lr, rate(),
              "step size of the output matrix; unset: lr / sqrt(its columns)"),
        field("mu", &O::mu, decay_factor(), "decay of the momentum"),
        field("betas", &O::betas, decay_factor(), "kept for dion's constructor; scalar_betas rule"),
        field("epsilon", &O::epsilon, above_zero(), "guard of the orthogonalization"),
        field("adjust_lr", &O::adjust_lr, "factor on the step by the matrix's shape"),
        field("nesterov", &O::nesterov,
              "orthogonalize a look-ahead instead of the momentum itself"),
        field("flatten", &O::flatten,
              "does nothing: only matrices of two dimensions get Muon here, all others scalar_opt"),
        field("use_triton", &O::use_triton,
              "steers the reference's execution only; does nothing here")};
  }
  static void check(const MuonConfig& o, Rules& rules);
  bool operator==(const MuonConfig&) const = default;
};

/// A rule's own options for all matrices between embedding and output, another's for the rest: ours
/// (`steepest.Muon`, `torch.optim.Muon` with its own options). For rules that are not
/// `matrices_only`, `rest` is unused.
struct RuleConfig {
  RuleOptions matrices = AdamWOptions{};
  RuleOptions rest = AdamWOptions{};
  bool operator==(const RuleConfig&) const = default;
};

using OptimizerConfig = std::variant<AdamConfig, AdamWConfig, MuonConfig, RuleConfig>;

/// One entry of the surface's `groups:`: which parameters, and what is different for them.
struct GroupRule {
  std::optional<std::string>
      name_pattern;  ///< PCRE2, searched anywhere in the name (Python's re.search)
  std::optional<Role> role;
  bool optional = false;          ///< true: matching nothing is no error
  Json options = Json::object();  ///< fields of the rule to change: lr, weight_decay ...
  Json optimizer = nullptr;       ///< another optimizer section for them, or null
  NormUse norm_use = {};          ///< their part in norms and clipping
};

/// A group of an optimizer to be built. Pure: indices into the parameters that were given.
struct GroupPlan {
  std::string name;  ///< "matrices", "embeddings", "output", "rest", "groups[0]" ...
  RuleOptions options;
  std::vector<std::size_t> params;
  std::string reason;  ///< why they are here
  NormUse norm_use = {};
};

/// Throws one ConfigError with every broken rule.
void validate(const OptimizerConfig& config, std::string_view scope);
/// The optimizer section's `lr`, which absolute rates of a schedule refer to.
double base_lr(const OptimizerConfig& config);
/// Its `weight_decay`, which a schedule of it starts from.
double base_weight_decay(const OptimizerConfig& config);

/// Reads an optimizer section: `_target_` (or `name`) by the names of both stacks, then the fields.
/// All problems go to `rules`. Numbers may be text. Unset `_target_`: torch.optim.AdamW.
OptimizerConfig read_optimizer_config(const Json& section, Rules& rules);
/// Writes it with all defaults filled in.
Json write_optimizer_config(const OptimizerConfig& config);

/// Which parameter goes where: every trainable parameter is in exactly one group, in registration
/// order inside it; groups without parameters are left out. One ConfigError tells all problems of
/// all groups: a pattern that is no regular expression; a field of the wrong name or value; a rule
/// that matches nothing (the nearest name is named) and is not optional; a matrix rule forced on a
/// vector; no trainable parameter at all; Muon asked for and no matrix.
std::vector<GroupPlan> plan_groups(const OptimizerConfig& config,
                                   const std::vector<GroupRule>& rules,
                                   std::span<const ParamInfo> params);

}  // namespace steepest
