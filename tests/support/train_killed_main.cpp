// Trains by a recipe and sends itself a signal at a chosen stage of a checkpoint being written.
//   train_killed RECIPE OUT STAGE [SIGNAL]     STAGE counts from 1 over all checkpoints; 0: none,
//   prints every stage. SIGNAL is a number; without it SIGKILL.
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "steepest/recipe/recipe.h"
#include "steepest/train/signals.h"
#include "steepest/train/trainer.h"

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 2;
  const int signal = argc == 5 ? std::stoi(argv[4]) : SIGKILL;
  const int kill_at = std::stoi(argv[3]);
  int stage = 0;
  try {
    steepest::train::TrainRequest request;
    request.recipe = steepest::load_recipe(argv[1]);
    request.out = argv[2];
    request.threads = 1;
    request.observe_checkpoint = [&](std::string_view what) {
      if (kill_at == 0) std::printf("%.*s\n", static_cast<int>(what.size()), what.data());
      if (++stage == kill_at) std::raise(signal);
    };
    const steepest::train::StopSignals signals;
    request.stop = [&] { return signals.received(); };
    return steepest::train::train(request).exit_status();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
