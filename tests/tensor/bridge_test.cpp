#include "steepest/tensor/bridge.h"

#include <ATen/ops/_neg_view.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "steepest/base/error.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

TEST(Bridge, TypesGoThereAndBack) {
  for (const auto& each : spellings(Dtype{}))
    EXPECT_EQ(to_dtype(to_scalar_type(each.value)), each.value);
  EXPECT_ERROR(DtypeError, to_dtype(at::kComplexFloat),
               "element type ComplexFloat is not supported; use a floating point type");
}

TEST(Bridge, BytesAreInLogicalOrder) {
  const at::Tensor turned = at::arange(6, at::kFloat).reshape({2, 3}).t();
  at::Tensor keep;
  const auto bytes = tensor_bytes(turned, keep);
  const at::Tensor back = tensor_from_bytes(Dtype::kFloat32, {3, 2}, bytes);
  EXPECT_TRUE(back.equal(turned));
  at::Tensor target = at::ones({3, 2}, at::kDouble);
  copy_bytes_into(target, Dtype::kFloat32, bytes);
  EXPECT_TRUE(target.equal(turned.to(at::kDouble)));
  EXPECT_ERROR(ShapeError, tensor_from_bytes(Dtype::kFloat32, {3, 3}, bytes),
               "24 bytes do not make a tensor of shape [3, 3] and type float32; it takes 36");
}

TEST(Bridge, RefusesWhatCannotBeUpdatedInPlace) {
  EXPECT_NO_THROW(require_updatable(at::ones({4, 6}).t(), "w"));
  EXPECT_ERROR(LayoutError, require_updatable(at::ones({1, 3}).expand({2, 3}), "w"),
               "parameter w is an expanded view; several of its elements are the same memory, so "
               "an in-place update is "
               "undefined; give the tensor it was expanded from, or a clone");
  EXPECT_ERROR(
      LayoutError, require_updatable(at::ones({2, 3}).to_sparse(), "w"),
      "parameter w is sparse; an update writes every element in place; use a dense parameter");
  EXPECT_ERROR(DtypeError, require_updatable(at::ones({2}, at::kLong), "w"),
               "parameter w has element type Long; only floating point parameters can be trained; "
               "use float32, float64, "
               "bfloat16 or float16");
  EXPECT_ERROR(ConfigError, require_updatable({}, "w"), "parameter w is an undefined tensor");
}

TEST(Bridge, ANegatedViewIsRefusedAsAParameterAndHasTheBytesOfItsValues) {
  const at::Tensor values = at::full({3}, 2.0);
  EXPECT_ERROR(LayoutError, require_updatable(at::_neg_view(values), "w"),
               "parameter w is a negated view; its sign is a flag and not in the memory that an "
               "update writes to; give the tensor it is a view of, or a clone");
  at::Tensor keep, plain;
  const auto viewed = tensor_bytes(at::_neg_view(values), keep);
  const auto negated = tensor_bytes(values.neg(), plain);
  EXPECT_TRUE(std::equal(viewed.begin(), viewed.end(), negated.begin(), negated.end()));
}

}  // namespace
}  // namespace steepest
