#pragma once

#include <optional>
#include <span>
#include <vector>

#include "steepest/linalg/coefficient_sets.h"

namespace steepest {

/// Where the Gram form starts again from X (before which iterations, 0-based), and how much its
/// factor Q spreads at most: max |q| / min |q| over singular values.
struct GramRestarts {
  std::vector<int> before;
  double spread = 0;
};

/// The best places for `count` restarts. Rounding makes the Gram matrix slightly indefinite, and
/// every iteration multiplies a negative eigenvalue by about a^2. The model: singular values x from
/// 1 down to 1e-10, eigenvalues r = x^2 - 4e-4; all choices are tried. None if the best spread is
/// not below 1e8, or there are fewer than `count` places.
/// Source: the restart autotune of "Gram Newton-Schulz" (see docs).
/// `samples` singular values are tried: 500 find the places that 10000 find, and a spread that is
/// up to a fifth smaller, in 30 us.
std::optional<GramRestarts> gram_restarts(std::span<const NsCoefficients> tuples, int count,
                                          int samples = 500);

/// The fewest restarts, one or two, that keep the spread below `most_spread`, for up to ten
/// iterations without c = 0; none otherwise: then the standard form is the right one.
std::optional<GramRestarts> fewest_gram_restarts(std::span<const NsCoefficients> tuples,
                                                 double most_spread = 1e8);

}  // namespace steepest
