#pragma once

#include <cstddef>

namespace steepest::kernels {

/// A run of elements as fp32 streams. `w` and the states are updated in place; `g` is read. The
/// streams must not overlap; any alignment. What an element becomes does not depend on its place in
/// the run, on `count`, or on the instruction set.
struct Tile {
  std::size_t count = 0;
  float* w = nullptr;
  const float* g = nullptr;
  float* s[3] = {};          ///< the rule's states, in the order its function names them
  float* cleared = nullptr;  ///< null, or the memory of g, set to zero after it was read
  std::size_t prefetch = 0;  ///< bytes ahead of the loop that memory is asked for; 0: never
};

// The gradient counts as g * factor: loss scale, clipping and the sign to climb are folded into it.
// Scalars are rounded to fp32 once, by the caller.
//
//   lerp(a, b, t) = t < 1/2 ? fma(t, b - a, a) : fma(t - 1, b - a, b)
//
// as in ATen, whose operators in the same order (steepest/optimizers) give the same bits.

struct AdamScalars {
  float factor = 1;
  float l2 = 0;     ///< weight decay added to the gradient; 0: none
  float decay = 1;  ///< decoupled: 1 - lr wd
  float one_minus_b1 = 0, b2 = 0, one_minus_b2 = 0;
  float sqrt_c2 = 1;  ///< sqrt(1 - b2^t)
  float eps = 0;
  float step_size = 0;  ///< -lr / (1 - b1^t)
};
/// s = {m, v, vv}; vv (amsgrad's largest v so far) may be null.
///   g <- factor g;  g <- fma(l2, w, g);  w <- decay w
///   m <- lerp(m, g, 1 - b1);  v <- fma((1 - b2) g, g, b2 v);  vv <- max(vv, v)
///   w <- w + (step_size m) / (sqrt(vv) / sqrt_c2 + eps)
void adam(const AdamScalars& scalars, const Tile& tile);

struct LionScalars {
  float factor = 1;
  float decay = 1;  ///< 1 - lr wd
  float one_minus_b1 = 0, one_minus_b2 = 0;
  float step_size = 0;  ///< -lr
};
/// s = {m}.
///   g <- factor g;  u = sign(lerp(m, g, 1 - b1)), NaN stays NaN
///   m <- lerp(m, g, 1 - b2);  w <- decay w;  w <- fma(step_size, u, w)
void lion(const LionScalars& scalars, const Tile& tile);

struct SgdScalars {
  float factor = 1;
  float l2 = 0;
  float momentum = 0;
  float one_minus_dampening = 1;
  bool nesterov = false;
  bool first = false;   ///< buf <- g instead
  float step_size = 0;  ///< -lr
};
/// s = {buf}; null without momentum.
///   g <- factor g;  g <- fma(l2, w, g)
///   buf <- first ? g : fma(1 - dampening, g, momentum buf)
///   d = nesterov ? fma(momentum, buf, g) : buf;  w <- fma(step_size, d, w)
void sgd(const SgdScalars& scalars, const Tile& tile);

}  // namespace steepest::kernels
