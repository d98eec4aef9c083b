#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "steepest/apps/commands.h"
#include "steepest/apps/output.h"
#include "steepest/base/error.h"
#include "steepest/base/nearest.h"
#include "steepest/base/version.h"

namespace {

constexpr int kUsage = 2;

/// A verb that does not exist, with the nearest one that does; empty if the first argument is none.
std::string unknown_verb(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]).starts_with('-')) return "";
  std::vector<std::string> names;
  for (const auto* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return "";
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto nearest = steepest::nearest(argv[1], views);
  return "there is no verb '" + std::string(argv[1]) + "'; " +
         (nearest ? "the nearest is '" + *nearest + "'" : "steepest --help lists them");
}

int parse(CLI::App& app, int argc, char** argv) {
  if (const std::string problem = unknown_verb(app, argc, argv); !problem.empty()) {
    steepest::apps::print_error(problem);
    return kUsage;
  }
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::Success& done) {  // --help, --version
    const int status = app.exit(done);
    if (!std::cout.flush()) steepest::apps::print_error("standard output cannot be written");
    return std::cout ? status : kUsage;
  } catch (const CLI::ParseError& problem) {
    steepest::apps::print_error(std::string(problem.what()) + "; steepest " +
                                (argc > 1 ? std::string(argv[1]) + " " : "") +
                                "--help shows what there is");
    return kUsage;
  }
}

}  // namespace

int main(int argc, char** argv) {
  // A closed pipe is an error of the write that meets it, not the end of the process: a run goes on
  // without its reader.
  std::signal(SIGPIPE, SIG_IGN);
  // So is a file that would grow beyond a limit (ulimit -f).
  std::signal(SIGXFSZ, SIG_IGN);
  // A closed standard stream's number would go to the first file that is opened, and what is meant
  // for people would land in it.
  for (int file = 0; file <= 2; ++file)
    if (::fcntl(file, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0) return kUsage;
  CLI::App app("Steepest: the optimizer step of large-model training", "steepest");
  app.set_version_flag("--version", std::string("steepest ") + steepest::kVersion);
  app.footer(
      "Example:\n  steepest train recipes/gpt.yaml\n\nsteepest VERB --help tells more of each "
      "verb.");
  app.require_subcommand(1);
  steepest::apps::Action action;
  steepest::apps::add_train_command(app, action);
  steepest::apps::add_replay_command(app, action);
  steepest::apps::add_inspect_command(app, action);
  steepest::apps::add_bench_command(app, action);
  if (const int status = parse(app, argc, argv); status != 0 || !action) return status;
  try {
    return action();
  } catch (const steepest::Error& error) {
    steepest::apps::print_problems(error);
    return error.exit_status();
  } catch (const std::exception& error) {
    const std::string_view what = error.what();
    steepest::apps::print_error(what.substr(0, what.find('\n')));
    return 1;
  }
}
