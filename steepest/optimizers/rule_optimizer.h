#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/optim/optimizer.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "steepest/base/hash.h"
#include "steepest/optimizers/archive.h"
#include "steepest/optimizers/gradient_check.h"
#include "steepest/optimizers/group_check.h"
#include "steepest/optimizers/restore_state.h"
#include "steepest/optimizers/rule.h"
#include "steepest/params/param_set.h"
#include "steepest/tensor/bridge.h"

namespace steepest {

/// Parameters with options of their own. The options are taken whole: a value that equals a default
/// counts like any other (libtorch's own optimizers replace it by the constructor's).
template <class Options>
struct RuleGroup {
  std::vector<at::Tensor> params;
  Options options = {};
};

/// Reads options from the JSON text that write_fields makes. ConfigError: all problems at once.
template <class Options>
Options parse_options(const std::string& text, std::string_view scope) {
  Options options;
  Rules rules(scope);
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  read_fields(json, options, rules);
  check_fields(options, rules);
  rules.enforce();
  return options;
}

/// Carries a flat options struct inside libtorch's option holder. Not through
/// torch::optim::OptimizerCloneableOptions: that one replaces a group's value that equals a
/// default.
template <class Options>
class RuleOptionsHolder final : public torch::optim::OptimizerOptions {
 public:
  explicit RuleOptionsHolder(Options options) : value(std::move(options)) {}
  std::unique_ptr<torch::optim::OptimizerOptions> clone() const override {
    return std::make_unique<RuleOptionsHolder>(*this);
  }
  double get_lr() const override { return value.lr; }
  void set_lr(const double lr) override { value.lr = lr; }
  void serialize(torch::serialize::OutputArchive& archive) const override {
    write_options(archive, write_fields(value).dump());
  }
  /// ConfigError: options that do not fit. They are as before then.
  void serialize(torch::serialize::InputArchive& archive) override {
    value = parse_options<Options>(read_options(archive), "saved options");
  }

  Options value;
};

/// Carries a rule's state inside libtorch's state map.
template <class State>
class RuleStateHolder final : public torch::optim::OptimizerParamState {
 public:
  std::unique_ptr<torch::optim::OptimizerParamState> clone() const override {
    auto copy = std::make_unique<RuleStateHolder>();
    copy->value.step = value.step;
    for_each_state_tensor<State>([&](const StateField<State>& field) {
      const at::Tensor& tensor = value.*(field.member);
      if (tensor.defined()) copy->value.*(field.member) = tensor.clone();
    });
    return copy;
  }

  State value;
};

/// A rule as a torch::optim::Optimizer: closures, param_groups(), state(), add_param_group,
/// zero_grad, libtorch's schedulers, torch::save and torch::load.
///
///   steepest::AdamW optimizer(model->parameters(), {.lr = 3e-4});
///   steepest::Muon optimizer({{.params = wide, .options = {.lr = 0.02}}, {.params = tall}});
///
/// Construction throws ConfigError for options out of range (all problems in one error), for a
/// parameter given twice and for one that is not a leaf; LayoutError for parameters that share
/// memory; and what the rule's `require` throws (ShapeError, DtypeError, LayoutError). Nothing is
/// built then.
///
/// A step checks first what came into param_groups() and state() from outside: what the constructor
/// would refuse is refused; parameters may be added, taken out, and given other memory (set_data,
/// Module::to). StateError: another tensor in the place of one with state, a state of another
/// optimizer, or one that does not fit its parameter any more. Nothing is changed then.
template <class R>
class RuleOptimizer : public torch::optim::Optimizer {
 public:
  using Options = typename R::Options;
  using State = typename R::State;
  using Group = RuleGroup<Options>;

  explicit RuleOptimizer(std::vector<at::Tensor> params, Options options = {})
      : RuleOptimizer(one_group(std::move(params), options), options) {}
  explicit RuleOptimizer(const ParamSet& params, Options options = {})
      : RuleOptimizer(trainable(params), options) {}
  explicit RuleOptimizer(std::vector<Group> groups, Options defaults = {})
      : Optimizer(std::vector<torch::optim::OptimizerParamGroup>{},
                  std::make_unique<RuleOptionsHolder<Options>>(defaults)) {
    validate(defaults, R::kName);
    std::set<const void*> seen;
    for (std::size_t i = 0; i < groups.size(); ++i) check_group(groups[i], i, seen);
    std::vector<std::vector<at::Tensor>> all;
    for (const Group& group : groups) all.push_back(group.params);
    require_apart(all);
    for (Group& group : groups) append(std::move(group));
    known_.note(param_groups_);
  }

