// Trains by a recipe and kills itself, as kill -9 does, at a chosen stage of a checkpoint being
// written.
//   train_killed RECIPE OUT STAGE     STAGE counts from 1 over all checkpoints; 0: none, prints
//   every stage
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "steepest/recipe/recipe.h"
#include "steepest/train/trainer.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int kill_at = std::stoi(argv[3]);
  int stage = 0;
  try {
    steepest::train::TrainRequest request;
    request.recipe = steepest::load_recipe(argv[1]);
    request.out = argv[2];
    request.threads = 1;
    request.observe_checkpoint = [&](std::string_view what) {
      if (kill_at == 0) std::printf("%.*s\n", static_cast<int>(what.size()), what.data());
      if (++stage == kill_at) std::raise(SIGKILL);
    };
    steepest::train::train(request);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
