#pragma once

#include "steepest/base/fields.h"

namespace steepest {

/// How the norm is kept away from zero: x / (s n + eps), x / max(s n, eps), or x / (s n) in fp64
/// with 0 for a zero matrix, so that orth(c x) = orth(x) for every c > 0.
enum class NormGuard { kAdd, kClamp, kScaleFree };
/// What a 16-bit iteration rounds to its storage.
///   R0     every operation's result, B = b A + c (A A): dion without a graph compiler
///   R0_kj  the same with B = b A + (c A) A: KellerJordan/Muon, which its recorded runs need
///   R1     products, and each chain of point-wise operations once: dion as compiled
///   R2     each product-and-sum once: torch's addmm; the default and the most accurate
enum class Rounding { kR0, kR0Kj, kR1, kR2 };
/// How the iteration is computed. All are the same polynomial; they differ in rounding and in time.
///   plain     libtorch's products, any type, device and rounding: the judge of the others
///   standard  own products, symmetric ones at half the work
///   gram      own products on the d x d Gram matrix, restarted where rounding would grow: for
///             rectangular matrices
///   auto      standard or gram, whichever takes fewer operations; plain where neither serves
enum class NsAlgorithm { kAuto, kPlain, kStandard, kGram };

inline const auto& spellings(NormGuard) {
  static constexpr Spelling<NormGuard> kAll[] = {{NormGuard::kAdd, "add"},
                                                 {NormGuard::kClamp, "clamp"},
                                                 {NormGuard::kScaleFree, "scale_free"}};
  return kAll;
}
inline const auto& spellings(Rounding) {
  static constexpr Spelling<Rounding> kAll[] = {{Rounding::kR0, "R0"},
                                                {Rounding::kR0Kj, "R0_kj"},
                                                {Rounding::kR1, "R1"},
                                                {Rounding::kR2, "R2"}};
  return kAll;
}
inline const auto& spellings(NsAlgorithm) {
  static constexpr Spelling<NsAlgorithm> kAll[] = {{NsAlgorithm::kAuto, "auto"},
                                                   {NsAlgorithm::kPlain, "plain"},
                                                   {NsAlgorithm::kStandard, "standard"},
                                                   {NsAlgorithm::kGram, "gram"}};
  return kAll;
}

}  // namespace steepest