  /// Adds a group; refused like one of the constructor's. Nothing is changed then.
  void add_param_group(Group group) {
    check_foreign_changes();
    std::set<const void*> seen;
    std::vector<std::vector<at::Tensor>> all;
    for (const auto& each : param_groups_) {
      all.push_back(each.params());
      for (const at::Tensor& param : each.params()) seen.insert(param.unsafeGetTensorImpl());
    }
    check_group(group, param_groups_.size(), seen);
    all.push_back(group.params);
    require_apart(all);
    append(std::move(group));
    known_.note(param_groups_);
  }
  /// The same from libtorch's own type of group; without options it gets the defaults. ConfigError:
  /// options of another optimizer. Through a reference to the base class libtorch's own function
  /// runs instead, which drops a group's options and gives it the defaults.
  void add_param_group(const torch::optim::OptimizerParamGroup& group) {
    const torch::optim::OptimizerOptions& options =
        group.has_options() ? group.options() : *defaults_;
    const auto* holder = dynamic_cast<const RuleOptionsHolder<Options>*>(&options);
    if (!holder) refuse_foreign_options(R::kName, param_groups_.size());
    add_param_group(Group{group.params(), holder->value});
  }

  /// The options of a group, to read or to change; a change is checked at the next step.
  /// ConfigError: the group came through the base class with options of another optimizer.
  Options& options(std::size_t group = 0) { return options_of(param_groups_.at(group), group); }
  const Options& options(std::size_t group = 0) const {
    return options_of(param_groups_.at(group), group);
  }

  /// The state of a parameter, or null before its first gradient. StateError: state() holds another
  /// optimizer's for it.
  State* state_of(const at::Tensor& param) {
    return const_cast<State*>(std::as_const(*this).state_of(param));
  }
  const State* state_of(const at::Tensor& param) const {
    const auto found = state_.find(param.unsafeGetTensorImpl());
    if (found == state_.end() || !found->second) return nullptr;
    const auto* holder = dynamic_cast<const RuleStateHolder<State>*>(found->second.get());
    if (!holder) refuse_foreign_state(R::kName, place_of(param));
    return &holder->value;
  }
  /// Makes the state of every parameter; inert.
  void allocate_state() {
    check_foreign_changes();
    for (std::size_t g = 0; g < param_groups_.size(); ++g)
      for (const at::Tensor& param : param_groups_[g].params()) allocated(param, options(g));
  }

  torch::Tensor step(LossClosure closure = nullptr) override {
    at::Tensor loss;
    if (closure) {
      const at::AutoGradMode enable_grad(true);
      loss = closure();
    }
    const at::NoGradGuard no_grad;
    check_foreign_changes();
    // All gradients are looked at before the first weight is changed.
    std::vector<std::vector<Slot<State>>> slots(param_groups_.size());
    std::size_t number = 0;
    for (std::size_t g = 0; g < param_groups_.size(); ++g) {
      const std::vector<at::Tensor>& params = param_groups_[g].params();
      for (std::size_t p = 0; p < params.size(); ++p) {
        // As tensors without names are called elsewhere.
        const std::uint64_t key = hash(anonymous_name(number++));
        at::Tensor grad = gradient_for<R>(params[p], options(g));
        if (!grad.defined()) continue;
        if (!gradient_fits(params[p], grad)) require_gradient(params[p], grad, name_in_group(p, g));
        if (const State* state = state_of(params[p]))
          R::require_state(params[p], *state, options(g), name_in_group(p, g));
        slots[g].push_back({params[p], std::move(grad), nullptr, key});
      }
    }
    for (std::size_t g = 0; g < slots.size(); ++g) {
      for (Slot<State>& slot : slots[g]) slot.state = &allocated(slot.param, options(g));
      R::update(slots[g], options(g), 1.0);
    }
    return loss;
  }

  void save(torch::serialize::OutputArchive& archive) const override {
    std::vector<ArchivedGroup> groups;
    for (std::size_t g = 0; g < param_groups_.size(); ++g) {
      ArchivedGroup saved;
      saved.options = write_fields(options(g)).dump();
      for (const at::Tensor& param : param_groups_[g].params()) {
        ArchivedState state;
        if (const State* value = state_of(param)) {
          state.present = true;
          state.step = value->step;
          for_each_state_tensor<State>([&](const StateField<State>& field) {
            const at::Tensor& tensor = value->*(field.member);
            if (tensor.defined()) state.tensors.emplace_back(std::string(field.key), tensor);
          });
        }
        saved.states.push_back(std::move(state));
      }
      groups.push_back(std::move(saved));
    }
    write_archive(archive, std::string(R::kName), groups);
  }

