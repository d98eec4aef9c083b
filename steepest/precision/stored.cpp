#include "steepest/precision/stored.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/ScalarType.h>
#include <fmt/format.h>

#include "steepest/base/error.h"

namespace steepest {
namespace {

bool is_coded(StateFormat format) {
  return format != StateFormat::kParam && format != StateFormat::kFloat32 &&
         format != StateFormat::kBFloat16 && format != StateFormat::kFloat16;
}
bool is_coded(MasterFormat format) {
  return format != MasterFormat::kNone && format != MasterFormat::kFloat32;
}
bool in_blocks(kernels::Format format) {
  return format == kernels::Format::kSoftsign8 || format == kernels::Format::kLinear8 ||
         format == kernels::Format::kSqrt8 || format == kernels::Format::kSqrt8Published;
}

kernels::Format float_format(at::ScalarType type) {
  return type == at::kBFloat16 ? kernels::Format::kBF16
         : type == at::kHalf   ? kernels::Format::kF16
                               : kernels::Format::kF32;
}

kernels::Format kernel_format(StateFormat format, bool is_signed, at::ScalarType type) {
  switch (format) {
    case StateFormat::kParam:
    case StateFormat::kFloat32:
    case StateFormat::kBFloat16:
    case StateFormat::kFloat16:
      return float_format(type);
    case StateFormat::kFloat16Scaled:
      return kernels::Format::kF16Scaled;
    case StateFormat::kFloat8:
      return kernels::Format::kE4M3Scaled;
    case StateFormat::kInt8:
      return is_signed ? kernels::Format::kSoftsign8 : kernels::Format::kSqrt8;
    case StateFormat::kInt8Linear:
      return is_signed ? kernels::Format::kLinear8 : kernels::Format::kSqrt8;
    case StateFormat::kInt8Published:
      return is_signed ? kernels::Format::kSoftsign8 : kernels::Format::kSqrt8Published;
  }
  return kernels::Format::kF32;
}

at::ScalarType value_type(const at::Tensor& param, StateFormat format, bool is_signed) {
  if (param.scalar_type() == at::kDouble) return at::kDouble;
  switch (format) {
    case StateFormat::kParam:
      return param.scalar_type();
    case StateFormat::kFloat32:
      return at::kFloat;
    case StateFormat::kBFloat16:
      return at::kBFloat16;
    case StateFormat::kFloat16:
    case StateFormat::kFloat16Scaled:
      return at::kHalf;
    case StateFormat::kFloat8:
      return at::kByte;
    default:
      return is_signed ? at::kChar : at::kByte;
  }
}

kernels::Residue residue(const at::Tensor& master, MasterFormat format) {
  if (!master.defined()) return kernels::Residue::kNone;
  switch (format) {
    case MasterFormat::kNone:
      return kernels::Residue::kNone;
    case MasterFormat::kFloat32:
      return kernels::Residue::kF32;
    case MasterFormat::kRemainder:
      return kernels::Residue::kRemainder16;
    case MasterFormat::k24Bit:
      return kernels::Residue::kError8;
    case MasterFormat::k32Bit:
      return kernels::Residue::kError16;
  }
  return kernels::Residue::kNone;
}

std::size_t count(const at::Tensor& tensor) { return static_cast<std::size_t>(tensor.numel()); }

}  // namespace

void require_storage(const at::Tensor& param, StateFormat states, const WeightStorage& weight,
                     std::string_view name) {
  const at::ScalarType type = param.scalar_type();
  if (type == at::kDouble && ((states != StateFormat::kParam && states != StateFormat::kFloat32) ||
                              weight.masters != MasterFormat::kNone || weight.stochastic_rounding))
    throw DtypeError({.what = fmt::format("parameter {} is float64 and its storage is to be "
                                          "narrower (states {}, masters {})",
                                          name, spelling(states), spelling(weight.masters)),
                      .why = "float64 parameters keep float64 states and need no masters",
                      .remedy = "say states: param and masters: none for them"});
  if (type == at::kHalf && weight.masters == MasterFormat::kRemainder)
    throw DtypeError(
        {.what = fmt::format("parameter {} is float16 and masters are remainders", name),
         .why = "a remainder is the low half of an fp32 number whose high half is bf16",
         .remedy = "say masters: float32, 24bit or 32bit"});
  if (!param.is_cpu() &&
      (is_coded(states) || is_coded(weight.masters) || weight.stochastic_rounding))
    throw DtypeError({.what = fmt::format("parameter {} is on {} and its storage is coded (states "
                                          "{}, masters {}, stochastic_rounding {})",
                                          name, param.device().str(), spelling(states),
                                          spelling(weight.masters), weight.stochastic_rounding),
                      .why = "coded storage is written for the CPU",
                      .remedy = "say states and masters of float32, bfloat16 or float16"});
}

namespace {

[[noreturn]] void refuse_changed(std::string_view what, std::string_view name) {
  throw StateError(
      {.what = fmt::format("{} of parameter {} was made for another storage, shape or device", what,
                           name),
       .why = "states and masters cannot be changed, nor a parameter resized or moved, once steps "
              "were made",
       .remedy = "set them before the first step, or build the optimizer anew and load"});
}

at::ScalarType master_type(MasterFormat format) {
  return format == MasterFormat::kFloat32 ? at::kFloat
         : format == MasterFormat::k24Bit ? at::kChar
                                          : at::kShort;
}

}  // namespace

void require_stored(const at::Tensor& param, const StoredState& state, StateFormat format,
                    bool is_signed, std::string_view name) {
  const at::ScalarType type = value_type(param, format, is_signed);
  const bool blocks = in_blocks(kernel_format(format, is_signed, type));
  const bool scaled = is_coded(format) && !blocks;
  const auto scales = state.scales.defined() ? state.scales.scalar_type() : at::kByte;
  const bool fits =
      state.values.sizes() == param.sizes() && state.values.device() == param.device() &&
      // A float state may have another float type, as where it was loaded from; codes may not.
      (is_coded(format) ? state.values.scalar_type() == type
                        : at::isFloatingType(state.values.scalar_type())) &&
      scales == (blocks   ? at::kHalf
                 : scaled ? at::kFloat
                          : at::kByte);
  if (!fits) refuse_changed("a state", name);
}

void require_master(const at::Tensor& param, const at::Tensor& master, MasterFormat format,
                    std::string_view name) {
  const bool wanted =
      at::isReducedFloatingType(param.scalar_type()) && format != MasterFormat::kNone;
  const bool fits =
      master.defined() == wanted &&
      (!wanted || (master.sizes() == param.sizes() && master.device() == param.device() &&
                   master.scalar_type() == master_type(format)));
  if (!fits) refuse_changed("the master", name);
}

StoredState make_state(const at::Tensor& param, StateFormat format, bool is_signed) {
  const at::ScalarType type = value_type(param, format, is_signed);
  StoredState state;
  state.values = at::zeros(param.sizes(), param.options().dtype(type).requires_grad(false));
  const kernels::Format coded = kernel_format(format, is_signed, type);
  if (in_blocks(coded)) {
    constexpr auto kBlock = static_cast<std::int64_t>(kernels::kBlock);
    state.scales = at::zeros({(param.numel() + kBlock - 1) / kBlock},
                             param.options().dtype(at::kHalf).requires_grad(false));
  } else if (is_coded(format)) {
    state.scales = at::zeros({1}, param.options().dtype(at::kFloat).requires_grad(false));
  }
  return state;
}

at::Tensor make_master(const at::Tensor& param, MasterFormat format) {
  if (!at::isReducedFloatingType(param.scalar_type()) || format == MasterFormat::kNone) return {};
  const at::NoGradGuard no_grad;
  if (format == MasterFormat::kFloat32) return param.detach().to(at::kFloat).contiguous();
  return at::zeros(param.sizes(),
                   param.options()
                       .dtype(format == MasterFormat::k24Bit ? at::kChar : at::kShort)
                       .requires_grad(false));
}

kernels::Stream state_stream(const StoredState& state, StateFormat format, bool is_signed) {
  return {kernel_format(format, is_signed, state.values.scalar_type()),
          state.values.mutable_data_ptr(),
          state.scales.defined() ? state.scales.mutable_data_ptr() : nullptr};
}

kernels::Stream gradient_stream(const at::Tensor& grad) {
  return {float_format(grad.scalar_type()), grad.mutable_data_ptr(), nullptr};
}

kernels::WeightStream weight_stream(const at::Tensor& param, const at::Tensor& master,
                                    const WeightStorage& storage) {
  return {float_format(param.scalar_type()), param.mutable_data_ptr(),
          residue(master, storage.masters), master.defined() ? master.mutable_data_ptr() : nullptr,
          storage.stochastic_rounding};
}

at::Tensor load_weight(const at::Tensor& param, const at::Tensor& master,
                       const WeightStorage& storage) {
  const at::NoGradGuard no_grad;
  if (!at::isReducedFloatingType(param.scalar_type())) return param.detach().contiguous();
  if (master.defined() && storage.masters == MasterFormat::kFloat32) return master;
  if (!master.defined()) return param.detach().to(at::kFloat).contiguous();
  const at::Tensor dense = param.detach().contiguous();
  at::Tensor value = at::empty(param.sizes(), dense.options().dtype(at::kFloat));
  kernels::decode(weight_stream(dense, master, storage), 0, value.mutable_data_ptr<float>(),
                  count(value));
  return value;
}

void store_weight(const at::Tensor& param, const at::Tensor& master, const WeightStorage& storage,
                  const at::Tensor& value, const kernels::Draw& draw) {
  const at::NoGradGuard no_grad;
  const at::Tensor weight = param.detach();
  const bool reduced = at::isReducedFloatingType(weight.scalar_type());
  const bool plain = !master.defined() && !(storage.stochastic_rounding && reduced);
  if (plain || !weight.is_cpu()) {
    if (master.defined() && master.data_ptr() != value.data_ptr()) master.copy_(value);
    if (weight.data_ptr() != value.data_ptr() || weight.scalar_type() != value.scalar_type())
      weight.copy_(value);
    return;
  }
  const at::Tensor dense = weight.contiguous();
  kernels::encode(weight_stream(dense, master, storage), 0, value.const_data_ptr<float>(),
                  count(value), draw);
  if (dense.data_ptr() != weight.data_ptr()) weight.copy_(dense);
}

at::Tensor load_state(const StoredState& state, StateFormat format, bool is_signed,
                      at::ScalarType type) {
  const at::NoGradGuard no_grad;
  if (!is_coded(format)) return state.values.to(type).contiguous();
  at::Tensor value = at::empty(state.values.sizes(), at::kFloat);
  kernels::decode(state_stream(state, format, is_signed), 0, value.mutable_data_ptr<float>(),
                  count(value));
  return value;
}

void store_state(StoredState& state, StateFormat format, bool is_signed, const at::Tensor& value) {
  const at::NoGradGuard no_grad;
  if (!is_coded(format)) {
    if (state.values.data_ptr() != value.data_ptr() ||
        state.values.scalar_type() != value.scalar_type())
      state.values.copy_(value);
    return;
  }
  const at::Tensor dense = value.contiguous();
  kernels::Stream stream = state_stream(state, format, is_signed);
  if (const float most = kernels::most_of(stream.format); most > 0)
    stream.store_scale =
        kernels::largest_magnitude(dense.const_data_ptr<float>(), count(dense)) / most;
  kernels::encode(stream, 0, dense.const_data_ptr<float>(), count(dense));
  if (kernels::most_of(stream.format) > 0)
    *state.scales.mutable_data_ptr<float>() = stream.store_scale;
}

}  // namespace steepest
