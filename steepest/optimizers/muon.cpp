#include "steepest/optimizers/muon.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "steepest/base/error.h"
#include "steepest/linalg/fast_newton_schulz.h"
#include "steepest/optimizers/arithmetic.h"
#include "steepest/precision/stored.h"
#include "steepest/tensor/bridge.h"

namespace steepest {
namespace {

NewtonSchulzOptions iteration(const MuonOptions& o) {
  std::vector<NsCoefficients> custom;
  for (std::size_t i = 0; i + 2 < o.custom_coefficients.size(); i += 3)
    custom.push_back(
        {o.custom_coefficients[i], o.custom_coefficients[i + 1], o.custom_coefficients[i + 2]});
  const std::span<const NsCoefficients> list =
      custom.empty() ? coefficients(o.coefficients) : std::span<const NsCoefficients>(custom);
  return {.coefficients = coefficient_schedule(list, o.steps, o.allow_partial_cycle),
          .guard = o.guard,
          .eps = o.eps,
          .safety = o.safety,
          .input_dtype = o.input_dtype,
          .compute_dtype = o.compute_dtype,
          .rounding = o.rounding};
}

/// The parameter's shape as matrices: [rows, cols], or [batch ..., rows, cols].
std::vector<std::int64_t> matrix_shape(at::IntArrayRef shape, HigherDims how) {
  const bool flatten =
      how == HigherDims::kFlatten || (how == HigherDims::kFlattenConv && shape.size() == 4);
  if (shape.size() == 2 || !flatten) return shape.vec();
  std::int64_t rest = 1;
  for (const std::int64_t each : shape.slice(1)) rest *= each;
  return {shape[0], rest};
}

/// Factor on the step by (out, in): algorithms' names and where they come from stand at ScaleMode's
/// spellings.
double scale(ScaleMode mode, std::int64_t rows, std::int64_t cols) {
  const auto out = static_cast<double>(rows), in = static_cast<double>(cols);
  switch (mode) {
    case ScaleMode::kNone:
      return 1;
    case ScaleMode::kUnitRmsNorm:
      return std::sqrt(out / in);
    case ScaleMode::kMatchRmsAdamW:
      return 0.2 * std::sqrt(std::max(out, in));
    case ScaleMode::kSpectral:
      return std::sqrt(std::max(out, in));
    case ScaleMode::kShapeScaling:
      return std::sqrt(std::max(1.0, out / in));
  }
  return 1;
}

/// U: the average itself, or a look-ahead. M is changed in place.
// heavy ball:  M <- mu M + G              nesterov:  U = mu M + G
// ema:         M <- lerp(M, G, 1 - mu)               U = lerp(G, M, mu)
at::Tensor momentum(MuonState& s, const at::Tensor& g, const MuonOptions& o) {
  at::Tensor m = dense(s.momentum_buffer, g.scalar_type());
  const bool heavy = o.momentum_form == MomentumForm::kHeavyBall;
  if (heavy)
    m.mul_(o.momentum).add_(g);
  else
    m.lerp_(g, 1 - o.momentum);
  store(s.momentum_buffer, m);
  if (!o.nesterov) return m;
  return heavy ? g.add(m, o.momentum) : at::lerp(g, m, o.momentum);
}

}  // namespace

void MuonRule::require(const at::Tensor& param, const Options& o, std::string_view name) {
  require_updatable(param, name);
  require_storage(param, StateFormat::kParam, weight_storage(o), name);
  if (param.dim() < 2)
    throw ShapeError(
        {.what = fmt::format("parameter {} of shape {} was given to muon", name,
                             shape_text(shape_of(param))),
         .why = "muon orthogonalizes matrices; a vector has no singular values to even out",
         .remedy = "put it into a group of adamw, as build_optimizer does"});
}

void MuonRule::require_state(const at::Tensor& param, const State& state, const Options& o,
                             std::string_view name) {
  require(param, o, name);
  require_stored(param, {state.momentum_buffer, {}}, StateFormat::kParam, true, name);
  require_master(param, state.master, o.masters, name);
}

MuonState MuonRule::make_state(const at::Tensor& param, const Options& o) {
  MuonState state;
  at::ScalarType type = param.scalar_type();
  if (type != at::kDouble && o.masters != MasterFormat::kNone) type = at::kFloat;
  if (o.momentum_dtype && type != at::kDouble) type = to_scalar_type(*o.momentum_dtype);
  state.master = make_master(param, o.masters);
  state.momentum_buffer = at::zeros(param.sizes(), param.options().dtype(type));
  return state;
}

// M, U as above;  O = orthogonal(U);  f = scale(out, in)
// W <- (1 - lr wd) W - lr f O
void MuonRule::update(std::span<const Slot<State>> slots, const Options& o, double factor) {
  const at::NoGradGuard no_grad;
  const NewtonSchulzOptions ns = iteration(o);
  const WeightStorage storage = weight_storage(o);

  // Equal matrices go through one batched iteration. A matrix and its place in the batch do not
  // depend on the others' values.
  struct Job {
    const Slot<State>* slot;
    at::Tensor u;
    std::vector<std::int64_t> shape;
  };
  std::map<std::tuple<std::vector<std::int64_t>, at::ScalarType, std::string>, std::vector<Job>>
      batches;
  for (const Slot<State>& slot : slots) {
    ++slot.state->step;
    if (slot.param.numel() == 0) continue;
    // Momentum of 16-bit weights may be wider than they are: gradients are taken in fp32 either
    // way.
    const at::Tensor g = effective_gradient(slot.grad, compute_type(slot.param), factor);
    at::Tensor u = momentum(*slot.state, g, o);
    if (slot.zero_gradient) {
      // The look-ahead may be the gradient's own memory.
      if (u.data_ptr() == slot.grad.data_ptr()) u = u.clone();
      slot.grad.detach().zero_();
    }
    auto shape = matrix_shape(slot.param.sizes(), o.higher_dims);
    u = u.reshape(shape);
    batches[{shape, u.scalar_type(), u.device().str()}].push_back(
        {&slot, std::move(u), std::move(shape)});
  }
  FastNewtonSchulz orthogonal(ns, o.algorithm);
  for (auto& [key, jobs] : batches) {
    // All matrices of a shape at once: those of a batch are matrices of their own.
    std::vector<at::Tensor> inputs, factors;
    for (Job& job : jobs) {
      const at::Tensor u = std::move(job.u);
      for (at::Tensor& each : u.reshape({-1, u.size(-2), u.size(-1)}).unbind())
        inputs.push_back(std::move(each));
    }
    factors = orthogonal(inputs);
    const std::size_t a_job = inputs.size() / jobs.size();
    inputs.clear();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Slot<State>& slot = *jobs[i].slot;
      const auto& shape = jobs[i].shape;
      const bool last_two = o.scale_shape == ScaleShape::kLastTwo;
      const std::int64_t rows = last_two ? slot.param.size(-2) : shape[shape.size() - 2];
      const std::int64_t cols = last_two ? slot.param.size(-1) : shape[shape.size() - 1];
      const at::ScalarType type = compute_type(slot.param);
      at::Tensor w = load_weight(slot.param, slot.state->master, storage);
      if (o.weight_decay != 0) w.mul_(1 - o.lr * o.weight_decay);
      const at::TensorList own(factors.data() + i * a_job, a_job);
      w.add_((a_job == 1 ? own[0] : at::stack(own)).reshape(slot.param.sizes()).to(type),
             -o.lr * scale(o.scale, rows, cols));
      store_weight(slot.param, slot.state->master, storage, w,
                   {static_cast<std::uint64_t>(o.seed),
                    static_cast<std::uint64_t>(slot.state->step), slot.key});
    }
  }
}

}  // namespace steepest
