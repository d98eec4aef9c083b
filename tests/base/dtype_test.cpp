#include "steepest/base/dtype.h"

#include <gtest/gtest.h>

namespace steepest {
namespace {

TEST(Dtype, HasTorchsNamesAndTheirShortForms) {
  EXPECT_EQ(name(Dtype::kBFloat16), "bfloat16");
  for (const char* text : {"bfloat16", "bf16", "torch.bfloat16"})
    EXPECT_EQ(parse_spelling<Dtype>(text), Dtype::kBFloat16) << text;
  EXPECT_EQ(parse_spelling<Dtype>("float33"), std::nullopt);
}

TEST(Dtype, KnowsSizes) {
  EXPECT_EQ(size_of(Dtype::kFloat64), 8u);
  EXPECT_EQ(size_of(Dtype::kInt64), 8u);
  EXPECT_EQ(size_of(Dtype::kFloat32), 4u);
  EXPECT_EQ(size_of(Dtype::kBFloat16), 2u);
  EXPECT_EQ(size_of(Dtype::kBool), 1u);
  EXPECT_TRUE(is_floating_point(Dtype::kFloat16));
  EXPECT_FALSE(is_floating_point(Dtype::kInt32));
}

}  // namespace
}  // namespace steepest
