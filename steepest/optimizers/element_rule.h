#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "steepest/optimizers/arithmetic.h"
#include "steepest/optimizers/element_jobs.h"
#include "steepest/optimizers/rule.h"
#include "steepest/precision/stored.h"
#include "steepest/tensor/bridge.h"

namespace steepest {

/// A state of an element-wise rule: where its values, and the scales of a coded format, lie.
template <class State>
struct ElementStream {
  at::Tensor State::*values;
  at::Tensor State::*scales;
  bool is_signed;  ///< false: never negative, kept as codes of the square root in 8 bits
};

/// What an element-wise rule writes; ElementRule makes the rest of a Rule of it, in every storage.
///
///   Options    with storage_fields(): states, masters, stochastic_rounding, seed
///   State      step, tensors, `master`
///   streams()  its states, in the order of the kernel
///   uses(options, k)  whether state k exists under these options
///   numbers(options, step, factor, first)  what the formula multiplies with, in fp64; `step`
///   counts
///              this update; `first`: a state comes into being with it
///   kStatesComeWithTheFirstUpdate  where true, make_state leaves them out
///   scalars(numbers)  the same, rounded to fp32 for the kernel
///   plain(numbers, w, g, states)  the formula in ATen's operators, on dense tensors of one
///   floating
///              type; all but g are changed in place. The judge of the kernel.
template <class E>
concept ElementFormula = requires(const typename E::Options& options, at::Tensor& tensor,
                                  const at::Tensor& g, std::array<at::Tensor, 3>& states) {
  { E::kName } -> std::convertible_to<std::string_view>;
  E::streams();
  { E::uses(options, std::size_t{}) } -> std::same_as<bool>;
  E::numbers(options, std::int64_t{}, double{}, bool{});
  E::scalars(E::numbers(options, std::int64_t{}, double{}, bool{}));
  E::plain(E::numbers(options, std::int64_t{}, double{}, bool{}), tensor, g, states);
};

/// A Rule of an element-wise formula.
template <class E>
struct ElementRule {
  using Options = typename E::Options;
  using State = typename E::State;
  static constexpr std::string_view kName = E::kName;

  static void require(const at::Tensor& param, const Options& options, std::string_view name) {
    require_updatable(param, name);
    require_storage(param, options.states, weight_storage(options), name);
  }

  static State make_state(const at::Tensor& param, const Options& options) {
    State state;
    const auto streams = E::streams();
    for (std::size_t k = 0; k < streams.size(); ++k)
      if (E::uses(options, k) && !E::kStatesComeWithTheFirstUpdate)
        allocate(state, streams[k], param, options);
    state.master = make_master(param, options.masters);
    return state;
  }

  /// make_state with the states that come with the first update.
  static State full_state(const at::Tensor& param, const Options& options) {
    State state = make_state(param, options);
    const auto streams = E::streams();
    for (std::size_t k = 0; k < streams.size(); ++k)
      if (E::uses(options, k) && !(state.*(streams[k].values)).defined())
        allocate(state, streams[k], param, options);
    return state;
  }

  /// What a step needs of a state that is there: sizes and element types that the options call for.
  /// StateError before anything is changed; `name` is the parameter's.
  static void require_state(const at::Tensor& param, const State& state, const Options& options,
                            std::string_view name) {
    require_storage(param, options.states, weight_storage(options), name);
    const auto streams = E::streams();
    for (std::size_t k = 0; k < streams.size(); ++k)
      if ((state.*(streams[k].values)).defined())
        require_stored(param, stored(state, streams[k]), state_format(options),
                       streams[k].is_signed, name);
    require_master(param, state.master, options.masters, name);
  }

  static bool zero_for_missing(const Options&) { return false; }

  /// The fused path serves every parameter on the CPU but those in fp64.
  static Path path(const at::Tensor& param) {
    return param.is_cpu() && param.scalar_type() != at::kDouble ? Path::kFused : Path::kPlain;
  }

  static void update(std::span<const Slot<State>> slots, const Options& options, double factor) {
    const at::NoGradGuard no_grad;
    std::vector<Due> fused;
    for (const Slot<State>& slot : slots) {
      const Due due = begin(slot, options);
      if (slot.param.numel() == 0) continue;
      if (path(slot.param) == Path::kFused)
        fused.push_back(due);
      else
        update_plain(due, options, factor);
    }
    update_fused(fused, options, factor);
  }

  /// The update by ATen's operators, on any device and in any storage: the judge of the fused one.
  static void update_plainly(std::span<const Slot<State>> slots, const Options& options,
                             double factor) {
    const at::NoGradGuard no_grad;
    for (const Slot<State>& slot : slots) {
      const Due due = begin(slot, options);
      if (slot.param.numel() != 0) update_plain(due, options, factor);
    }
  }

