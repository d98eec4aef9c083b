#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros_like.h>

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

namespace steepest {

/// A tensor of a rule's state: its key (as the original library names it) and where it lives.
template <class State>
struct StateField {
  std::string_view key;
  at::Tensor State::*member;
};

/// What an update works on: a parameter, its gradient and its state. All three are defined; the
/// gradient has the parameter's shape, any floating dtype and any strides.
template <class State>
struct Slot {
  at::Tensor param;
  at::Tensor grad;
  State* state;
  std::uint64_t key = 0;       ///< a number of the parameter, for random bits: a hash of its name
  bool zero_gradient = false;  ///< set the gradient to zero once it was read
};

/// Which way an update runs: through the kernels, or through ATen's operators.
enum class Path { kPlain, kFused };

/// An update rule. A rule is written once; libtorch optimizers (RuleOptimizer) and members of
/// steepest::Optimizer both call it.
///
///   Options     a flat aggregate with fields()
///   State       default-constructible: `std::int64_t step` (applied updates, per parameter),
///   tensors, and
///               `static constexpr auto tensors()`: a tuple of StateField<State>
///   require     throws ShapeError, DtypeError or LayoutError if the rule cannot update such a
///   parameter;
///               called at construction, so that a step never checks
///   make_state  allocates state without any other effect: moments zero, step 0
///   update      one step for every slot; the gradient counts as grad * factor (loss scale and
///   clipping are folded
///               into it); gradients are never written to, but to set
///               them to zero for slots that say so; point-wise arithmetic is fp32 (fp64 for
///               fp64 parameters) with one rounding on store
///   require_state  throws StateError for a state that does not fit the parameter and options any
///               more; called before a step changes anything
///   path        optional: which way the update of a parameter runs; plain where a rule has none
///   zero_for_missing  true if a missing gradient counts as zeros; false skips the parameter
template <class R>
concept Rule = requires(const at::Tensor& param, const typename R::Options& options,
                        std::string_view name, std::span<const Slot<typename R::State>> slots,
                        double factor) {
  { R::kName } -> std::convertible_to<std::string_view>;
  R::require(param, options, name);
  R::require_state(param, typename R::State{}, options, name);
  { R::make_state(param, options) } -> std::same_as<typename R::State>;
  R::update(slots, options, factor);
  { R::zero_for_missing(options) } -> std::same_as<bool>;
  R::State::tensors();
};

/// The gradient an update takes for a parameter; undefined where the parameter is skipped.
template <Rule R>
at::Tensor gradient_for(const at::Tensor& param, const typename R::Options& options) {
  const at::Tensor& grad = param.grad();
  return grad.defined() || !R::zero_for_missing(options) ? grad : at::zeros_like(param);
}

template <Rule R>
Path path_of(const at::Tensor& param) {
  if constexpr (requires { R::path(param); })
    return R::path(param);
  else
    return Path::kPlain;
}

template <class State, class Visit>
void for_each_state_tensor(Visit&& visit) {
  std::apply([&](const auto&... each) { (visit(each), ...); }, State::tensors());
}

}  // namespace steepest
