#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace steepest {

/// Two of these tensors that have an element in the same memory, by their places in the list; the
/// same place twice: elements of one tensor share memory. None: every element is memory of its own.
///
/// Shapes  any, any strides: tensors that interleave (columns of one matrix) do not overlap.
/// Dtypes  any dense ones, of any devices; undefined, sparse and empty tensors have no memory.
/// Cost    sorts by address; goes over elements only where strided tensors lie between each other.
std::optional<std::pair<std::size_t, std::size_t>> find_overlap(
    std::span<const at::Tensor> tensors);

}  // namespace steepest
