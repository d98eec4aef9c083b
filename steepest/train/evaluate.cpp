#include "steepest/train/evaluate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <span>

namespace steepest::train {

namespace {
constexpr std::int64_t kWindowsAtOnce = 32;
}  // namespace

double evaluate(const Gpt& model, const TextData& data) {
  const at::NoGradGuard no_grad;
  const auto windows = static_cast<std::int64_t>(data.validation_starts().size());
  double sum = 0;
  for (std::int64_t first = 0; first < windows; first += kWindowsAtOnce) {
    const auto count = std::min(kWindowsAtOnce, windows - first);
    at::Tensor batch = at::empty({count, data.window()}, at::kLong);
    data.fill_validation(
        first, count,
        std::span(batch.data_ptr<std::int64_t>(), static_cast<std::size_t>(batch.numel())));
    sum += static_cast<double>(count) * model.loss(batch).item<double>();
  }
  return sum / static_cast<double>(windows);
}

}  // namespace steepest::train
