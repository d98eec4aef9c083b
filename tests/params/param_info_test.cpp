#include "steepest/params/param_info.h"

#include <gtest/gtest.h>

namespace steepest {
namespace {

TEST(ParamInfo, RolesFollowFromOwnerNameAndShape) {
  EXPECT_EQ(infer_role("embedding", "wte.weight", {256, 64}), Role::kEmbedding);
  EXPECT_EQ(infer_role("", "model.embed_tokens.weight", {256, 64}), Role::kEmbedding);
  for (const char* name :
       {"wpe", "pos_embed", "tok_embeddings.weight", "position_embeddings.weight",
        "model.embed_positions.weight", "token_embedding.weight"})
    EXPECT_EQ(infer_role("", name, {256, 64}), Role::kEmbedding) << name;
  EXPECT_EQ(infer_role("", "pos_embed", {1, 256, 64}), Role::kEmbedding);
  EXPECT_EQ(infer_role("", "patch_embed.weight", {64, 3, 16, 16}), Role::kHidden);
  EXPECT_EQ(infer_role("linear", "time_embed.weight", {64, 64}), Role::kHidden);
  EXPECT_EQ(infer_role("linear", "lm_head.weight", {256, 64}), Role::kOutput);
  EXPECT_EQ(infer_role("linear", "output_layer.weight", {256, 64}), Role::kOutput);
  EXPECT_EQ(infer_role("linear", "blocks.0.attn.qkv.weight", {192, 64}), Role::kHidden);
  EXPECT_EQ(infer_role("conv2d", "stem.weight", {8, 3, 3, 3}), Role::kHidden);
  EXPECT_EQ(infer_role("norm", "blocks.0.norm1.weight", {64}), Role::kNorm);
  EXPECT_EQ(infer_role("", "h.0.ln_1.weight", {64}), Role::kNorm);
  EXPECT_EQ(infer_role("linear", "h.0.fc.bias", {64}), Role::kBias);
  EXPECT_EQ(infer_role("norm", "h.0.ln_1.bias", {64}), Role::kBias);
  EXPECT_EQ(infer_role("", "scale", {1}), Role::kVector);
}

TEST(ParamInfo, NamesLoseWhatWrappersAdd) {
  EXPECT_EQ(canonical_name("module.module.a.weight"), "a.weight");
  EXPECT_EQ(canonical_name("_orig_mod.a._fsdp_wrapped_module.b"), "a.b");
  EXPECT_EQ(canonical_name("a._checkpoint_wrapped_module.w"), "a.w");
  EXPECT_EQ(canonical_name("my_module.w"), "my_module.w");
  EXPECT_EQ(anonymous_name(3), "param.3");
}

TEST(ParamInfo, CountsElements) {
  EXPECT_EQ((ParamInfo{.shape = {3, 4}}.numel()), 12);
  EXPECT_EQ((ParamInfo{.shape = {}}.numel()), 1);
  EXPECT_EQ((ParamInfo{.shape = {1 << 16, 1 << 16}}.numel()), std::int64_t{1} << 32);
}

}  // namespace
}  // namespace steepest
