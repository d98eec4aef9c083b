#include "steepest/linalg/newton_schulz.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include "steepest/base/error.h"
#include "steepest/tensor/bridge.h"

namespace steepest {
namespace {

at::Tensor norm_of(const at::Tensor& x, std::optional<at::ScalarType> dtype) {
  return at::linalg_vector_norm(x, 2, at::IntArrayRef{-2, -1}, /*keepdim=*/true, dtype);
}

at::ScalarType wider(at::ScalarType a, at::ScalarType b) {
  return a == at::kDouble || b == at::kDouble ? at::kDouble : at::kFloat;
}

/// X <- x / guard(s ||x||_F), in the iteration's type.
at::Tensor normalized(const at::Tensor& g, const NewtonSchulzOptions& o) {
  const at::ScalarType compute = to_scalar_type(o.compute_dtype);
  if (o.guard == NormGuard::kScaleFree) {
    // In fp64 no square of an fp32 value over- or underflows, so any scale of g gives the same
    // quotient.
    const at::Tensor wide =
        (o.input_dtype ? g.to(to_scalar_type(*o.input_dtype)) : g).to(at::kDouble);
    const at::Tensor norm = norm_of(wide, std::nullopt).mul_(o.safety);
    return at::where(norm == 0, at::zeros_like(wide), wide / norm).to(compute);
  }
  // Rounded to input_dtype first where asked for; then at least as wide as fp32, unless the
  // iteration is as narrow.
  at::Tensor x = o.input_dtype ? g.to(to_scalar_type(*o.input_dtype)) : g;
  if (compute == at::kDouble || x.scalar_type() != compute)
    x = x.to(wider(x.scalar_type(), compute));
  // The norm of a 16-bit tensor is summed in fp32 and rounded to 16 bits, as in the references.
  at::Tensor norm = norm_of(x, std::nullopt);
  if (o.safety != 1) norm = norm * o.safety;
  norm = o.guard == NormGuard::kAdd ? norm + o.eps : norm.clamp_min(o.eps);
  return (x / norm).to(compute);
}

/// One iteration; x [batch, d, D] with d <= D.
at::Tensor iterate(const at::Tensor& x, const NsCoefficients& tuple, Rounding rounding) {
  const auto [a, b, c] = tuple;
  const at::Tensor A = at::bmm(x, x.mT());
  if (rounding == Rounding::kR2) {
    // B = b A + c A A;  X = a X + B X, each rounded once.
    const at::Tensor B = c == 0 ? A * b : at::baddbmm(A, A, A, /*beta=*/b, /*alpha=*/c);
    return at::baddbmm(x, B, x, /*beta=*/a, /*alpha=*/1);
  }
  if (rounding == Rounding::kR1) {
    const auto wide = [](const at::Tensor& t) {
      return t.scalar_type() == at::kDouble ? t : t.to(at::kFloat);
    };
    const at::Tensor B = (wide(A) * b + wide(at::bmm(A, A)) * c).to(x.scalar_type());
    return (wide(x) * a + wide(at::bmm(B, x))).to(x.scalar_type());
  }
  // Rounding goes by the order of the operations: (c A) A is not c (A A).
  const at::Tensor B =
      A * b + (rounding == Rounding::kR0Kj ? at::bmm(A * c, A) : at::bmm(A, A) * c);
  return x * a + at::bmm(B, x);
}

}  // namespace

at::Tensor newton_schulz(const at::Tensor& g, const NewtonSchulzOptions& o) {
  const at::NoGradGuard no_grad;
  if (g.dim() < 2)
    throw ShapeError({.what = fmt::format("Newton-Schulz was given a tensor of shape {}",
                                          shape_text(shape_of(g))),
                      .why = "it works on matrices",
                      .remedy = "give at least two dimensions"});
  if (g.numel() == 0) return at::zeros_like(g, at::TensorOptions(to_scalar_type(o.compute_dtype)));
  const bool tall = g.size(-2) > g.size(-1);
  at::Tensor x = g.detach().reshape({-1, g.size(-2), g.size(-1)});
  if (tall) x = x.mT();
  x = normalized(x, o).contiguous();
  for (const NsCoefficients& tuple : o.coefficients) x = iterate(x, tuple, o.rounding);
  if (tall) x = x.mT();
  return x.reshape(g.sizes()).contiguous();
}

}  // namespace steepest
