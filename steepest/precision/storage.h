#pragma once

#include <cstdint>
#include <tuple>

#include "steepest/base/fields.h"

namespace steepest {

/// How an element-wise rule keeps its states. Bytes an element in brackets.
///
///   param            as the parameter, what torch.optim does; float32 where it has masters [4 or
///   2] float32          [4]    bfloat16, float16  plainly rounded [2] float16_scaled   fp16 under
///   one fp32 scale a tensor, absmax / 32752 [2] float8           E4M3 under one fp32 scale a
///   tensor, absmax / 448 [1] int8             blocks of 32 under an fp16 scale: softsign codes for
///   signed states, codes of
///                    the square root for others, never 0 where the value is not [1.0625]
///   int8_linear      the same with evenly spaced codes for signed states
///   int8_published   int8 as FlashOptim published it: a second moment may round to 0 where its
///                    momentum does not, and single updates then explode
enum class StateFormat {
  kParam,
  kFloat32,
  kBFloat16,
  kFloat16,
  kFloat16Scaled,
  kFloat8,
  kInt8,
  kInt8Linear,
  kInt8Published
};
inline const auto& spellings(StateFormat) {
  static constexpr Spelling<StateFormat> kAll[] = {{StateFormat::kParam, "param"},
                                                   {StateFormat::kFloat32, "float32"},
                                                   {StateFormat::kFloat32, "fp32"},
                                                   {StateFormat::kBFloat16, "bfloat16"},
                                                   {StateFormat::kBFloat16, "bf16"},
                                                   {StateFormat::kFloat16, "float16"},
                                                   {StateFormat::kFloat16, "fp16"},
                                                   {StateFormat::kFloat16Scaled, "float16_scaled"},
                                                   {StateFormat::kFloat8, "float8"},
                                                   {StateFormat::kFloat8, "fp8"},
                                                   {StateFormat::kInt8, "int8"},
                                                   {StateFormat::kInt8, "8bit"},
                                                   {StateFormat::kInt8Linear, "int8_linear"},
                                                   {StateFormat::kInt8Published, "int8_published"}};
  return kAll;
}

/// What is kept beside a bf16 or fp16 weight, so that updates smaller than its step add up. Bytes
/// an element in brackets; an fp32 weight is its own master.
///
///   none       the 16-bit weight alone [0]
///   float32    an fp32 copy; the weight is it, rounded to nearest even [4]
///   remainder  bf16 only: the 16 low bits of the fp32 master, exact; the weight is it rounded to
///              nearest, ties away from zero (Transformer Engine) [2]
///   24bit      where inside half a step of the weight the master lies, 8 bits (FlashOptim) [1]
///   32bit      the same in 16 bits; one value in 370 comes back an fp32 ulp off [2]
enum class MasterFormat { kNone, kFloat32, kRemainder, k24Bit, k32Bit };
inline const auto& spellings(MasterFormat) {
  static constexpr Spelling<MasterFormat> kAll[] = {
      {MasterFormat::kNone, "none"},    {MasterFormat::kFloat32, "float32"},
      {MasterFormat::kFloat32, "fp32"}, {MasterFormat::kRemainder, "remainder"},
      {MasterFormat::k24Bit, "24bit"},  {MasterFormat::k32Bit, "32bit"}};
  return kAll;
}

/// How a rule rounds and keeps a weight.
struct WeightStorage {
  MasterFormat masters = MasterFormat::kNone;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
};

/// The weight's fields of a rule's options O, which has members of these names.
template <class O>
constexpr auto weight_storage_fields() {
  return std::tuple{
      field("masters", &O::masters,
            "what is kept beside 16-bit weights: none, float32, remainder, 24bit or 32bit"),
      field("stochastic_rounding", &O::stochastic_rounding,
            "round 16-bit weights without masters by chance, right on average"),
      field("seed", &O::seed, count_from(0, "0 or more"), "of stochastic_rounding")};
}
/// Those of an element-wise rule, whose states may be narrow as well.
template <class O>
constexpr auto storage_fields() {
  return std::tuple_cat(
      std::tuple{field("states", &O::states,
                       "how states are kept: param, float32, bfloat16, float16, float16_scaled, "
                       "float8, int8, int8_linear or int8_published")},
      weight_storage_fields<O>());
}
/// `states`, with the meaning of `param` settled but for the parameter's own dtype.
template <class O>
StateFormat state_format(const O& options) {
  const bool masters = options.masters != MasterFormat::kNone;
  return options.states == StateFormat::kParam && masters ? StateFormat::kFloat32 : options.states;
}
template <class O>
WeightStorage weight_storage(const O& options) {
  return {options.masters, options.stochastic_rounding, options.seed};
}

}  // namespace steepest
