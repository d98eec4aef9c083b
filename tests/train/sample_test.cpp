#include "steepest/train/sample.h"

#include <gtest/gtest.h>

#include <string>

namespace steepest::train {
namespace {

const ModelConfig kTiny{.layers = 1, .width = 16, .heads = 2, .context = 8};

TEST(Sample, IsAFunctionOfWeightsPromptAndSeed) {
  const Gpt model(kTiny, 1);
  const std::string one = sample(model, "ab", {.bytes = 30, .seed = 5});
  EXPECT_EQ(one.size(), 30u);
  EXPECT_EQ(one, sample(model, "ab", {.bytes = 30, .seed = 5}));
  EXPECT_NE(one, sample(model, "ab", {.bytes = 30, .seed = 6}));
}

TEST(Sample, DrawsEvenlyWhereAllBytesAreAsLikely) {
  const Gpt model(kTiny, 1);
  at::Tensor head = model.params().find("lm_head.weight")->value.detach();
  head.zero_();
  const std::string even = sample(model, "a", {.bytes = 200, .seed = 1});
  std::size_t below = 0;
  for (const char byte : even) below += static_cast<unsigned char>(byte) < 128 ? 1 : 0;
  EXPECT_GT(below, 70u);  // 100 expected, deviation 7
  EXPECT_LT(below, 130u);
}

TEST(Sample, TemperatureSharpens) {
  const Gpt model(kTiny, 1);
  const std::string cold = sample(model, "a", {.bytes = 12, .temperature = 1e-6, .seed = 1});
  EXPECT_EQ(cold, sample(model, "a", {.bytes = 12, .temperature = 1e-6, .seed = 99}));
}

TEST(Sample, PrintableKeepsTextAndHidesTheRest) {
  EXPECT_EQ(printable("plain\n\ttext"), "plain\n\ttext");
  EXPECT_EQ(printable("gr\xC3\xBC\xC3\x9F"), "gr\xC3\xBC\xC3\x9F");
  EXPECT_EQ(printable("\xF0\x9F\x99\x82"), "\xF0\x9F\x99\x82");
  EXPECT_EQ(printable("\xC3"), "?");  // cut short
  EXPECT_EQ(printable("\xC3(\xFF\x80"), "?(??");
  EXPECT_EQ(printable("\x1B[2J\r\x7F"), "?[2J??");
  EXPECT_EQ(printable(std::string("\0a", 2)), "?a");
}

}  // namespace
}  // namespace steepest::train
