#pragma once

#include <functional>
#include <string>
#include <vector>

namespace steepest::bench {

/// Something that is timed: one call of `run` is one repetition.
struct Contender {
  std::string name;
  std::function<void()> run;
  std::function<void()> prepare = {};  ///< before each repetition, not timed; may be missing
};

/// Seconds of a repetition.
struct Timing {
  double best = 0, median = 0;
  int repetitions = 0;
};

/// Times contenders in turn, one repetition each, round after round, until `seconds` have passed
/// and each has run at least `at_least` times (1 or more): what disturbs the machine disturbs all.
/// The first round warms up and is not counted. `clock` gives seconds.
std::vector<Timing> interleaved(const std::vector<Contender>& contenders, double seconds,
                                int at_least, const std::function<double()>& clock);
/// Of the machine's steady clock.
double now();

}  // namespace steepest::bench