 private:
  /// An update whose step is counted and whose states are there.
  struct Due {
    const Slot<State>* slot;
    bool first;  ///< a state has just come into being
  };

  static void update_plain(const Due& due, const Options& options, double factor) {
    const Slot<State>& slot = *due.slot;
    const WeightStorage storage = weight_storage(options);
    State& state = *slot.state;
    at::Tensor w = load_weight(slot.param, state.master, storage);
    const at::Tensor g = dense(slot.grad, w.scalar_type());
    std::array<at::Tensor, 3> values;
    const auto streams = E::streams();
    for (std::size_t k = 0; k < streams.size(); ++k)
      if (E::uses(options, k))
        values[k] = load_state(stored(state, streams[k]), state_format(options),
                               streams[k].is_signed, w.scalar_type());
    E::plain(E::numbers(options, state.step, factor, due.first), w, g, values);
    for (std::size_t k = 0; k < streams.size(); ++k) {
      if (!E::uses(options, k)) continue;
      StoredState into = stored(state, streams[k]);
      store_state(into, state_format(options), streams[k].is_signed, values[k]);
    }
    store_weight(slot.param, state.master, storage, w, draw(slot, options));
    if (slot.zero_gradient) slot.grad.detach().zero_();
  }

  static StoredState stored(const State& state, const ElementStream<State>& stream) {
    return {state.*(stream.values), state.*(stream.scales)};
  }
  static void allocate(State& state, const ElementStream<State>& stream, const at::Tensor& param,
                       const Options& options) {
    auto [values, scales] = steepest::make_state(param, state_format(options), stream.is_signed);
    state.*(stream.values) = std::move(values);
    state.*(stream.scales) = std::move(scales);
  }
  /// Options may change between steps: a state that is called for now comes into being.
  static Due begin(const Slot<State>& slot, const Options& options) {
    ++slot.state->step;
    bool first = false;
    const auto streams = E::streams();
    for (std::size_t k = 0; k < streams.size(); ++k)
      if (E::uses(options, k) && !(slot.state->*(streams[k].values)).defined()) {
        allocate(*slot.state, streams[k], slot.param, options);
        first = true;
      }
    return {&slot, first};
  }
  static kernels::Draw draw(const Slot<State>& slot, const Options& options) {
    return {static_cast<std::uint64_t>(options.seed), static_cast<std::uint64_t>(slot.state->step),
            slot.key};
  }

  static void update_fused(const std::vector<Due>& dues, const Options& options, double factor) {
    using Scalars = decltype(E::scalars(E::numbers(options, 0, 1.0, false)));
    const WeightStorage storage = weight_storage(options);
    const auto streams = E::streams();
    // Strided parameters and gradients, and those whose sign is a flag, are worked on in dense
    // copies.
    std::vector<at::Tensor> weights, keep;
    std::deque<Scalars> scalars;
    std::vector<ElementJob> jobs;
    for (const Due& due : dues) {
      const Slot<State>* slot = due.slot;
      State& state = *slot->state;
      weights.push_back(slot->param.detach().contiguous());
      keep.push_back(slot->grad.scalar_type() == at::kDouble
                         ? slot->grad.detach().to(at::kFloat).resolve_neg().contiguous()
                         : slot->grad.detach().resolve_neg().contiguous());
      scalars.push_back(E::scalars(E::numbers(options, state.step, factor, due.first)));
      ElementJob job;
      job.rule = kernels::tile_rule<Scalars, E::kKernel>(scalars.back());
      job.run.w = weight_stream(weights.back(), state.master, storage);
      job.run.g = gradient_stream(keep.back());
      for (std::size_t k = 0; k < streams.size(); ++k)
        if (E::uses(options, k))
          job.run.s[k] =
              state_stream(stored(state, streams[k]), state_format(options), streams[k].is_signed);
      job.run.count = static_cast<std::size_t>(slot->param.numel());
      job.run.draw = draw(*slot, options);
      job.run.clear_g = slot->zero_gradient && keep.back().data_ptr() == slot->grad.data_ptr();
      jobs.push_back(job);
    }
    run_jobs(jobs);
    for (std::size_t i = 0; i < dues.size(); ++i)
      if (dues[i].slot->zero_gradient && !jobs[i].run.clear_g) dues[i].slot->grad.detach().zero_();
    for (std::size_t i = 0; i < dues.size(); ++i)
      if (weights[i].data_ptr() != dues[i].slot->param.data_ptr())
        dues[i].slot->param.detach().copy_(weights[i]);
  }
};

}  // namespace steepest
