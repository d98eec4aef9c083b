#pragma once

#include <ATen/core/grad_mode.h>

#include <deque>
#include <utility>

#include "steepest/base/hash.h"
#include "steepest/optimizers/gradient_check.h"
#include "steepest/optimizers/restore_state.h"
#include "steepest/optimizers/rule.h"
#include "steepest/precision/stored.h"
#include "steepest/step/member.h"
#include "steepest/tensor/bridge.h"

namespace steepest {

/// A member whose parameters live whole in this process, under rule R.
template <Rule R>
class RuleMember final : public Member {
 public:
  explicit RuleMember(std::vector<MemberGroup> groups) {
    for (const MemberGroup& group : groups) {
      validate(group.options, group.name);
      validate(group.norm_use, group.name);
      for (const MemberParam& param : group.params)
        R::require(param.value, options_of(group.options), param.name);
    }
    for (MemberGroup& group : groups) {
      std::vector<std::string> names;
      for (const MemberParam& param : group.params) names.push_back(param.name);
      groups_.push_back(
          Owned{Group(std::move(group.name), std::move(group.options), std::move(names),
                      std::move(group.reason), std::move(group.norm_use)),
                {}});
      for (MemberParam& param : group.params)
        groups_.back().params.push_back(
            Entry{param.name, std::move(param.value), {}, false, hash(param.name)});
      handles_.push_back(&groups_.back().group);
    }
  }

  std::string_view rule() const override { return R::kName; }

  const std::vector<Group*>& groups() const override { return handles_; }

  void gradients(std::vector<at::Tensor>& grads, std::vector<GradientOf>& owners) const override {
    for (const Owned& owned : groups_)
      for (const Entry& entry : owned.params) {
        const at::Tensor& grad = entry.value.grad();
        if (grad.defined() && !gradient_fits(entry.value, grad))
          require_gradient(entry.value, grad, entry.name);
        if (grad.defined() && entry.allocated)
          R::require_state(entry.value, entry.state, options_of(owned.group.options()), entry.name);
        grads.push_back(grad);
        owners.push_back({entry.name, &owned.group});
      }
  }

  MemberPaths apply(const StepFactors& factors, bool zero_gradients) override {
    const at::NoGradGuard no_grad;
    MemberPaths paths{R::kName};
    for (Owned& owned : groups_) {
      const auto& options = options_of(owned.group.options());
      std::vector<Slot<State>> slots;
      for (Entry& entry : owned.params) {
        at::Tensor grad = gradient_for<R>(entry.value, options);
        if (!grad.defined()) continue;
        allocate(entry, options);
        ++(path_of<R>(entry.value) == Path::kFused ? paths.fused : paths.plain);
        slots.push_back({entry.value, std::move(grad), &entry.state, entry.key, zero_gradients});
      }
      R::update(slots, options, factors.of(owned.group.norm_use()));
    }
    return paths;
  }

  void reload_masters() override {
    if constexpr (requires(State s) { s.master; })
      for (Owned& owned : groups_)
        for (Entry& entry : owned.params)
          if (entry.allocated)
            entry.state.master =
                make_master(entry.value, options_of(owned.group.options()).masters);
  }

  void zero_grad(bool set_to_none) override {
    const at::NoGradGuard no_grad;
    for (Owned& owned : groups_)
      for (Entry& entry : owned.params) {
        at::Tensor& grad = entry.value.mutable_grad();
        if (!grad.defined()) continue;
        if (set_to_none) {
          grad.reset();
        } else {
          grad.detach_();
          grad.zero_();
        }
      }
  }

  void allocate_state() override {
    for (Owned& owned : groups_)
      for (Entry& entry : owned.params) allocate(entry, options_of(owned.group.options()));
  }

  std::vector<NamedState> state() const override {
    std::vector<NamedState> all;
    for (const Owned& owned : groups_)
      for (const Entry& entry : owned.params) {
        if (!entry.allocated) continue;
        all.push_back({entry.name, "step", {}, entry.state.step});
        for_each_state_tensor<State>([&](const StateField<State>& field) {
          const at::Tensor& tensor = entry.state.*(field.member);
          if (tensor.defined()) all.push_back({entry.name, std::string(field.key), tensor, 0});
        });
      }
    return all;
  }

  void check_state(const StateSource& source) const override {
    for (const Owned& owned : groups_)
      for (const Entry& entry : owned.params)
        loaded_state(entry, options_of(owned.group.options()), source);
  }

  void load_state(const StateSource& source) override {
    for (Owned& owned : groups_)
      for (Entry& entry : owned.params) {
        auto [state, present] = loaded_state(entry, options_of(owned.group.options()), source);
        entry.state = std::move(state);
        entry.allocated = present;
      }
  }

 private:
  using State = typename R::State;
  using Options = typename R::Options;

  struct Entry {
    std::string name;
    at::Tensor value;
    State state;
    bool allocated = false;
    std::uint64_t key = 0;
  };
  struct Owned {
    Group group;
    std::vector<Entry> params;
  };

  static const Options& options_of(const RuleOptions& options) {
    return std::get<Options>(options);
  }

  static void allocate(Entry& entry, const Options& options) {
    if (entry.allocated) return;
    entry.state = R::make_state(entry.value, options);
    entry.allocated = true;
  }

  /// The state of one parameter as `source` has it, in tensors of its own, or a fresh one where the
  /// source has none. The configured dtype wins over the saved one.
  static std::pair<State, bool> loaded_state(const Entry& entry, const Options& options,
                                             const StateSource& source) {
    const at::NoGradGuard no_grad;
    const at::Tensor step = source(entry.name, "step");
    if (!step.defined()) return {State{}, false};
    const auto saved = [&](std::string_view key) { return source(entry.name, key); };
    return {
        restored_state<R>(entry.value, options, restored_step(step, entry.name), saved, entry.name),
        true};
  }

  // A deque keeps the addresses of groups when more are added.
  std::deque<Owned> groups_;
  std::vector<Group*> handles_;
};

}  // namespace steepest
