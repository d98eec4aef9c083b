#include "steepest/kernels/element_rules.h"

// Compiled once a target: this file includes itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "steepest/kernels/element_rules.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "steepest/kernels/fma-inl.h"

HWY_BEFORE_NAMESPACE();
namespace steepest::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// One vector of every stream.
struct Lanes {
  V w, g, s[3];
};

/// a + t (b - a), rounded as ATen's lerp does.
struct Lerp {
  explicit Lerp(float weight)
      : from_a(weight < 0.5f), t(hn::Set(D(), from_a ? weight : weight - 1.0f)) {}
  HWY_INLINE V operator()(V a, V b) const { return Fma(t, hn::Sub(b, a), from_a ? a : b); }
  bool from_a;
  V t;
};

/// kStates of tile.s in use.
template <int kStates, class Rule>
HWY_INLINE void Apply(const Rule& rule, const Tile& tile, std::size_t i) {
  const D d;
  Lanes x;
  x.w = hn::LoadU(d, tile.w + i);
  x.g = hn::LoadU(d, tile.g + i);
  for (int k = 0; k < kStates; ++k) x.s[k] = hn::LoadU(d, tile.s[k] + i);
  rule(x);
  hn::StoreU(x.w, d, tile.w + i);
  for (int k = 0; k < kStates; ++k) hn::StoreU(x.s[k], d, tile.s[k] + i);
}

template <int kStates, class Rule>
void RunTile(const Rule& rule, const Tile& tile) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t whole = tile.count - tile.count % lanes;
  const std::size_t ahead = tile.prefetch / sizeof(float);
  std::size_t i = 0;
  for (; i < whole; i += lanes) {
    if (ahead != 0) {
      hwy::Prefetch(tile.w + i + ahead);
      hwy::Prefetch(tile.g + i + ahead);
      for (int k = 0; k < kStates; ++k) hwy::Prefetch(tile.s[k] + i + ahead);
    }
    Apply<kStates>(rule, tile, i);
    if (tile.cleared != nullptr) hn::StoreU(hn::Zero(d), d, tile.cleared + i);
  }
  if (i == tile.count) return;
  // The rest goes through one vector of its own, filled up with zeros.
  const std::size_t rest = tile.count - i;
  HWY_ALIGN float buffers[5][HWY_MAX_BYTES / sizeof(float)] = {};
  Tile last{.count = lanes, .w = buffers[0], .g = buffers[1]};
  for (std::size_t j = 0; j < rest; ++j) {
    buffers[0][j] = tile.w[i + j];
    buffers[1][j] = tile.g[i + j];
  }
  for (int k = 0; k < kStates; ++k) {
    last.s[k] = buffers[2 + k];
    for (std::size_t j = 0; j < rest; ++j) buffers[2 + k][j] = tile.s[k][i + j];
  }
  Apply<kStates>(rule, last, 0);
  for (std::size_t j = 0; j < rest; ++j) {
    tile.w[i + j] = buffers[0][j];
    for (int k = 0; k < kStates; ++k) tile.s[k][i + j] = buffers[2 + k][j];
    if (tile.cleared != nullptr) tile.cleared[i + j] = 0;
  }
}

template <bool kL2, bool kAmsgrad>
struct AdamLanes {
  explicit AdamLanes(const AdamScalars& o)
      : factor(hn::Set(D(), o.factor)),
        l2(hn::Set(D(), o.l2)),
        decay(hn::Set(D(), o.decay)),
        b2(hn::Set(D(), o.b2)),
        one_minus_b2(hn::Set(D(), o.one_minus_b2)),
        sqrt_c2(hn::Set(D(), o.sqrt_c2)),
        eps(hn::Set(D(), o.eps)),
        step_size(hn::Set(D(), o.step_size)),
        average(o.one_minus_b1) {}
  HWY_INLINE void operator()(Lanes& x) const {
    V g = hn::Mul(x.g, factor);
    if (kL2) g = Fma(l2, x.w, g);
    const V w = hn::Mul(x.w, decay);
    const V m = average(x.s[0], g);
    const V v = Fma(hn::Mul(one_minus_b2, g), g, hn::Mul(x.s[1], b2));
    V vv = v;
    // NaN in either shows, as in ATen's maximum.
    if (kAmsgrad) vv = hn::IfThenElse(hn::Or(hn::Gt(v, x.s[2]), hn::Ne(v, v)), v, x.s[2]);
    const V denominator = hn::Add(hn::Div(hn::Sqrt(vv), sqrt_c2), eps);
    x.w = hn::Add(w, hn::Div(hn::Mul(step_size, m), denominator));
    x.s[0] = m;
    x.s[1] = v;
    if (kAmsgrad) x.s[2] = vv;
  }
  V factor, l2, decay, b2, one_minus_b2, sqrt_c2, eps, step_size;
  Lerp average;
};

