#include "steepest/kernels/packed.h"

#include <gtest/gtest.h>

namespace steepest::kernels {
namespace {

TEST(Packed, TakesTheWidthThatLeavesLessUnused) {
  EXPECT_EQ(panel_width(768), 48u);  // both fit: the wider one
  EXPECT_EQ(panel_width(384), 48u);
  EXPECT_EQ(panel_width(128), 32u);
  EXPECT_EQ(panel_width(512), 32u);  // 512, not 528
  EXPECT_EQ(panel_width(1), 32u);
  EXPECT_EQ(panel_width(33), 48u);
  EXPECT_EQ(panel_width(49), 32u);  // 64, not 96
}

TEST(Packed, CountsWhatItHolds) {
  // 50 rows are 2 panels of 32; 21 columns are filled up to 24: 24 values or 12 pairs a row.
  Packed m{.rows = 50, .columns = 21, .width = 32};
  EXPECT_EQ(m.panels(), 2u);
  EXPECT_EQ(m.depth(), 24u);
  EXPECT_EQ(m.size(), 2u * 24 * 32);
  std::uint32_t units[2 * 24 * 32];
  m.units = units;
  EXPECT_EQ(m.at(1, 3) - units, (24 + 3) * 32);
  m.unit = Unit::kBF16Pair;
  EXPECT_EQ(m.depth(), 12u);
  EXPECT_EQ(m.size(), 2u * 12 * 32);
}

}  // namespace
}  // namespace steepest::kernels
