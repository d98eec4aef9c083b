#include "bench/others.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace steepest::bench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

// cpu  user nice system idle iowait irq softirq steal guest guest_nice; guests are in user already.
double others_in(std::string_view proc_stat, double ticks_a_second, double own) {
  std::istringstream in{std::string(proc_stat)};
  std::string name;
  double ticks[8] = {};
  in >> name;
  for (double& each : ticks) in >> each;
  if (name != "cpu" || !in) return 0;
  const auto [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
  return (user + nice + system + irq + softirq + steal) / ticks_a_second - own;
}

double seconds_of_others() {
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  rusage own{};
  getrusage(RUSAGE_SELF, &own);
  return others_in(line, static_cast<double>(sysconf(_SC_CLK_TCK)),
                   seconds(own.ru_utime) + seconds(own.ru_stime));
}

int processors_here() { return static_cast<int>(std::thread::hardware_concurrency()); }

}  // namespace steepest::bench
