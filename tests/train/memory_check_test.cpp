#include "steepest/train/memory_check.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "steepest/base/error.h"
#include "steepest/train/model.h"
#include "tests/support/errors.h"

namespace steepest::train {
namespace {

TEST(LeastMemory, CountsTheModelsParameters) {
  const Recipe recipe;
  const auto count = static_cast<double>(Gpt(recipe.model, 1).parameter_count());
  EXPECT_EQ(least_memory(recipe).parameters, 8 * count + 6 * 4 * 1024);
  // 16 windows of 128 bytes: four blocks of 8 * 128, and 2 * 256 logits, 4 bytes each.
  EXPECT_EQ(least_memory(recipe).batch, 16 * 128 * (4 * 8 * 128 + 2 * 256) * 4);
}

TEST(LeastMemory, SaysWhatDoesNotFitAndWhatToLower) {
  Recipe recipe;
  EXPECT_NO_THROW(require_memory(recipe, 1e9));
  recipe.model.width = 1 << 20;
  recipe.model.layers = 1;
  EXPECT_ERROR(ConfigError, require_memory(recipe, 16.0 * 1024 * 1024 * 1024),
               "model: weights and gradients take at least 9.831e+04 GiB, and a batch 64 GiB; the "
               "machine has 16 GiB of memory; lower model.width or model.layers");
  recipe.model = {};
  recipe.step_scheduler.global_batch_size = 1 << 20;
  EXPECT_ERROR(ConfigError, require_memory(recipe, 16.0 * 1024 * 1024 * 1024),
               "model: weights and gradients take at least 0.006501 GiB, and a batch 2304 GiB; the "
               "machine has 16 GiB of memory; lower step_scheduler.local_batch_size, which divides "
               "the batch, or model.context");
  recipe.step_scheduler.local_batch_size = 16;
  EXPECT_NO_THROW(require_memory(recipe, 1e9));
}

TEST(LeastMemory, NoNumberIsTooLarge) {
  Recipe recipe;
  const auto most = std::numeric_limits<std::int64_t>::max();
  recipe.model = {.layers = most, .width = most, .heads = 1, .context = most};
  recipe.step_scheduler.global_batch_size = most;
  EXPECT_THROW(require_memory(recipe, 1e15), ConfigError);
  EXPECT_GT(machine_memory(), 1e8);
}

}  // namespace
}  // namespace steepest::train
