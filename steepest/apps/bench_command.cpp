#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/run.h"
#include "steepest/apps/commands.h"
#include "steepest/apps/output.h"
#include "steepest/base/error.h"
#include "steepest/base/files.h"

namespace steepest::apps {
namespace {

struct Arguments {
  std::vector<std::string> names;
  bench::BenchOptions options;
  std::string json;
  bool list = false;
};

std::string list_of_rows() {
  std::string text;
  for (const bench::Row& each : bench::rows())
    text += std::string(each.name) + std::string(27 - each.name.size(), ' ') +
            std::string(each.summary) + "\n";
  return text;
}

/// Minutes are too long to learn afterwards that the report has no place.
void require_folder_of(const std::string& file) {
  const auto folder = std::filesystem::absolute(file).parent_path();
  if (!std::filesystem::is_directory(folder))
    throw IoError({.what = "there is no folder " + folder.string() + " for " + file,
                   .remedy = "make it, or give --json another file"});
}

int run(Arguments arguments) {
  if (arguments.list) {
    print(list_of_rows());
    return 0;
  }
  if (!arguments.json.empty()) require_folder_of(arguments.json);
  arguments.options.progress = [](std::string_view what) {
    std::cerr << "bench: " << what << std::endl;
  };
  const bench::BenchReport report = bench::run_bench(arguments.names, arguments.options);
  print(report.text());
  if (!arguments.json.empty()) replace_file(arguments.json, report.json().dump(2) + "\n");
  return 0;
}

}  // namespace

void add_bench_command(CLI::App& app, Action& action) {
  auto* verb = app.add_subcommand(
      "bench", "speed: ours, libtorch's own and the machine's limit, interleaved in one run");
  auto arguments = std::make_shared<Arguments>();
  verb->add_option("NAME", arguments->names, "rows to run; all if none is given");
  verb->add_option("--threads", arguments->options.threads, "numbers of threads, for instance 1,2")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  verb->add_option("--seconds", arguments->options.seconds, "seconds a row and number of threads")
      ->check(CLI::Range(0.01, 3600.0));
  verb->add_option("--json", arguments->json, "write the report to this file as JSON");
  verb->add_flag("--quick", arguments->options.quick,
                 "small sizes and few repetitions: to see that it runs");
  verb->add_flag("--list", arguments->list, "name the rows and stop");
  verb->footer(
      "Example:\n"
      "  steepest bench adamw-fp32-gpt2 step-gpt2 --threads 1,2 --json bench.json\n"
      "\n"
      "Ratios are of the best repetitions; above 1, ours is faster. The whole table takes about\n"
      "ten minutes and 7 GB of memory; docs/performance.md says how to read it.");
  verb->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace steepest::apps
