#include "steepest/train/model.h"

#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "steepest/base/error.h"
#include "tests/support/errors.h"

namespace steepest::train {
namespace {

const ModelConfig kTiny{.layers = 2, .width = 16, .heads = 2, .context = 8};

at::Tensor value(const Gpt& model, const std::string& name) {
  const Param* param = model.params().find(name);
  EXPECT_NE(param, nullptr) << name;
  return param->value.detach();
}

double mean_square_root(const at::Tensor& tensor) {
  return std::sqrt(tensor.to(at::kDouble).square().mean().item<double>());
}

TEST(Gpt, HasTheAnchorsSizeAndNames) {
  const Gpt model({}, 1);
  EXPECT_EQ(model.parameter_count(), 869504);
  std::int64_t hidden = 0, matrices = 0;
  for (const auto& param : model.params()) {
    if (param.info.role != Role::kHidden) continue;
    hidden += param.info.numel();
    ++matrices;
  }
  EXPECT_EQ(hidden, 786432);
  EXPECT_EQ(matrices, 16);
  std::vector<std::string> names;
  const Gpt small({.layers = 1, .width = 8, .heads = 2, .context = 4}, 1);
  for (const auto& param : small.params()) names.push_back(param.info.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "wte.weight", "wpe.weight", "blocks.0.norm1.weight", "blocks.0.attn.qkv.weight",
                "blocks.0.attn.proj.weight", "blocks.0.norm2.weight", "blocks.0.mlp.up.weight",
                "blocks.0.mlp.down.weight", "norm.weight", "lm_head.weight"}));
}

TEST(Gpt, RolesFitTheOptimizers) {
  const Gpt model(kTiny, 1);
  const auto role = [&](const char* name) { return model.params().find(name)->info.role; };
  EXPECT_EQ(role("wte.weight"), Role::kEmbedding);
  EXPECT_EQ(role("wpe.weight"), Role::kEmbedding);
  EXPECT_EQ(role("blocks.0.norm1.weight"), Role::kNorm);
  EXPECT_EQ(role("blocks.1.mlp.down.weight"), Role::kHidden);
  EXPECT_EQ(role("norm.weight"), Role::kNorm);
  EXPECT_EQ(role("lm_head.weight"), Role::kOutput);
}

TEST(Gpt, StartsWithTheDocumentedDeviations) {
  const Gpt model({}, 3);
  // 4 layers: 1 / sqrt(2 * 4) for what writes to the residual stream.
  EXPECT_NEAR(mean_square_root(value(model, "blocks.0.attn.qkv.weight")), 0.5 / std::sqrt(128.0),
              5e-4);
  EXPECT_NEAR(mean_square_root(value(model, "blocks.3.attn.proj.weight")),
              0.5 / std::sqrt(128.0) / std::sqrt(8.0), 3e-4);
  EXPECT_NEAR(mean_square_root(value(model, "blocks.1.mlp.up.weight")), 0.5 / std::sqrt(128.0),
              5e-4);
  EXPECT_NEAR(mean_square_root(value(model, "blocks.2.mlp.down.weight")),
              0.5 / std::sqrt(512.0) / std::sqrt(8.0), 2e-4);
  for (const char* name : {"wte.weight", "wpe.weight", "lm_head.weight"})
    EXPECT_NEAR(mean_square_root(value(model, name)), 0.02, 5e-4) << name;
  EXPECT_TRUE(value(model, "blocks.0.norm2.weight").eq(1).all().item<bool>());
}

TEST(Gpt, StartIsAFunctionOfTheSeed) {
  const Gpt one(kTiny, 1), same(kTiny, 1), other(kTiny, 2);
  EXPECT_TRUE(value(one, "wte.weight").equal(value(same, "wte.weight")));
  EXPECT_FALSE(value(one, "wte.weight").equal(value(other, "wte.weight")));
  EXPECT_FALSE(value(one, "blocks.0.mlp.up.weight").equal(value(one, "blocks.1.mlp.up.weight")));
}

TEST(Gpt, StartsNearTheUniformLoss) {
  const Gpt model({}, 1);
  EXPECT_NEAR(model.loss(at::randint(0, 256, {4, 129}, at::kLong)).item<double>(), std::log(256.0),
              0.1);
}

TEST(Gpt, IsCausal) {
  const Gpt model(kTiny, 1);
  at::Tensor tokens = at::randint(0, 256, {1, 8}, at::kLong);
  const at::Tensor before = model.logits(tokens).detach().clone();
  tokens[0][5] = (tokens[0][5].item<std::int64_t>() + 1) % 256;
  const at::Tensor after = model.logits(tokens).detach();
  EXPECT_TRUE(before.narrow(1, 0, 5).equal(after.narrow(1, 0, 5)));
  EXPECT_FALSE(before.select(1, 5).equal(after.select(1, 5)));
  EXPECT_FALSE(before.select(1, 7).equal(after.select(1, 7)));  // later positions look back
}

TEST(Gpt, TakesShorterWindowsThanItsContext) {
  const Gpt model(kTiny, 1);
  EXPECT_EQ(model.logits(at::randint(0, 256, {3, 5}, at::kLong)).sizes(),
            (std::vector<std::int64_t>{3, 5, 256}));
}

TEST(Gpt, EveryParameterGetsAGradient) {
  const Gpt model(kTiny, 1);
  model.loss(at::randint(0, 256, {4, 9}, at::kLong)).backward();
  for (const auto& param : model.params()) {
    ASSERT_TRUE(param.value.grad().defined()) << param.info.name;
    EXPECT_GT(param.value.grad().abs().sum().item<double>(), 0) << param.info.name;
  }
}

TEST(Gpt, RefusesHeadsThatDoNotDivideTheWidth) {
  EXPECT_ERROR(ConfigError, Gpt({.layers = 1, .width = 10, .heads = 4, .context = 4}, 1),
               "model.width is 10; it must be a multiple of heads (4)");
}

}  // namespace
}  // namespace steepest::train
