#include "bench/run.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <hwy/targets.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "bench/limits.h"
#include "steepest/base/error.h"
#include "steepest/base/nearest.h"

namespace steepest::bench {
namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

/// The best of the instruction sets that our kernels are compiled for (cmake/SteepestRooms.cmake)
/// and this processor has, and what ATen takes.
std::string instruction_sets() {
  const std::int64_t ours =
      hwy::SupportedTargets() & (HWY_AVX3 | HWY_AVX2 | HWY_SCALAR | HWY_EMU128);
  return fmt::format("our kernels {}, ATen {}", hwy::TargetName(ours & -ours),
                     at::get_cpu_capability());
}

std::vector<const Row*> chosen(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::vector<std::string_view> known;
    for (const Row& each : rows()) known.push_back(each.name);
    if (std::ranges::find(known, name) != known.end()) continue;
    const auto near = nearest(name, known);
    throw ConfigError({.what = fmt::format("there is no row '{}'", name),
                       .remedy = near ? fmt::format("did you mean '{}'?", *near)
                                      : "steepest bench --list names them"});
  }
  std::vector<const Row*> all;
  for (const Row& each : rows())
    if (names.empty() || std::ranges::find(names, each.name) != names.end()) all.push_back(&each);
  return all;
}

/// Sets the number of libtorch's threads back at the end.
class KeepThreads {
 public:
  KeepThreads() : before_(at::get_num_threads()) {}
  ~KeepThreads() { at::set_num_threads(before_); }
  KeepThreads(const KeepThreads&) = delete;
  KeepThreads& operator=(const KeepThreads&) = delete;

 private:
  int before_;
};

}  // namespace

const std::vector<Row>& rows() {
  static const std::vector<Row> kAll = [] {
    std::vector<Row> all;
    for (auto part : {element_rows(), step_rows(), matrix_rows(), training_rows()})
      std::ranges::move(part, std::back_inserter(all));
    return all;
  }();
  return kAll;
}

BenchReport run_bench(const std::vector<std::string>& names, const BenchOptions& options) {
  const std::vector<const Row*> todo = chosen(names);
  const at::NoGradGuard no_grad;
  const KeepThreads keep;
  const auto say = [&](std::string_view what) {
    if (options.progress) options.progress(what);
  };
  BenchReport report{.cpu = cpu_name(), .isa = instruction_sets(), .quick = options.quick};
  say("the machine's limits");
  report.limits = machine_limits(options.threads, options.quick);
  const Effort effort = options.quick ? Effort{0.02, 2} : Effort{options.seconds, 3};
  for (const Row* each : todo) {
    at::set_num_threads(*std::ranges::max_element(options.threads));
    const Contest contest = each->make(options.quick);
    for (const int threads : options.threads) {
      say(fmt::format("{}, threads: {}", each->name, threads));
      at::set_num_threads(threads);
      report.rows.push_back(hold(each->name, threads, contest, effort));
    }
  }
  return report;
}

}  // namespace steepest::bench