template <bool kL2, bool kAmsgrad>
void AdamTile(const AdamScalars& o, const Tile& tile) {
  RunTile<kAmsgrad ? 3 : 2>(AdamLanes<kL2, kAmsgrad>(o), tile);
}

void Adam(const AdamScalars& o, const Tile& tile) {
  if (o.l2 != 0)
    tile.s[2] != nullptr ? AdamTile<true, true>(o, tile) : AdamTile<true, false>(o, tile);
  else
    tile.s[2] != nullptr ? AdamTile<false, true>(o, tile) : AdamTile<false, false>(o, tile);
}

struct LionLanes {
  explicit LionLanes(const LionScalars& o)
      : factor(hn::Set(D(), o.factor)),
        decay(hn::Set(D(), o.decay)),
        step_size(hn::Set(D(), o.step_size)),
        look(o.one_minus_b1),
        average(o.one_minus_b2) {}
  HWY_INLINE void operator()(Lanes& x) const {
    const D d;
    const V g = hn::Mul(x.g, factor);
    const V l = look(x.s[0], g);
    // 1 with the sign of l; l itself where it is 0 or NaN.
    const V one = hn::CopySign(hn::Set(d, 1.0f), l);
    const V u = hn::IfThenElse(hn::Gt(hn::Abs(l), hn::Zero(d)), one, l);
    x.s[0] = average(x.s[0], g);
    x.w = Fma(step_size, u, hn::Mul(x.w, decay));
  }
  V factor, decay, step_size;
  Lerp look, average;
};

void Lion(const LionScalars& o, const Tile& tile) { RunTile<1>(LionLanes(o), tile); }

template <bool kL2, bool kMomentum, bool kNesterov>
struct SgdLanes {
  explicit SgdLanes(const SgdScalars& o)
      : factor(hn::Set(D(), o.factor)),
        l2(hn::Set(D(), o.l2)),
        momentum(hn::Set(D(), o.momentum)),
        one_minus_dampening(hn::Set(D(), o.one_minus_dampening)),
        step_size(hn::Set(D(), o.step_size)),
        first(o.first) {}
  HWY_INLINE void operator()(Lanes& x) const {
    V g = hn::Mul(x.g, factor);
    if (kL2) g = Fma(l2, x.w, g);
    V d = g;
    if (kMomentum) {
      const V buf = first ? g : Fma(one_minus_dampening, g, hn::Mul(x.s[0], momentum));
      x.s[0] = buf;
      d = kNesterov ? Fma(momentum, buf, g) : buf;
    }
    x.w = Fma(step_size, d, x.w);
  }
  V factor, l2, momentum, one_minus_dampening, step_size;
  bool first;
};

template <bool kL2>
void SgdTile(const SgdScalars& o, const Tile& tile) {
  if (tile.s[0] == nullptr) return RunTile<0>(SgdLanes<kL2, false, false>(o), tile);
  o.nesterov ? RunTile<1>(SgdLanes<kL2, true, true>(o), tile)
             : RunTile<1>(SgdLanes<kL2, true, false>(o), tile);
}

void Sgd(const SgdScalars& o, const Tile& tile) {
  o.l2 != 0 ? SgdTile<true>(o, tile) : SgdTile<false>(o, tile);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace steepest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace steepest::kernels {
HWY_EXPORT(Adam);
HWY_EXPORT(Lion);
HWY_EXPORT(Sgd);

void adam(const AdamScalars& scalars, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(Adam)(scalars, tile);
}
void lion(const LionScalars& scalars, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(Lion)(scalars, tile);
}
void sgd(const SgdScalars& scalars, const Tile& tile) { HWY_DYNAMIC_DISPATCH(Sgd)(scalars, tile); }

}  // namespace steepest::kernels
#endif
