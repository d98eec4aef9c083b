#include "steepest/train/evaluate.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace steepest::train {
namespace {

const ModelConfig kTiny{.layers = 1, .width = 16, .heads = 2, .context = 8};

TextData text(std::int64_t windows) {
  std::string bytes;
  for (int i = 0; i < 2000; ++i) bytes += static_cast<char>('a' + (i * i) % 26);
  return TextData::from_text(bytes, {.validation_fraction = 0.5, .validation_windows = windows}, 8,
                             "t");
}

TEST(Evaluate, EvenModelHasTheLossOfGuessing) {
  const Gpt model(kTiny, 1);
  at::Tensor head = model.params().find("lm_head.weight")->value.detach();
  head.zero_();
  EXPECT_NEAR(evaluate(model, text(7)), std::log(256.0), 1e-6);
}

TEST(Evaluate, IsTheMeanOverWindowsWhateverTheBatch) {
  const Gpt model(kTiny, 1);
  const auto data = text(45);  // a batch of 32 and one of 13
  double sum = 0;
  for (std::int64_t i = 0; i < 45; ++i) {
    at::Tensor window = at::empty({1, 9}, at::kLong);
    data.fill_validation(i, 1, std::span(window.data_ptr<std::int64_t>(), 9));
    sum += model.loss(window).item<double>();
  }
  EXPECT_NEAR(evaluate(model, data), sum / 45, 1e-6);
}

TEST(Evaluate, MakesNoGradient) {
  const Gpt model(kTiny, 1);
  evaluate(model, text(3));
  for (const auto& param : model.params()) EXPECT_FALSE(param.value.grad().defined());
}

}  // namespace
}  // namespace steepest::train
