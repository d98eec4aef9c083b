#include "steepest/linalg/gram_restarts.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace steepest {
namespace {

constexpr double kShift = 4e-4;  // what 16-bit rounding does to an eigenvalue of the Gram matrix
constexpr double kMostSpread = 1e8;
constexpr std::size_t kMostIterations = 10;

/// max over iterations of max |q| / min |q|; gives up above `limit`.
// per iteration: z = a + r (b + c r);  q <- z q;  r <- z^2 r.   At a restart: x <- q x, q = 1.
double spread(std::span<const NsCoefficients> tuples, const std::vector<int>& before, double limit,
              std::vector<double> x) {
  std::vector<double> r(x.size()), q(x.size());
  double worst = 0;
  for (std::size_t i = 0; i < tuples.size(); ++i) {
    const bool again = std::ranges::find(before, static_cast<int>(i)) != before.end();
    const auto [a, b, c] = tuples[i];
    double most = 0, least = std::numeric_limits<double>::infinity();
    for (std::size_t s = 0; s < x.size(); ++s) {
      if (again) x[s] *= q[s];
      if (again || i == 0) {
        r[s] = x[s] * x[s] - kShift;
        q[s] = 1;
      }
      const double z = a + r[s] * (b + c * r[s]);
      q[s] *= z;
      r[s] *= z * z;
      // Written so that NaN is too much.
      if (!(std::abs(q[s]) <= std::numeric_limits<double>::max()))
        return std::numeric_limits<double>::infinity();
      most = std::max(most, std::abs(q[s]));
      least = std::min(least, std::abs(q[s]));
    }
    const double here = most / least;
    if (!(here < limit)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, here);
  }
  return worst;
}

}  // namespace

std::optional<GramRestarts> gram_restarts(std::span<const NsCoefficients> tuples, int count,
                                          int samples) {
  const int places = static_cast<int>(tuples.size()) - 1;
  if (count < 0 || count > places) return std::nullopt;
  std::vector<double> x;
  for (int s = 0; s < samples; ++s) x.push_back(std::pow(10.0, -10.0 * s / (samples - 1)));
  // Every choice of `count` out of 1 .. places, in order: the marks of a permutation.
  std::vector<char> chosen(static_cast<std::size_t>(places), 0);
  std::fill_n(chosen.begin(), count, 1);
  GramRestarts best{{}, kMostSpread};
  bool found = false;
  do {
    std::vector<int> before;
    for (int i = 0; i < places; ++i)
      if (chosen[static_cast<std::size_t>(i)] != 0) before.push_back(i + 1);
    const double here = spread(tuples, before, best.spread, x);
    if (here < best.spread) {
      best = {before, here};
      found = true;
    }
  } while (std::ranges::prev_permutation(chosen).found);
  if (!found) return std::nullopt;
  return best;
}

std::optional<GramRestarts> fewest_gram_restarts(std::span<const NsCoefficients> tuples,
                                                 double most_spread) {
  if (tuples.size() > kMostIterations) return std::nullopt;
  if (std::ranges::any_of(tuples, [](const NsCoefficients& t) { return t[2] == 0; }))
    return std::nullopt;
  for (const int count : {1, 2})
    if (auto found = gram_restarts(tuples, count); found && found->spread < most_spread)
      return found;
  return std::nullopt;
}

}  // namespace steepest
