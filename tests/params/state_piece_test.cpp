#include "steepest/params/state_piece.h"

#include <gtest/gtest.h>

namespace steepest {
namespace {

TEST(StatePiece, AWholeTensorIsOneBox) {
  const PieceInfo piece = whole_piece("w", "exp_avg", Dtype::kBFloat16, {3, 4});
  EXPECT_EQ(piece.box, (Box{{0, 0}, {3, 4}}));
  EXPECT_EQ(piece.shape, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(whole_piece("w", "step", Dtype::kInt64, {}).box, (Box{{}, {}}));
}

}  // namespace
}  // namespace steepest
