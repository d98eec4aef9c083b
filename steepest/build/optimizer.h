#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "steepest/checkpoint/checkpoint.h"
#include "steepest/params/param_set.h"
#include "steepest/recipe/optimizer_config.h"
#include "steepest/recipe/precision_config.h"
#include "steepest/step/lr_scheduler.h"
#include "steepest/step/step_driver.h"

namespace steepest {

/// What an optimizer writes into a checkpoint: pieces whose bytes stay valid as long as `keep`
/// lives, and values.
struct OptimizerSnapshot {
  std::vector<Piece> pieces;
  Json values;
  std::vector<at::Tensor> keep;
};

/// The optimizer that build_optimizer returns: members of different rules under one global norm,
/// one clip and one decision. Not a torch::optim::Optimizer: libtorch's zero_grad, param_groups and
/// state are not virtual, so no wrapper may pretend to be one. Not copyable. Not thread safe.
class Optimizer : public Scheduled {
 public:
  Optimizer(ParamSet params, std::vector<GroupPlan> plans, StepPolicy policy);

  /// One read of the gradients, one decision, one update. NonFiniteError (policy error) names the
  /// parameter.
  /// The result is good until the next step.
  const StepResult& step();
  void zero_grad(bool set_to_none = true);
  /// The two halves of a step, for loops that have something to do in between: see StepDriver.
  bool prepare_grads();
  const StepResult& step_with_ready_grads();

  /// The factor on the loss that the policy's loss scaling asks for now; 1 without it. The same for
  /// a whole step, however many backward passes it has.
  double loss_scale() const;
  /// loss * loss_scale(): call backward on it.
  at::Tensor scaled(const at::Tensor& loss) const;
  /// Takes fp32 masters anew from the weights, and forgets remainders, after the weights were
  /// written to from outside (loaded, broadcast, edited).
  void reload_model_params();

  /// Groups in order; their addresses stay valid as long as the optimizer lives.
  std::vector<Group*> groups();
  /// The group of that name. ConfigError names the nearest.
  Group& group(std::string_view name);
  /// Sets a field in every group whose rule has it; ConfigError if none has.
  void set(std::string_view field, const Json& value);
  /// Adds parameters as a further group; refused (ConfigError) if one is in the optimizer already
  /// or the name is taken.
  Group& add_group(std::string name, RuleOptions options, const ParamSet& params,
                   NormUse norm_use = {});

  const ParamSet& params() const { return params_; }
  const StepPolicy& policy() const;
  void set_policy(const StepPolicy& policy);
  std::int64_t applied() const;
  std::int64_t skipped() const;

  /// Makes all state now instead of at first gradients; inert.
  void allocate_state();
  /// Every state by parameter name; tensors share memory with the optimizer.
  std::vector<NamedState> state() const;
  /// Who got which rule and why: a table, one line a parameter.
  std::string describe() const;

  /// States by parameter name, options by group name, counters. Does not hold the weights.
  OptimizerSnapshot snapshot() const;
  /// Restores from a checkpoint: everything is checked first (StateError, CheckpointError name
  /// parameter and shapes), then copied in; nothing is changed on failure.
  void restore(const Checkpoint& checkpoint);
  /// A checkpoint of the optimizer alone in `folder`/step-N, and back from such a folder.
  std::filesystem::path save(const std::filesystem::path& folder) const;
  void load(const std::filesystem::path& folder);

  void schedule_lr_factor(double factor) override;
  void schedule_weight_decay(double value) override;

 private:
  ParamSet params_;
  StepDriver driver_;
  double lr_factor_ = 1;                ///< the schedule's, for groups added later
  std::optional<double> weight_decay_;  ///< the schedule's, for the same
};

/// From a config to a living optimizer over the trainable parameters. See plan_groups for grouping
/// and refusals.
std::unique_ptr<Optimizer> build_optimizer(const OptimizerConfig& config, const ParamSet& params,
                                           const StepPolicy& policy = {},
                                           const std::vector<GroupRule>& groups = {});
/// The same, with a recipe's `precision` over every group's storage and its loss scale in the
/// policy; `seed` is of stochastic rounding. DtypeError: the parameters are not what `weights`
/// says.
std::unique_ptr<Optimizer> build_optimizer(const OptimizerConfig& config, const ParamSet& params,
                                           StepPolicy policy, const std::vector<GroupRule>& groups,
                                           const PrecisionConfig& precision, std::int64_t seed);
/// The same from a recipe's optimizer section as YAML text ("_target_: muon\nlr: 0.02").
std::unique_ptr<Optimizer> build_optimizer_from_yaml(std::string_view section,
                                                     const ParamSet& params,
                                                     const StepPolicy& policy = {});

}  // namespace steepest