  /// StateError: another rule, other groups or shapes. Nothing is changed then.
  void load(torch::serialize::InputArchive& archive) override {
    const at::NoGradGuard no_grad;
    check_foreign_changes();
    std::vector<std::size_t> sizes;
    for (const auto& group : param_groups_) sizes.push_back(group.params().size());
    const std::vector<ArchivedGroup> saved = read_archive(archive, std::string(R::kName), sizes);

    std::vector<Options> all_options;
    std::vector<std::pair<const at::Tensor*, std::unique_ptr<RuleStateHolder<State>>>> states;
    for (std::size_t g = 0; g < saved.size(); ++g) {
      all_options.push_back(
          parse_options<Options>(saved[g].options, std::string(R::kName) + ": saved options"));
      for (std::size_t p = 0; p < saved[g].states.size(); ++p) {
        const at::Tensor& param = param_groups_[g].params()[p];
        const ArchivedState& from = saved[g].states[p];
        std::unique_ptr<RuleStateHolder<State>> state;
        if (from.present) state = read_state(param, all_options.back(), from, g, p);
        states.emplace_back(&param, std::move(state));
      }
    }
    for (std::size_t g = 0; g < all_options.size(); ++g) options(g) = std::move(all_options[g]);
    for (auto& [param, state] : states) {
      if (state)
        state_[param->unsafeGetTensorImpl()] = std::move(state);
      else
        state_.erase(param->unsafeGetTensorImpl());
    }
  }

 private:
  static std::vector<Group> one_group(std::vector<at::Tensor> params, const Options& options) {
    std::vector<Group> groups;
    groups.push_back({std::move(params), options});
    return groups;
  }
  static std::vector<at::Tensor> trainable(const ParamSet& params) {
    std::vector<at::Tensor> all;
    for (const Param& each : params)
      if (each.info.trainable) all.push_back(each.value);
    return all;
  }
  /// The options of a group, const or not as the group is. Through the base class a group can come
  /// with any other optimizer's.
  template <class ParamGroup>
  static auto& options_of(ParamGroup& group, std::size_t index) {
    using Holder = std::conditional_t<std::is_const_v<ParamGroup>, const RuleOptionsHolder<Options>,
                                      RuleOptionsHolder<Options>>;
    auto* holder = dynamic_cast<Holder*>(&group.options());
    if (!holder) refuse_foreign_options(R::kName, index);
    return holder->value;
  }
  static void check_group(const Group& group, std::size_t index, std::set<const void*>& seen) {
    validate(group.options, group_scope(R::kName, index));
    for (std::size_t p = 0; p < group.params.size(); ++p) {
      const at::Tensor& param = group.params[p];
      const std::string name = name_in_group(p, index);
      require_updatable(param, name);
      require_leaf(param, name);
      R::require(param, group.options, name);
      if (!seen.insert(param.unsafeGetTensorImpl()).second) refuse_repeated(name);
    }
  }

  void append(Group group) {
    param_groups_.emplace_back(
        std::move(group.params),
        std::make_unique<RuleOptionsHolder<Options>>(std::move(group.options)));
  }

  /// What a parameter is called in messages.
  std::string place_of(const at::Tensor& param) const {
    for (std::size_t g = 0; g < param_groups_.size(); ++g)
      for (std::size_t p = 0; p < param_groups_[g].params().size(); ++p)
        if (param_groups_[g].params()[p].is_same(param)) return name_in_group(p, g);
    return "of no group";
  }

  /// libtorch's add_param_group, with no checks of ours, can be called through the base class,
  /// param_groups() and state() can be written to, parameters be converted or moved, and options be
  /// changed between steps: what came that way is checked here, before anything is changed. States
  /// of parameters that were taken out go with them.
  void check_foreign_changes() {
    for (std::size_t g = 0; g < param_groups_.size(); ++g)
      validate(options(g), group_scope(R::kName, g));
    if (known_.hold(param_groups_)) return;
    std::set<const void*> seen;
    std::vector<std::vector<at::Tensor>> all;
    for (std::size_t g = 0; g < param_groups_.size(); ++g) {
      all.push_back(param_groups_[g].params());
      check_group({all.back(), options(g)}, g, seen);
    }
    require_apart(all);
    const std::vector<KnownGroups::Gone> gone = known_.gone(param_groups_);
    for (const KnownGroups::Gone& each : gone)
      if (each.taken && state_.count(each.param.unsafeGetTensorImpl()) != 0)
        refuse_replaced(name_in_group(each.index, each.group));
    for (const KnownGroups::Gone& each : gone) state_.erase(each.param.unsafeGetTensorImpl());
    known_.note(param_groups_);
  }

  State& allocated(const at::Tensor& param, const Options& options) {
    if (State* state = state_of(param)) return *state;
    auto fresh = std::make_unique<RuleStateHolder<State>>();
    fresh->value = R::make_state(param, options);
    State& state = fresh->value;
    state_[param.unsafeGetTensorImpl()] = std::move(fresh);
    return state;
  }

  static std::unique_ptr<RuleStateHolder<State>> read_state(const at::Tensor& param,
                                                            const Options& options,
                                                            const ArchivedState& from,
                                                            std::size_t group, std::size_t index) {
    auto state = std::make_unique<RuleStateHolder<State>>();
    const auto saved = [&](std::string_view key) {
      for (const auto& [name, tensor] : from.tensors)
        if (name == key) return tensor;
      return at::Tensor();
    };
    state->value = restored_state<R>(param, options, from.step, saved,
                                     "parameter " + name_in_group(index, group));
    return state;
  }

  KnownGroups known_;  ///< the groups when they were last checked
};

}  // namespace steepest
