#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness.h"
#include "bench/others.h"
#include "bench/report.h"

namespace steepest::bench {

/// What a row is made of. The first contender is ours; each other has the name of the column that
/// its ratio goes into: "limit", "libtorch", "aten", "plain", "fp32".
struct Contest {
  std::vector<Contender> contenders;
  double limit_share = 1;  ///< our bytes (or flops) over those that the limit's repetition has
  double bytes = 0, flops = 0;
  double tokens = 0;  ///< that a repetition trains on
  int at_least = 0;   ///< repetitions, where more are needed than Effort asks for
  std::string note = {};
};

/// How long to look.
struct Effort {
  double seconds = 6;  ///< a row and number of threads
  int at_least = 3;    ///< repetitions
};

/// A row was disturbed where a contender's median is above this many times its best ...
inline constexpr double kDisturbed = 1.3;
/// ... or other programs used so much of the processors meanwhile: this share of all, and of one.
inline constexpr double kOthersOfAll = 0.02, kOthersOfOne = 0.1;

/// Where times come from.
struct Clocks {
  std::function<double()> wall = now;
  std::function<double()> others = seconds_of_others;  ///< processor time of other programs
  int processors = processors_here();
};

BenchRow hold(std::string_view name, int threads, const Contest& contest, const Effort& effort,
              const Clocks& clocks = {});

}  // namespace steepest::bench
