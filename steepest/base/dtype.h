#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "steepest/base/fields.h"

namespace steepest {

/// Element types of weights, gradients, states and files. Names are those of torch and safetensors.
enum class Dtype {
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUInt8,
  kBool
};

/// "float32", "bfloat16", ... as torch prints them without its prefix; "torch.float32", "fp32" ...
/// are read too.
inline const auto& spellings(Dtype) {
  static constexpr Spelling<Dtype> kAll[] = {
      {Dtype::kFloat32, "float32"},       {Dtype::kFloat64, "float64"},
      {Dtype::kFloat16, "float16"},       {Dtype::kBFloat16, "bfloat16"},
      {Dtype::kInt64, "int64"},           {Dtype::kInt32, "int32"},
      {Dtype::kInt16, "int16"},           {Dtype::kInt8, "int8"},
      {Dtype::kUInt8, "uint8"},           {Dtype::kBool, "bool"},
      {Dtype::kFloat32, "fp32"},          {Dtype::kFloat64, "fp64"},
      {Dtype::kFloat16, "fp16"},          {Dtype::kBFloat16, "bf16"},
      {Dtype::kFloat32, "torch.float32"}, {Dtype::kFloat64, "torch.float64"},
      {Dtype::kFloat16, "torch.float16"}, {Dtype::kBFloat16, "torch.bfloat16"},
  };
  return kAll;
}
inline std::string_view name(Dtype dtype) { return spelling(dtype); }
/// Bytes of one element.
std::size_t size_of(Dtype dtype);
bool is_floating_point(Dtype dtype);

}  // namespace steepest
