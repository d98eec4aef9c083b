#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "bench/harness.h"
#include "bench/shapes.h"

namespace steepest::bench {

/// One tensor of 64M elements: 256 MB in fp32, above every cache.
std::vector<Shape> large(bool quick);
/// GPT-2 small's tensors; quick: with an eighth of the width.
std::vector<Shape> gpt2(bool quick);
std::int64_t elements(const std::vector<Shape>& shapes);

/// Normal parameters with gradients of a thousandth of their size.
std::vector<at::Tensor> make_params(const std::vector<Shape>& shapes,
                                    at::ScalarType type = at::kFloat);
std::vector<at::Tensor> grads_of(const std::vector<at::Tensor>& params);

/// The contender "limit": a stream over fp32 arrays of its own of these shapes. `reads` arrays are
/// read, the last `writes` of them written.
Contender stream_over(const std::vector<Shape>& shapes, int reads, int writes);

}  // namespace steepest::bench
