#include "steepest/params/state_piece.h"

#include <utility>

namespace steepest {

PieceInfo whole_piece(std::string name, std::string state, Dtype dtype,
                      std::vector<std::int64_t> shape) {
  Box box{std::vector<std::int64_t>(shape.size(), 0), shape};
  return {std::move(name), std::move(state), dtype, std::move(shape), std::move(box)};
}

}  // namespace steepest
