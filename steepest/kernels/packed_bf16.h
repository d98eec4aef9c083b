#pragma once

#include <cstddef>
#include <cstdint>

namespace steepest::kernels {

/// tile[r][c] = sum over pairs k of left[k * left_width + r] . right[k * width + c], r < 8, c <
/// width.
using Bf16Tile = void (*)(const std::uint32_t* left, std::size_t left_width,
                          const std::uint32_t* right, std::size_t pairs, float* tile);

/// The tile by the processor's own bf16 products (AVX512-BF16) for panels of 48 or 32; null where
/// it has none. They take subnormal inputs for zero, and each adds two products with one rounding
/// fewer than two fused steps.
Bf16Tile bf16_tile(std::size_t width);

/// Whether the processor multiplies bf16 matrices in blocks (AMX): several times as fast as any
/// vector loop, so that such products belong to the library that uses them.
bool has_bf16_blocks();

}  // namespace steepest::kernels
