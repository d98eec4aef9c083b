#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "steepest/base/dtype.h"

namespace steepest {

/// A box of a logical tensor: what a piece of a checkpoint, or a shard, covers.
struct Box {
  std::vector<std::int64_t> offset;  ///< first index in each dimension
  std::vector<std::int64_t> extent;  ///< number of indices in each dimension
  bool operator==(const Box&) const = default;
};

/// One piece of one named logical tensor. A whole tensor is one piece whose box covers `shape`.
struct PieceInfo {
  std::string name;   ///< parameter name
  std::string state;  ///< "param" for weights, else the state's key: "exp_avg", "step", ...
  Dtype dtype = Dtype::kFloat32;
  std::vector<std::int64_t> shape;  ///< of the whole logical tensor
  Box box;
  bool operator==(const PieceInfo&) const = default;
};

/// The piece that is the whole tensor.
PieceInfo whole_piece(std::string name, std::string state, Dtype dtype,
                      std::vector<std::int64_t> shape);

}  // namespace steepest
