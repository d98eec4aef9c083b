#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "steepest/kernels/element_run.h"
#include "steepest/precision/storage.h"

namespace steepest {

/// A state in memory: `values` has the parameter's shape, contiguous, and the format's element type
/// (float8: uint8); `scales` is undefined, one fp32 [1] (float8, float16_scaled), or fp16
/// [ceil(n / 32)] (int8 formats, over the elements in logical order).
struct StoredState {
  at::Tensor values, scales;
};

/// DtypeError for what cannot be: fp64 parameters in any format but param or float32, masters or
/// stochastic rounding of fp64, remainders of fp16; and coded formats on another device than the
/// CPU. `name` is the parameter's.
void require_storage(const at::Tensor& param, StateFormat states, const WeightStorage& weight,
                     std::string_view name);

/// StateError: a state, or a master, that was not made for this parameter and format: options or
/// the parameter have changed since.
void require_stored(const at::Tensor& param, const StoredState& state, StateFormat format,
                    bool is_signed, std::string_view name);
void require_master(const at::Tensor& param, const at::Tensor& master, MasterFormat format,
                    std::string_view name);

/// Zeros for a parameter.
StoredState make_state(const at::Tensor& param, StateFormat format, bool is_signed);
/// The master's tensor beside a parameter: fp32, int16 (remainder, 32bit) or int8 (24bit);
/// undefined where none is needed (fp32 and fp64 parameters).
at::Tensor make_master(const at::Tensor& param, MasterFormat format);

/// The parameter's fp32 (fp64) value: of its master, where it has one; a new tensor or the memory
/// itself, in logical order.
at::Tensor load_weight(const at::Tensor& param, const at::Tensor& master,
                       const WeightStorage& storage);
/// Writes it back, rounded once.
void store_weight(const at::Tensor& param, const at::Tensor& master, const WeightStorage& storage,
                  const at::Tensor& value, const kernels::Draw& draw);
at::Tensor load_state(const StoredState& state, StateFormat format, bool is_signed,
                      at::ScalarType type);
void store_state(StoredState& state, StateFormat format, bool is_signed, const at::Tensor& value);

/// The same memory as the kernels see it. The tensors must be contiguous and on the CPU.
kernels::Stream state_stream(const StoredState& state, StateFormat format, bool is_signed);
kernels::Stream gradient_stream(const at::Tensor& grad);
kernels::WeightStream weight_stream(const at::Tensor& param, const at::Tensor& master,
                                    const WeightStorage& storage);

}  // namespace steepest
