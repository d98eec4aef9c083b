#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness.h"
#include "bench/report.h"

namespace steepest::bench {

/// What a row is made of. The first contender is ours; each other has the name of the column that
/// its ratio goes into: "limit", "libtorch", "aten", "plain", "fp32".
struct Contest {
  std::vector<Contender> contenders;
  double limit_share = 1;  ///< our bytes (or flops) over those that the limit's repetition has
  double bytes = 0, flops = 0;
  double tokens = 0;  ///< that a repetition trains on
  std::string note = {};
};

/// How long to look.
struct Effort {
  double seconds = 6;  ///< a row and number of threads
  int at_least = 3;    ///< repetitions
};

/// A contender whose median is above this many times its best was disturbed.
inline constexpr double kDisturbed = 1.3;

BenchRow hold(std::string_view name, int threads, const Contest& contest, const Effort& effort,
              const std::function<double()>& clock = now);

}  // namespace steepest::bench
