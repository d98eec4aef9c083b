#include "steepest/linalg/newton_schulz.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/diag.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/linalg_svd.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <limits>

#include "steepest/base/error.h"
#include "tests/support/errors.h"
#include "tests/support/worked_examples.h"

namespace steepest {
namespace {

NewtonSchulzOptions fp64(CoefficientSet set, NormGuard guard = NormGuard::kScaleFree,
                         double eps = 1e-7, double safety = 1) {
  return {.coefficients = coefficient_schedule(coefficients(set), 5, false),
          .guard = guard,
          .eps = eps,
          .safety = safety,
          .compute_dtype = Dtype::kFloat64};
}

double at(const at::Tensor& t, int i, int j) { return t[i][j].item<double>(); }
double relative(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

TEST(NewtonSchulz, GivesTheWorkedValues) {
  const at::Tensor g = worked_matrix(3, 5, 0);
  ASSERT_NEAR(at(g, 0, 0), 0.24008482, 1e-8);
  const at::Tensor polar =
      newton_schulz(g, fp64(CoefficientSet::kPolarExpress, NormGuard::kAdd, 1e-8, 1.02));
  EXPECT_NEAR(at(polar, 0, 0), 0.38381076, 1e-7);
  EXPECT_NEAR(at(polar, 1, 2), -0.41283377, 1e-7);
  EXPECT_NEAR(polar.norm().item<double>(), 1.74648327, 1e-7);
  const at::Tensor simple = newton_schulz(g, fp64(CoefficientSet::kSimple, NormGuard::kAdd, 1e-7));
  EXPECT_NEAR(at(simple, 0, 0), 0.37694337, 1e-7);
  EXPECT_NEAR(at(simple, 2, 4), 0.25097741, 1e-7);
  EXPECT_NEAR(simple.norm().item<double>(), 1.61460189, 1e-7);
  const at::Tensor quintic =
      newton_schulz(g, fp64(CoefficientSet::kQuintic, NormGuard::kClamp, 1e-15));
  EXPECT_NEAR(at(quintic, 0, 0), 0.38553490, 1e-7);
  EXPECT_NEAR(quintic.norm().item<double>(), 1.69646457, 1e-7);
}

// diag(3, 4) normalises to diag(0.6, 0.8).
TEST(NewtonSchulz, MapsSingularValuesByThePolynomial) {
  const at::Tensor o =
      newton_schulz(at::diag(at::tensor({3.0, 4.0}, at::kDouble)), fp64(CoefficientSet::kSimple));
  EXPECT_NEAR(at(o, 0, 0), 0.722876, 1e-6);
  EXPECT_NEAR(at(o, 1, 1), 1.119204, 1e-6);
  EXPECT_NEAR(at(o, 0, 1), 0, 1e-12);
}

TEST(NewtonSchulz, IsScaleFree) {
  const at::Tensor g = at::randn({64, 64});
  NewtonSchulzOptions o{.coefficients =
                            coefficient_schedule(coefficients(CoefficientSet::kSimple), 5, false)};
  const double one = newton_schulz(g, o).to(at::kFloat).norm().item<double>();
  for (const double c : {1e-30, 1e-12, 1e-9, 1e-6, 1e12, 1e30})
    EXPECT_NEAR(newton_schulz(g * c, o).to(at::kFloat).norm().item<double>() / one, 1, 0.01) << c;
}

TEST(NewtonSchulz, ZeroGivesZeroUnderEveryGuard) {
  for (const NormGuard guard : {NormGuard::kAdd, NormGuard::kClamp, NormGuard::kScaleFree}) {
    NewtonSchulzOptions o{
        .coefficients = coefficient_schedule(coefficients(CoefficientSet::kSimple), 5, false),
        .guard = guard};
    EXPECT_EQ(newton_schulz(at::zeros({5, 7}), o).abs().sum().item<double>(), 0) << spelling(guard);
  }
}

TEST(NewtonSchulz, NanTurnsItsOwnMatrixIntoNanAndNoOther) {
  at::Tensor batch = at::randn({2, 4, 6});
  batch[0][1][1] = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor o = newton_schulz(
      batch, {.coefficients = coefficient_schedule(coefficients(CoefficientSet::kSimple), 5, false),
              .compute_dtype = Dtype::kFloat32});
  EXPECT_TRUE(o[0].isnan().all().item<bool>());
  EXPECT_TRUE(o[1].isfinite().all().item<bool>());
}

TEST(NewtonSchulz, NeverWritesToItsInput) {
  for (const at::ScalarType type : {at::kBFloat16, at::kFloat, at::kDouble})
    for (const NormGuard guard : {NormGuard::kAdd, NormGuard::kScaleFree}) {
      const at::Tensor g = at::randn({8, 5}).to(type), copy = g.clone();
      newton_schulz(
          g, {.coefficients = coefficient_schedule(coefficients(CoefficientSet::kSimple), 5, false),
              .guard = guard,
              .input_dtype = Dtype::kBFloat16});
      EXPECT_TRUE(g.equal(copy));
    }
}

TEST(NewtonSchulz, BatchesTransposesAndRotates) {
  const NewtonSchulzOptions o = fp64(CoefficientSet::kQuintic);
  const at::Tensor a = at::randn({6, 4}, at::kDouble), b = at::randn({6, 4}, at::kDouble);
  const at::Tensor both = newton_schulz(at::stack({a, b}), o);
  EXPECT_LT(relative(both[0], newton_schulz(a, o)), 1e-12);
  EXPECT_LT(relative(both[1], newton_schulz(b, o)), 1e-12);
  EXPECT_LT(relative(newton_schulz(a.t(), o), newton_schulz(a, o).t()), 1e-12);
  const at::Tensor u = std::get<0>(at::linalg_qr(at::randn({6, 6}, at::kDouble)));
  const at::Tensor v = std::get<0>(at::linalg_qr(at::randn({4, 4}, at::kDouble)));
  EXPECT_LT(relative(newton_schulz(u.mm(a).mm(v), o), u.mm(newton_schulz(a, o)).mm(v)), 1e-9);
}

// bf16 against fp64 of the same polynomial, from 64 rows on: 0.03 with each product-and-sum rounded
// once, 0.12 with every operation rounded; singular values in the published interval widened by
// 0.05.
TEST(NewtonSchulz, Bf16StaysWithinItsBounds) {
  const at::Tensor g = at::randn({64, 160});
  const at::Tensor exact = newton_schulz(g.to(at::kDouble), fp64(CoefficientSet::kSimple));
  for (const auto& [rounding, bound] :
       {std::pair{Rounding::kR2, 0.03}, {Rounding::kR1, 0.12}, {Rounding::kR0, 0.12}}) {
    NewtonSchulzOptions o{
        .coefficients = coefficient_schedule(coefficients(CoefficientSet::kSimple), 5, false),
        .rounding = rounding};
    const at::Tensor got = newton_schulz(g, o).to(at::kDouble);
    EXPECT_LT(relative(got, exact), bound) << spelling(rounding);
    const at::Tensor s = std::get<1>(at::linalg_svd(got));
    EXPECT_GT(s.min().item<double>(), 0.6818 - 0.05);
    EXPECT_LT(s.max().item<double>(), 1.2024 + 0.05);
  }
  NewtonSchulzOptions single = fp64(CoefficientSet::kSimple);
  single.compute_dtype = Dtype::kFloat32;
  EXPECT_LT(relative(newton_schulz(g, single).to(at::kDouble), exact), 1e-5);
}

TEST(NewtonSchulz, RefusesVectorsAndTakesEmptyMatrices) {
  EXPECT_ERROR(ShapeError, newton_schulz(at::zeros({3}), fp64(CoefficientSet::kSimple)),
               "Newton-Schulz was given a tensor of shape [3]; it works on matrices; give at least "
               "two dimensions");
  EXPECT_EQ(newton_schulz(at::zeros({0, 3}), fp64(CoefficientSet::kSimple)).numel(), 0);
}

// The order of roundings is that of the operations: KellerJordan/Muon rounds c A before it is
// multiplied, dion the product. Both are reachable, bit for bit.
TEST(NewtonSchulz, RoundsEveryOperationInTheOrderOfEachLibrary) {
  const at::Tensor g = at::randn({12, 30});
  NewtonSchulzOptions o{.coefficients = {{3.4445, -4.7750, 2.0315}, {3.4445, -4.7750, 2.0315}},
                        .guard = NormGuard::kAdd,
                        .input_dtype = Dtype::kBFloat16};
  const auto by_hand = [&](bool kj) {
    at::Tensor x = g.to(at::kBFloat16);
    x = (x / (x.norm() + o.eps)).unsqueeze(0);
    for (const auto& [a, b, c] : o.coefficients) {
      const at::Tensor A = x.bmm(x.mT());
      const at::Tensor B = A * b + (kj ? (A * c).bmm(A) : A.bmm(A) * c);
      x = x * a + B.bmm(x);
    }
    return x[0];
  };
  o.rounding = Rounding::kR0Kj;
  EXPECT_TRUE(newton_schulz(g, o).equal(by_hand(true)));
  o.rounding = Rounding::kR0;
  EXPECT_TRUE(newton_schulz(g, o).equal(by_hand(false)));
  EXPECT_FALSE(by_hand(true).equal(by_hand(false)));
}

}  // namespace
}  // namespace steepest
