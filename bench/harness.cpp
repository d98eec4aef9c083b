#include "bench/harness.h"

#include <algorithm>
#include <chrono>

namespace steepest::bench {
namespace {

double timed(const Contender& contender, const std::function<double()>& clock) {
  if (contender.prepare) contender.prepare();
  const double before = clock();
  contender.run();
  return clock() - before;
}

}  // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<Timing> interleaved(const std::vector<Contender>& contenders, double seconds,
                                int at_least, const std::function<double()>& clock) {
  std::vector<std::vector<double>> times(contenders.size());
  for (const Contender& each : contenders) timed(each, clock);
  const double start = clock();
  for (int round = 0; round < at_least || clock() - start < seconds; ++round)
    for (std::size_t i = 0; i < contenders.size(); ++i)
      times[i].push_back(timed(contenders[i], clock));
  std::vector<Timing> timings;
  for (std::vector<double>& each : times) {
    std::sort(each.begin(), each.end());
    timings.push_back({each.front(), each[each.size() / 2], static_cast<int>(each.size())});
  }
  return timings;
}

}  // namespace steepest::bench
