#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "steepest/step/group.h"
#include "steepest/step/step_factors.h"
#include "steepest/step/step_result.h"

namespace steepest {

/// A state of a parameter as it leaves memory: a tensor, or the step counter (tensor undefined).
struct NamedState {
  std::string param;
  std::string key;    ///< "exp_avg" ...; "step" for the counter
  at::Tensor tensor;  ///< shares memory with the state
  std::int64_t step = 0;
};

/// Where a loaded state comes from: returns the tensor of (param, key), undefined where there is
/// none.
using StateSource = std::function<at::Tensor(std::string_view param, std::string_view key)>;

/// Whose a gradient is.
struct GradientOf {
  std::string_view param;
  const Group* group;
};

/// Parameters under one rule, driven by the step driver: it never decides whether a step happens.
class Member {
 public:
  virtual ~Member() = default;
  virtual std::string_view rule() const = 0;
  virtual const std::vector<Group*>& groups() const = 0;
  /// Appends this member's gradients (undefined where missing) and whose they are. Throws what
  /// require_gradient throws for one that cannot be applied: the driver asks before it changes
  /// anything.
  virtual void gradients(std::vector<at::Tensor>& grads, std::vector<GradientOf>& owners) const = 0;
  /// One update; a group's gradients count as grad * its factor, and are set to zero afterwards if
  /// asked.
  virtual MemberPaths apply(const StepFactors& factors, bool zero_gradients) = 0;
  /// The same with one factor for all.
  MemberPaths update(double factor, bool zero_gradients) {
    return apply({.inverse_scale = factor}, zero_gradients);
  }
  virtual void zero_grad(bool set_to_none) = 0;
  /// Takes masters anew from the weights, after these were written to from outside.
  virtual void reload_masters() = 0;
  /// Makes all state that lazily comes with first gradients; inert.
  virtual void allocate_state() = 0;
  virtual std::vector<NamedState> state() const = 0;
  /// Checks that every state in `source` fits (StateError names parameter and shapes) without
  /// changing anything.
  virtual void check_state(const StateSource& source) const = 0;
  /// Copies states in; those the source lacks become fresh. Called after check_state.
  virtual void load_state(const StateSource& source) = 0;
};

/// A parameter of a member: its name and tensor.
struct MemberParam {
  std::string name;
  at::Tensor value;
};

/// Parameters and options of a group to be built.
struct MemberGroup {
  std::string name;
  RuleOptions options;
  std::vector<MemberParam> params;
  std::string reason;
  NormUse norm_use = {};
};

/// The member for groups that all have the same rule. Options are validated and every parameter is
/// checked against the rule (Rule::require) before anything is built.
std::unique_ptr<Member> make_member(std::vector<MemberGroup> groups);

}  // namespace steepest
