#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/report.h"
#include "bench/row.h"

namespace steepest::bench {

struct BenchOptions {
  std::vector<int> threads = {1, 2};
  double seconds = 6;  ///< a row and number of threads
  bool quick = false;  ///< small sizes: the numbers are of the cache and prove nothing
  std::function<void(std::string_view)> progress = {};  ///< told what is timed next
};

/// Every row there is, in the order of the table.
const std::vector<Row>& rows();
/// Runs the rows of these names, in the table's order; all if there are none. ConfigError names the
/// nearest of an unknown one; nothing is run then.
BenchReport run_bench(const std::vector<std::string>& names, const BenchOptions& options);

}  // namespace steepest::bench
