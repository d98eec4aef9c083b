#include "steepest/train/memory_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <limits>

#include "steepest/base/dtype.h"
#include "steepest/base/error.h"
#include "steepest/train/model.h"

namespace steepest::train {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

}  // namespace

// parameters   P = L (12 W^2 + 2 W) + 2 V W + C W + W, each a weight and a gradient, and about a
//              KiB of bookkeeping for each of the 6 L tensors
// batch        of B windows: 8 of the tensors [B, C, W] that each block keeps, and two of logits
//              [B, C, V], in fp32
LeastMemory least_memory(const Recipe& recipe) {
  const auto layers = static_cast<double>(recipe.model.layers);
  const auto width = static_cast<double>(recipe.model.width);
  const auto context = static_cast<double>(recipe.model.context);
  const auto batch = static_cast<double>(
      recipe.step_scheduler.local_batch_size.value_or(recipe.step_scheduler.global_batch_size));
  const auto symbols = static_cast<double>(kVocabulary);
  const PrecisionConfig precision = recipe.precision.value_or(PrecisionConfig{});
  const auto bytes =
      static_cast<double>(size_of(precision.weights) + size_of(precision.gradient_dtype()));
  const double parameters =
      layers * (12 * width * width + 2 * width) + (2 * symbols + context + 1) * width;
  return {.parameters = parameters * bytes + 6 * layers * 1024,
          .batch = batch * context * (8 * layers * width + 2 * symbols) * 4};
}

void require_memory(const Recipe& recipe, double memory) {
  const LeastMemory least = least_memory(recipe);
  if (least.parameters + least.batch <= memory) return;
  const auto gib = [](double bytes) { return fmt::format("{:.4g} GiB", bytes / kGiB); };
  throw ConfigError(Problem{
      fmt::format("model: weights and gradients take at least {}, and a batch {}",
                  gib(least.parameters), gib(least.batch)),
      fmt::format("the machine has {} of memory", gib(memory)),
      least.parameters > least.batch
          ? "lower model.width or model.layers"
          : "lower step_scheduler.local_batch_size, which divides the batch, or model.context"});
}

double machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || size <= 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(pages) * static_cast<double>(size);
}

}  // namespace steepest::train
