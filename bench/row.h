#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "bench/contest.h"

namespace steepest::bench {

/// What can be timed. A further row is a further one of these in the list of its subject.
struct Row {
  std::string_view name, summary;
  /// Makes what is timed; `quick`: in sizes that take no time and fit the cache.
  std::function<Contest(bool quick)> make;
};

std::vector<Row> element_rows();   ///< element-wise rules, in fp32 and in narrow storage
std::vector<Row> step_rows();      ///< norms and whole steps
std::vector<Row> matrix_rows();    ///< Muon and Newton-Schulz
std::vector<Row> training_rows();  ///< whole training steps

}  // namespace steepest::bench
