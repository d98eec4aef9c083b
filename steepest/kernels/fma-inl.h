// a b + c with one rounding, on every target. Included once a target, so the guard is Highway's
// own.
#if defined(STEEPEST_KERNELS_FMA_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STEEPEST_KERNELS_FMA_INL_H
#undef STEEPEST_KERNELS_FMA_INL_H
#else
#define STEEPEST_KERNELS_FMA_INL_H
#endif

#include <hwy/highway.h>

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace steepest::kernels {
namespace HWY_NAMESPACE {

template <class V>
HWY_INLINE V Fma(V a, V b, V c) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  // Highway rounds twice here.
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::DFromV<V> d;
  using T = hn::TFromD<hn::DFromV<V>>;
  HWY_ALIGN T x[16], y[16], z[16];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) z[i] = std::fma(x[i], y[i], z[i]);
  return hn::Load(d, z);
#else
  return hwy::HWY_NAMESPACE::MulAdd(a, b, c);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace steepest::kernels
HWY_AFTER_NAMESPACE();

#endif
