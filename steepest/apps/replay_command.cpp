#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "steepest/apps/commands.h"
#include "steepest/apps/output.h"
#include "steepest/report/replay.h"

namespace steepest::apps {
namespace {

struct Arguments {
  std::vector<std::string> paths;
  bool json = false;
};

int run(const Arguments& arguments) {
  const ReplayReport report = replay({arguments.paths.begin(), arguments.paths.end()});
  print(arguments.json ? report.json().dump(2) + "\n" : report.text());
  return report.passed() ? 0 : 1;
}

}  // namespace

void add_replay_command(CLI::App& app, Action& action) {
  auto* verb = app.add_subcommand(
      "replay", "feed recorded gradients to our optimizers and compare with the record");
  auto arguments = std::make_shared<Arguments>();
  verb->add_option("FILE_OR_DIR", arguments->paths,
                   "recorded files (.safetensors), or folders of them")
      ->required();
  verb->add_flag("--json", arguments->json, "print the report as JSON");
  verb->footer(
      "Example:\n"
      "  steepest replay tests/golden\n"
      "\n"
      "Exit status: 0 all match; 1 a file does not match or cannot be run; 2 a path is wrong.");
  verb->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace steepest::apps
