#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>

#include "steepest/params/param_set.h"

namespace steepest {
namespace {

struct BlockImpl : torch::nn::Module {
  BlockImpl() {
    up = register_module("up", torch::nn::Linear(4, 8));
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({4})));
  }
  torch::nn::Linear up{nullptr};
  torch::nn::LayerNorm norm{nullptr};
};
TORCH_MODULE(Block);

struct Model : torch::nn::Module {
  Model() {
    wte = register_module("wte", torch::nn::Embedding(16, 4));
    block = register_module("block", Block());
    lm_head =
        register_module("lm_head", torch::nn::Linear(torch::nn::LinearOptions(4, 16).bias(false)));
    scale = register_parameter("scale", torch::ones({1}));
  }
  torch::nn::Embedding wte{nullptr};
  Block block{nullptr};
  torch::nn::Linear lm_head{nullptr};
  torch::Tensor scale;
};

TEST(ModuleBridge, KnowsNamesAndRoles) {
  Model model;  // on the stack: no shared owner
  const ParamSet set = ParamSet::from(model);
  std::map<std::string, Role> roles;
  for (const Param& each : set) roles[each.info.name] = each.info.role;
  EXPECT_EQ(roles, (std::map<std::string, Role>{{"scale", Role::kVector},
                                                {"wte.weight", Role::kEmbedding},
                                                {"block.up.weight", Role::kHidden},
                                                {"block.up.bias", Role::kBias},
                                                {"block.norm.weight", Role::kNorm},
                                                {"block.norm.bias", Role::kBias},
                                                {"lm_head.weight", Role::kOutput}}));
  EXPECT_TRUE(set.find("wte.weight")->value.is_same(model.wte->weight));
  EXPECT_EQ(set.size(), model.named_parameters().size());
}

struct Tied : torch::nn::Module {
  Tied() {
    wte = register_module("wte", torch::nn::Embedding(16, 4));
    tied = register_parameter("tied", wte->weight);
  }
  torch::nn::Embedding wte{nullptr};
  torch::Tensor tied;
};

TEST(ModuleBridge, TiedWeightsStandOnce) {
  const Tied model;
  const ParamSet set = ParamSet::from(model);
  ASSERT_EQ(set.size(), 1u);
  EXPECT_EQ(set[0].info.name, "tied");
  EXPECT_EQ(set[0].info.aliases, std::vector<std::string>{"wte.weight"});
}

}  // namespace
}  // namespace steepest
