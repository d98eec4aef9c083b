#include "steepest/linalg/ns_enums.h"

#include <gtest/gtest.h>

namespace steepest {
namespace {

TEST(NsEnums, EveryValueHasItsName) {
  EXPECT_EQ(parse_spelling<NormGuard>("scale_free"), NormGuard::kScaleFree);
  EXPECT_EQ(parse_spelling<NormGuard>("add"), NormGuard::kAdd);
  EXPECT_EQ(parse_spelling<NormGuard>("clamp"), NormGuard::kClamp);
  EXPECT_EQ(spelling(Rounding::kR0), "R0");
  EXPECT_EQ(spelling(Rounding::kR0Kj), "R0_kj");
  EXPECT_EQ(spelling(Rounding::kR1), "R1");
  EXPECT_EQ(spelling(Rounding::kR2), "R2");
  EXPECT_EQ(parse_spelling<NsAlgorithm>("auto"), NsAlgorithm::kAuto);
  EXPECT_EQ(parse_spelling<NsAlgorithm>("plain"), NsAlgorithm::kPlain);
  EXPECT_EQ(parse_spelling<NsAlgorithm>("standard"), NsAlgorithm::kStandard);
  EXPECT_EQ(parse_spelling<NsAlgorithm>("gram"), NsAlgorithm::kGram);
}

}  // namespace
}  // namespace steepest
