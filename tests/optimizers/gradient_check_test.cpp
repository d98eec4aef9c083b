#include "steepest/optimizers/gradient_check.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "steepest/base/error.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

TEST(GradientCheck, TakesAnyFloatingTypeAndAnyStrides) {
  const at::Tensor param = at::ones({2, 3}, at::kBFloat16);
  for (const at::Tensor& grad :
       {at::ones({2, 3}), at::ones({3, 2}).t(), at::ones({2, 3}, at::kHalf)}) {
    EXPECT_TRUE(gradient_fits(param, grad));
    EXPECT_NO_THROW(require_gradient(param, grad, "w"));
  }
}

TEST(GradientCheck, RefusesWhatCannotBeApplied) {
  const at::Tensor param = at::ones({2, 3});
  for (const at::Tensor& grad :
       {at::ones({3}), at::ones({2, 3}, at::kLong), at::ones({2, 3}).to_sparse()})
    EXPECT_FALSE(gradient_fits(param, grad));
  EXPECT_ERROR(ShapeError, require_gradient(param, at::ones({3}), "w"),
               "the gradient of parameter w has shape [3], the parameter [2, 3]; it would be "
               "broadcast or cut; give one of the "
               "parameter's shape");
  EXPECT_ERROR(DtypeError, require_gradient(param, at::ones({2, 3}, at::kLong), "w"),
               "the gradient of parameter w has element type Long; only floating point gradients "
               "can be applied; give float32, "
               "float64, bfloat16 or float16");
  EXPECT_ERROR(LayoutError, require_gradient(param, at::ones({2, 3}).to_sparse(), "w"),
               "the gradient of parameter w is sparse; the rules here work on every element of a "
               "dense gradient; call to_dense() "
               "on it, or build the embedding with sparse false");
}

}  // namespace
}  // namespace steepest
