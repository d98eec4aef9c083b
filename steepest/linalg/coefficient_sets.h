#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "steepest/base/fields.h"

namespace steepest {

/// One iteration X <- a X + (b A + c A A) X with A = X X^T.
using NsCoefficients = std::array<double, 3>;

/// Published coefficient lists. Exact numbers and sources: coefficient_sets.cpp.
enum class CoefficientSet { kSimple, kQuintic, kPolarExpress };

inline const auto& spellings(CoefficientSet) {
  static constexpr Spelling<CoefficientSet> kAll[] = {
      {CoefficientSet::kSimple, "simple"},
      {CoefficientSet::kQuintic, "quintic"},
      {CoefficientSet::kPolarExpress, "polar_express"},
      {CoefficientSet::kPolarExpress, "pe_dion"},
  };
  return kAll;
}

/// The published list of a set (length 1, 5, 5). `polar_express` is dion's: safety folded into all
/// but the last.
std::span<const NsCoefficients> coefficients(CoefficientSet set);

/// The tuples of `steps` iterations; a list shorter than `steps` starts again.
/// ConfigError: steps < 1; a list of more than one tuple whose length does not divide steps, unless
/// allow_partial_cycle (a restarted first tuple maps values near 1 close to 0 or below: an ascent
/// direction); an empty list.
std::vector<NsCoefficients> coefficient_schedule(std::span<const NsCoefficients> list, int steps,
                                                 bool allow_partial_cycle);

}  // namespace steepest
