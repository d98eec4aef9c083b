#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "steepest/apps/commands.h"
#include "steepest/apps/output.h"
#include "steepest/base/error.h"
#include "steepest/recipe/recipe.h"
#include "steepest/train/progress.h"
#include "steepest/train/run_folder.h"
#include "steepest/train/signals.h"
#include "steepest/train/trainer.h"

namespace steepest::apps {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string recipe, out;
  std::vector<std::string> settings, compare;
  bool out_given = false, resume = false, json = false;
  int threads = 0;
};

/// A recipe names its text from the folder it is used in; one that is used from elsewhere names it
/// from its own folder or the folder above that.
std::string find_text(const std::string& path, const fs::path& recipe) {
  std::error_code error;
  if (fs::path(path).is_absolute() || fs::exists(path, error)) return path;
  const fs::path folder = fs::absolute(recipe).parent_path();
  for (const auto& base : {folder, folder.parent_path()})
    if (fs::exists(base / path, error)) return (base / path).string();
  return path;
}

int run(const Arguments& arguments) {
  if (arguments.out_given && arguments.out.empty())
    throw ConfigError(Problem{"--out is empty", "a run takes a folder of its own",
                              "name one, or leave --out away for runs/ and the recipe's name"});
  train::TrainRequest request;
  request.recipe = load_recipe(arguments.recipe, arguments.settings);
  request.recipe.dataset.path = find_text(request.recipe.dataset.path, arguments.recipe);
  request.out =
      arguments.out.empty() ? train::default_run_folder(arguments.recipe) : fs::path(arguments.out);
  request.resume = arguments.resume;
  request.threads = arguments.threads;
  request.compare.assign(arguments.compare.begin(), arguments.compare.end());
  auto progress = train::Progress::on(stderr);
  request.progress = &progress;
  const train::StopSignals signals;
  request.stop = [&] { return signals.received(); };
  const train::TrainSummary summary = train::train(request);
  print(arguments.json ? summary.to_json().dump(2) + "\n" : summary.text());
  return summary.exit_status();
}

}  // namespace

void add_train_command(CLI::App& app, Action& action) {
  auto* verb = app.add_subcommand("train", "train the built-in byte-level GPT by a recipe");
  auto arguments = std::make_shared<Arguments>();
  verb->add_option("RECIPE", arguments->recipe, "a YAML recipe")->required();
  auto* out = verb->add_option("--out", arguments->out,
                               "the run folder; default: runs/ and the recipe's name");
  verb->add_flag("--resume", arguments->resume,
                 "go on from the newest whole checkpoint of the run folder");
  verb->add_option("--set", arguments->settings,
                   "KEY=VALUE: change a key of the recipe, such as optimizer.lr=0.01; of two for "
                   "one key the last holds")
      ->type_size(1)
      ->allow_extra_args(false);
  verb->add_option("--threads", arguments->threads,
                   "threads of tensor operations; default: as many as cores")
      ->check(CLI::Range(1, 4096));
  verb->add_option("--compare", arguments->compare,
                   "run folder whose curves are drawn beside this run's")
      ->allow_extra_args(false);
  verb->add_flag("--json", arguments->json, "print the closing report as JSON");
  verb->footer(
      "Example:\n"
      "  steepest train recipes/gpt.yaml --set step_scheduler.max_steps=200 --out runs/short\n"
      "\n"
      "Exit status: 0 done; 1 the loss or a gradient became NaN; 2 the recipe, an argument or an "
      "input is wrong;\n"
      "130, 143 and 129 stopped by Ctrl-C, SIGTERM or a closed terminal, after saving.");
  verb->callback([arguments, out, &action] {
    arguments->out_given = out->count() > 0;
    action = [arguments] { return run(*arguments); };
  });
}

}  // namespace steepest::apps
