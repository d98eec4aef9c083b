#pragma once

#include <cstdint>

namespace steepest {

/// Counter-based random numbers: a pure function of (seed, stream, index), so that any position can
/// be reached without the ones before it, and a resumed run needs no generator state.
/// Philox4x32-10. Source: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
class CounterRandom {
 public:
  explicit CounterRandom(std::uint64_t seed) : seed_(seed) {}

  /// 64 random bits for position `index` of `stream`.
  std::uint64_t bits(std::uint64_t stream, std::uint64_t index) const;
  /// Uniform integer in [0, bound), bound >= 1, without bias beyond bound / 2^64.
  std::uint64_t below(std::uint64_t bound, std::uint64_t stream, std::uint64_t index) const;
  /// Uniform in [0, 1), 53 bits.
  double uniform(std::uint64_t stream, std::uint64_t index) const;
  /// Standard normal (Box-Muller on two words of the position).
  double normal(std::uint64_t stream, std::uint64_t index) const;

 private:
  std::uint64_t seed_;
};

}  // namespace steepest
