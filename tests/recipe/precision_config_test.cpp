#include "steepest/recipe/precision_config.h"

#include <gtest/gtest.h>

#include "steepest/base/error.h"
#include "steepest/recipe/recipe.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

PrecisionConfig read(const std::string& yaml) {
  Rules rules("precision");
  PrecisionConfig config = read_precision(parse_yaml(yaml, "r.yaml").root, rules);
  rules.enforce();
  return config;
}

TEST(PrecisionConfig, DefaultsDependOnTheWeights) {
  EXPECT_EQ(read("{}"), PrecisionConfig{});
  EXPECT_EQ(read("{}").master_format(), MasterFormat::kNone);
  const PrecisionConfig bf16 = read("weights: bfloat16");
  EXPECT_EQ(bf16.master_format(), MasterFormat::kFloat32);
  EXPECT_EQ(bf16.gradient_dtype(), Dtype::kBFloat16);
  EXPECT_EQ(bf16.loss_scale.mode, LossScaling::kNone);
  const PrecisionConfig fp16 = read("weights: float16");
  EXPECT_EQ(fp16.loss_scale.mode, LossScaling::kDynamic);
  EXPECT_EQ(read("{weights: bf16, stochastic_rounding: true}").master_format(),
            MasterFormat::kNone);
  EXPECT_EQ(read("{weights: bf16, masters: none}").master_format(), MasterFormat::kNone);
}

TEST(PrecisionConfig, LossScalesAreNumbersOrNames) {
  EXPECT_EQ(read("loss_scale: 128").loss_scale.mode, LossScaling::kConstant);
  EXPECT_EQ(read("loss_scale: 128").loss_scale.loss_scale, 128);
  EXPECT_EQ(read("{weights: fp16, loss_scale: none}").loss_scale.mode, LossScaling::kNone);
  const PrecisionConfig dynamic = read(
      "{loss_scale: dynamic, initial_loss_scale: 65536, loss_scale_window: 100, hysteresis: 1}");
  EXPECT_EQ(dynamic.loss_scale.mode, LossScaling::kDynamic);
  EXPECT_EQ(dynamic.loss_scale.initial_loss_scale, 65536);
  EXPECT_EQ(dynamic.loss_scale.loss_scale_window, 100);
  EXPECT_EQ(dynamic.loss_scale.hysteresis, 1);
}

TEST(PrecisionConfig, ReadsBackWhatItWrites) {
  for (const char* text :
       {"{}", "weights: bf16", "{weights: bf16, masters: none}",
        "{weights: fp16, masters: 24bit, states: int8}",
        "{weights: bf16, gradients: fp32, masters: remainder}", "loss_scale: 8",
        "{weights: bf16, stochastic_rounding: true}", "{weights: fp16, min_loss_scale: 4}"}) {
    const PrecisionConfig first = read(text);
    const Json written = write_precision(first);
    Rules rules("precision");
    const PrecisionConfig second = read_precision(written, rules);
    EXPECT_TRUE(rules.problems().empty()) << text << ": " << written.dump();
    EXPECT_EQ(write_precision(second), written) << text;
    EXPECT_EQ(second.master_format(), first.master_format()) << text;
    EXPECT_EQ(second.loss_scale, first.loss_scale) << text;
  }
}

TEST(PrecisionConfig, ReachesEveryRule) {
  const PrecisionConfig config = read("{weights: bf16, masters: 24bit, states: int8}");
  RuleOptions adamw = AdamWOptions{}, muon = MuonOptions{};
  config.apply(adamw, 7);
  config.apply(muon, 7);
  EXPECT_EQ(std::get<AdamWOptions>(adamw).states, StateFormat::kInt8);
  EXPECT_EQ(std::get<AdamWOptions>(adamw).masters, MasterFormat::k24Bit);
  EXPECT_EQ(std::get<AdamWOptions>(adamw).seed, 7);
  EXPECT_EQ(std::get<MuonOptions>(muon).masters, MasterFormat::k24Bit);
}

TEST(PrecisionConfig, RefusesWhatCannotBe) {
  EXPECT_ERROR(ConfigError, read("weights: int8"),
               "precision.weights is int8; it must be float32, bfloat16 or float16");
  EXPECT_ERROR(ConfigError, read("{weights: bf16, gradients: fp16}"),
               "precision.gradients is float16; it must be float32 or what the weights are");
  EXPECT_ERROR(
      ConfigError, read("masters: float32"),
      "precision.masters is float32; it must be none for float32 weights, which are their own "
      "masters");
  EXPECT_ERROR(
      ConfigError, read("{weights: fp16, masters: remainder}"),
      "precision.masters is remainder; it must be float32, 24bit or 32bit for float16 weights; "
      "a remainder is the low half of an fp32 number whose high half is bfloat16");
  EXPECT_ERROR(
      ConfigError, read("stochastic_rounding: true"),
      "precision.stochastic_rounding is true; it must be false unless weights are 16 bits wide "
      "and have no masters");
  EXPECT_ERROR(ConfigError, read("{loss_scale: dynamic, min_loss_scale: 1e12}"),
               "precision.min_loss_scale is 1000000000000; it must be at most initial_loss_scale");
  EXPECT_ERROR(ConfigError, read("loss_scale: often"),
               "precision.loss_scale is the text 'often'; it must be a number");
  EXPECT_ERROR(
      ConfigError, read("masters: remaindr"),
      "precision.masters is 'remaindr'; it must be one of none, float32, fp32, remainder, 24bit, "
      "32bit; did you mean 'remainder'?");
  EXPECT_ERROR(ConfigError, read("loss_scal: 1"),
               "precision.loss_scal is not known; did you mean 'loss_scale'?");
}

}  // namespace
}  // namespace steepest
