#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>
#include <torch/optim/optimizer.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "steepest/base/error.h"
#include "steepest/optimizers/archive.h"
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

/// Carries a flat options struct inside libtorch's option holder.
template <class Options>
class RuleOptionsHolder final : public torch::optim::OptimizerOptions {
 public:
  explicit RuleOptionsHolder(Options options) : value(std::move(options)) {}
  std::unique_ptr<torch::optim::OptimizerOptions> clone() const override {
    return std::make_unique<RuleOptionsHolder>(*this);
  }
  double get_lr() const override { return value.lr; }
  void set_lr(const double lr) override { value.lr = lr; }

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
/// Construction throws ConfigError for options out of range (all problems in one error) and for a
/// parameter given twice, and what the rule's `require` throws (ShapeError, DtypeError,
/// LayoutError); nothing is built then.
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
    for (Group& group : groups) append(std::move(group));
  }

  /// Adds a group; refused like one of the constructor's.
  void add_param_group(Group group) {
    std::set<const void*> seen;
    for (const auto& each : param_groups_)
      for (const at::Tensor& param : each.params()) seen.insert(param.unsafeGetTensorImpl());
    check_group(group, param_groups_.size(), seen);
    append(std::move(group));
  }
  using Optimizer::add_param_group;

  /// The options of a group, to read or to change; a change is checked at the next step.
  Options& options(std::size_t group = 0) { return holder(param_groups_.at(group)).value; }
  const Options& options(std::size_t group = 0) const {
    return static_cast<const RuleOptionsHolder<Options>&>(param_groups_.at(group).options()).value;
  }

  /// The state of a parameter, or null before its first gradient.
  State* state_of(const at::Tensor& param) {
    const auto found = state_.find(param.unsafeGetTensorImpl());
    return found == state_.end() ? nullptr
                                 : &static_cast<RuleStateHolder<State>&>(*found->second).value;
  }
  /// Makes the state of every parameter; inert.
  void allocate_state() {
    for (auto& group : param_groups_)
      for (const at::Tensor& param : group.params()) allocated(param, holder(group).value);
  }

  torch::Tensor step(LossClosure closure = nullptr) override {
    at::Tensor loss;
    if (closure) {
      const at::AutoGradMode enable_grad(true);
      loss = closure();
    }
    const at::NoGradGuard no_grad;
    check_foreign_changes();
    for (auto& group : param_groups_) {
      const Options& options = holder(group).value;
      std::vector<Slot<State>> slots;
      for (const at::Tensor& param : group.params()) {
        at::Tensor grad = param.grad();
        if (!grad.defined()) {
          if (!R::zero_for_missing(options)) continue;
          grad = at::zeros_like(param);
        }
        slots.push_back({param, std::move(grad), &allocated(param, options)});
      }
      R::update(slots, options, 1.0);
    }
    return loss;
  }

  void save(torch::serialize::OutputArchive& archive) const override {
    std::vector<ArchivedGroup> groups;
    for (const auto& group : param_groups_) {
      ArchivedGroup saved;
      saved.options =
          write_fields(static_cast<const RuleOptionsHolder<Options>&>(group.options()).value)
              .dump();
      for (const at::Tensor& param : group.params()) {
        ArchivedState state;
        const auto found = state_.find(param.unsafeGetTensorImpl());
        if (found != state_.end()) {
          const State& value = static_cast<const RuleStateHolder<State>&>(*found->second).value;
          state.present = true;
          state.step = value.step;
          for_each_state_tensor<State>([&](const StateField<State>& field) {
            const at::Tensor& tensor = value.*(field.member);
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
    std::vector<std::size_t> sizes;
    for (const auto& group : param_groups_) sizes.push_back(group.params().size());
    const std::vector<ArchivedGroup> saved = read_archive(archive, std::string(R::kName), sizes);

    std::vector<Options> options;
    std::vector<std::pair<const at::Tensor*, std::unique_ptr<RuleStateHolder<State>>>> states;
    for (std::size_t g = 0; g < saved.size(); ++g) {
      options.push_back(read_options(saved[g].options));
      for (std::size_t p = 0; p < saved[g].states.size(); ++p) {
        const at::Tensor& param = param_groups_[g].params()[p];
        const ArchivedState& from = saved[g].states[p];
        std::unique_ptr<RuleStateHolder<State>> state;
        if (from.present) state = read_state(param, options.back(), from, g, p);
        states.emplace_back(&param, std::move(state));
      }
    }
    for (std::size_t g = 0; g < options.size(); ++g)
      holder(param_groups_[g]).value = std::move(options[g]);
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
  static RuleOptionsHolder<Options>& holder(torch::optim::OptimizerParamGroup& group) {
    return static_cast<RuleOptionsHolder<Options>&>(group.options());
  }

  static void check_group(const Group& group, std::size_t index, std::set<const void*>& seen) {
    validate(group.options, fmt::format("{}: group {}", R::kName, index));
    for (std::size_t p = 0; p < group.params.size(); ++p) {
      const at::Tensor& param = group.params[p];
      const std::string name = fmt::format("{} of group {}", p, index);
      require_updatable(param, name);
      if (!param.is_leaf())
        throw ConfigError({.what = fmt::format("parameter {} is not a leaf", name),
                           .why = "gradients gather in leaves alone",
                           .remedy = "give the tensor that the module holds"});
      R::require(param, group.options, name);
      if (!seen.insert(param.unsafeGetTensorImpl()).second)
        throw ConfigError({.what = fmt::format("parameter {} is given twice", name),
                           .why = "it would be updated twice a step",
                           .remedy = "give every parameter once"});
    }
  }

  void append(Group group) {
    param_groups_.emplace_back(
        std::move(group.params),
        std::make_unique<RuleOptionsHolder<Options>>(std::move(group.options)));
    checked_groups_ = param_groups_.size();
  }

  /// libtorch's add_param_group, zero checks of its own, can be called through the base class, and
  /// options can be changed between steps: what came that way is checked here, before anything is
  /// changed.
  void check_foreign_changes() {
    for (std::size_t g = 0; g < param_groups_.size(); ++g)
      validate(holder(param_groups_[g]).value, fmt::format("{}: group {}", R::kName, g));
    if (checked_groups_ == param_groups_.size()) return;
    std::set<const void*> seen;
    for (std::size_t g = 0; g < param_groups_.size(); ++g)
      check_group({param_groups_[g].params(), holder(param_groups_[g]).value}, g, seen);
    checked_groups_ = param_groups_.size();
  }

  State& allocated(const at::Tensor& param, const Options& options) {
    auto& holder = state_[param.unsafeGetTensorImpl()];
    if (!holder) {
      auto fresh = std::make_unique<RuleStateHolder<State>>();
      fresh->value = R::make_state(param, options);
      holder = std::move(fresh);
    }
    return static_cast<RuleStateHolder<State>&>(*holder).value;
  }

  static Options read_options(const std::string& text) {
    Options options;
    Rules rules(std::string(R::kName) + ": saved options");
    const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    read_fields(json, options, rules);
    check_fields(options, rules);
    rules.enforce();
    return options;
  }

  static std::unique_ptr<RuleStateHolder<State>> read_state(const at::Tensor& param,
                                                            const Options& options,
                                                            const ArchivedState& from,
                                                            std::size_t group, std::size_t index) {
    auto state = std::make_unique<RuleStateHolder<State>>();
    state->value = R::make_state(param, options);
    state->value.step = from.step;
    for_each_state_tensor<State>([&](const StateField<State>& field) {
      at::Tensor& target = state->value.*(field.member);
      const at::Tensor* saved = nullptr;
      for (const auto& [key, tensor] : from.tensors)
        if (key == field.key) saved = &tensor;
      if (!saved) {
        if (target.defined())
          throw StateError({.what = fmt::format("state {} of parameter {} of group {} is missing",
                                                field.key, index, group),
                            .why = "it was saved under other options",
                            .remedy = "build the optimizer as it was when saved"});
        return;
      }
      if (!target.defined()) target = at::zeros_like(param);
      if (saved->sizes() != target.sizes())
        throw StateError(
            {.what = fmt::format("state {} of parameter {} of group {} has shape {}, here it is {}",
                                 field.key, index, group, shape_text(shape_of(*saved)),
                                 shape_text(shape_of(target))),
             .why = "a state must have the shape of its parameter",
             .remedy = "load into the model it was saved from"});
      target.copy_(*saved);
    });
    return state;
  }

  std::size_t checked_groups_ = 0;
};

}  // namespace steepest
