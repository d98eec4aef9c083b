#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "steepest/apps/commands.h"
#include "steepest/apps/output.h"
#include "steepest/report/inspect.h"

namespace steepest::apps {
namespace {

struct Arguments {
  std::string checkpoint;
  bool verify = false, json = false;
};

int run(const Arguments& arguments) {
  const InspectReport report = inspect(arguments.checkpoint, arguments.verify);
  print(arguments.json ? report.json().dump(2) + "\n" : report.text());
  return 0;
}

}  // namespace

void add_inspect_command(CLI::App& app, Action& action) {
  auto* verb = app.add_subcommand("inspect", "show what a checkpoint holds");
  auto arguments = std::make_shared<Arguments>();
  verb->add_option("CHECKPOINT", arguments->checkpoint, "a folder checkpoints/step-N of a run")
      ->required();
  verb->add_flag("--verify", arguments->verify, "compare every checksum with the bytes on disk");
  verb->add_flag("--json", arguments->json, "print the report as JSON");
  verb->footer(
      "Example:\n"
      "  steepest inspect runs/gpt/checkpoints/step-600 --verify\n"
      "\n"
      "Exit status: 0 done; 2 it is no checkpoint, or it is truncated or altered.");
  verb->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace steepest::apps
