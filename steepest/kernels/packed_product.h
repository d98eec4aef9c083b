#pragma once

#include <cstddef>

#include "steepest/kernels/formats.h"
#include "steepest/kernels/packed.h"

namespace steepest::kernels {

/// A plain matrix in memory, row after row.
struct PlainMatrix {
  Format format = Format::kF32;  ///< kF32, kBF16 or kF16
  void* values = nullptr;
  std::size_t rows = 0, columns = 0;
  std::size_t stride = 0;  ///< elements from a row to the next
};

/// C = scale L R^T + beta add, L and R packed with the same columns and unit:
///   C(i, j) = scale sum_k L(i, k) R(j, k) + beta add(j, i)
/// Sums are fp32, in the order of k, and rounded once when they are stored. Only what is asked for
/// is stored.
struct Product {
  Packed left, right;
  float scale = 1;
  Packed add;  ///< C^T's shape; no units: nothing is added
  float beta = 0;
  Packed columns;     ///< C^T packed: rows as right's, columns as left's
  Packed rows;        ///< C packed
  PlainMatrix plain;  ///< C as it is, kF32 or kBF16
  /// C is symmetric (up to rounding): tiles on and below the diagonal are computed, the others are
  /// their mirror image, so that the result is symmetric to the bit. `columns` and `rows` are then
  /// one matrix, and there is no `plain`.
  bool symmetric = false;

  std::size_t tiles() const;  ///< independent pieces of work, in any order, on any thread
};

/// Computes tile t < tiles() with the processor's best instructions.
void multiply_tile(const Product& product, std::size_t t);

/// Rows [8 strip, 8 strip + 8) of scale * g into g packed (`rows`) and g^T packed (`columns`); both
/// are needed. scale is applied in fp64, and the result rounded once to fp32 and once to the unit.
void pack_strip(const PlainMatrix& g, double scale, const Packed& rows, const Packed& columns,
                std::size_t strip);

/// m(i, i) += value for a square packed matrix.
void add_to_diagonal(const Packed& m, float value);

/// m(i, j), for tests and for looking at things.
float element(const Packed& m, std::size_t i, std::size_t j);

}  // namespace steepest::kernels
