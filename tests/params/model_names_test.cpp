#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "steepest/params/param_info.h"

namespace steepest {
namespace {

// Parameters of published models and of Megatron-Core, by the names and owner kinds they have
// there: one of each sort that a model has and none before it.
struct Named {
  std::string name, module;
  std::vector<std::int64_t> shape;
  Role role;
};
const Named kPublished[] = {
    // deepseek-v3
    {"model.embed_tokens.weight", "embedding", {129280, 7168}, Role::kEmbedding},
    {"model.layers.0.self_attn.q_a_proj.weight", "linear", {1536, 7168}, Role::kHidden},
    {"model.layers.0.self_attn.q_a_layernorm.weight", "norm", {1536}, Role::kNorm},
    {"model.layers.0.self_attn.q_b_proj.weight", "linear", {24576, 1536}, Role::kHidden},
    {"model.layers.0.self_attn.kv_a_proj_with_mqa.weight", "linear", {576, 7168}, Role::kHidden},
    {"model.layers.0.self_attn.kv_a_layernorm.weight", "norm", {512}, Role::kNorm},
    {"model.layers.0.self_attn.kv_b_proj.weight", "linear", {32768, 512}, Role::kHidden},
    {"model.layers.0.self_attn.o_proj.weight", "linear", {7168, 16384}, Role::kHidden},
    {"model.layers.0.mlp.gate_proj.weight", "linear", {18432, 7168}, Role::kHidden},
    {"model.layers.0.mlp.up_proj.weight", "linear", {18432, 7168}, Role::kHidden},
    {"model.layers.0.mlp.down_proj.weight", "linear", {7168, 18432}, Role::kHidden},
    {"model.layers.0.input_layernorm.weight", "norm", {7168}, Role::kNorm},
    {"model.layers.0.post_attention_layernorm.weight", "norm", {7168}, Role::kNorm},
    {"model.layers.3.mlp.experts.gate_up_proj",
     "deepseekv3experts",
     {256, 4096, 7168},
     Role::kHidden},
    {"model.layers.3.mlp.experts.down_proj", "deepseekv3experts", {256, 7168, 2048}, Role::kHidden},
    {"model.layers.3.mlp.gate.weight", "deepseekv3topkrouter", {256, 7168}, Role::kHidden},
    {"model.layers.3.mlp.shared_experts.gate_proj.weight", "linear", {2048, 7168}, Role::kHidden},
    {"model.layers.3.mlp.shared_experts.up_proj.weight", "linear", {2048, 7168}, Role::kHidden},
    {"model.layers.3.mlp.shared_experts.down_proj.weight", "linear", {7168, 2048}, Role::kHidden},
    {"model.norm.weight", "norm", {7168}, Role::kNorm},
    {"lm_head.weight", "linear", {129280, 7168}, Role::kOutput},
    // gemma-2-2b
    {"model.layers.0.self_attn.q_proj.weight", "linear", {2048, 2304}, Role::kHidden},
    {"model.layers.0.self_attn.k_proj.weight", "linear", {1024, 2304}, Role::kHidden},
    {"model.layers.0.self_attn.v_proj.weight", "linear", {1024, 2304}, Role::kHidden},
    {"model.layers.0.pre_feedforward_layernorm.weight", "norm", {2304}, Role::kNorm},
    {"model.layers.0.post_feedforward_layernorm.weight", "norm", {2304}, Role::kNorm},
    // gpt-oss-20b
    {"model.layers.0.self_attn.sinks", "gptossattention", {64}, Role::kVector},
    {"model.layers.0.self_attn.q_proj.bias", "bias", {4096}, Role::kBias},
    {"model.layers.0.self_attn.k_proj.bias", "bias", {512}, Role::kBias},
    {"model.layers.0.self_attn.v_proj.bias", "bias", {512}, Role::kBias},
    {"model.layers.0.self_attn.o_proj.bias", "bias", {2880}, Role::kBias},
    {"model.layers.0.mlp.router.weight", "gptosstopkrouter", {32, 2880}, Role::kHidden},
    {"model.layers.0.mlp.router.bias", "bias", {32}, Role::kBias},
    {"model.layers.0.mlp.experts.gate_up_proj", "gptossexperts", {32, 2880, 5760}, Role::kHidden},
    {"model.layers.0.mlp.experts.gate_up_proj_bias", "bias", {32, 5760}, Role::kBias},
    {"model.layers.0.mlp.experts.down_proj", "gptossexperts", {32, 2880, 2880}, Role::kHidden},
    {"model.layers.0.mlp.experts.down_proj_bias", "bias", {32, 2880}, Role::kBias},
    // gpt2-small
    {"transformer.wte.weight", "embedding", {50257, 768}, Role::kEmbedding},
    {"transformer.wpe.weight", "embedding", {1024, 768}, Role::kEmbedding},
    {"transformer.h.0.ln_1.weight", "norm", {768}, Role::kNorm},
    {"transformer.h.0.ln_1.bias", "bias", {768}, Role::kBias},
    {"transformer.h.0.attn.c_attn.weight", "linear_transposed", {768, 2304}, Role::kHidden},
    {"transformer.h.0.attn.c_attn.bias", "bias", {2304}, Role::kBias},
    {"transformer.h.0.attn.c_proj.weight", "linear_transposed", {768, 768}, Role::kHidden},
    {"transformer.h.0.attn.c_proj.bias", "bias", {768}, Role::kBias},
    {"transformer.h.0.mlp.c_fc.weight", "linear_transposed", {768, 3072}, Role::kHidden},
    {"transformer.h.0.mlp.c_fc.bias", "bias", {3072}, Role::kBias},
    {"transformer.h.0.mlp.c_proj.weight", "linear_transposed", {3072, 768}, Role::kHidden},
    {"transformer.h.0.mlp.c_proj.bias", "bias", {768}, Role::kBias},
    {"transformer.ln_f.weight", "norm", {768}, Role::kNorm},
    {"transformer.ln_f.bias", "bias", {768}, Role::kBias},
    // mamba2-2.7b
    {"backbone.embeddings.weight", "embedding", {50288, 2560}, Role::kEmbedding},
    {"backbone.layers.0.norm.weight", "norm", {2560}, Role::kNorm},
    {"backbone.layers.0.mixer.dt_bias", "bias", {80}, Role::kBias},
    {"backbone.layers.0.mixer.A_log", "mamba2mixer", {80}, Role::kVector},
    {"backbone.layers.0.mixer.D", "mamba2mixer", {80}, Role::kVector},
    {"backbone.layers.0.mixer.conv1d.weight", "conv1d", {5376, 1, 4}, Role::kVector},
    {"backbone.layers.0.mixer.conv1d.bias", "bias", {5376}, Role::kBias},
    {"backbone.layers.0.mixer.in_proj.weight", "linear", {10576, 2560}, Role::kHidden},
    {"backbone.layers.0.mixer.norm.weight", "norm", {5120}, Role::kNorm},
    {"backbone.layers.0.mixer.out_proj.weight", "linear", {2560, 5120}, Role::kHidden},
    {"backbone.norm_f.weight", "norm", {2560}, Role::kNorm},
    // megatron-gpt-tied-tiny
    {"embedding.word_embeddings.weight", "embedding", {512, 64}, Role::kEmbedding},
    {"embedding.position_embeddings.weight", "embedding", {32, 64}, Role::kEmbedding},
    {"decoder.layers.0.input_layernorm.weight", "norm", {64}, Role::kNorm},
    {"decoder.layers.0.input_layernorm.bias", "bias", {64}, Role::kBias},
    {"decoder.layers.0.self_attention.linear_proj.weight", "linear", {64, 64}, Role::kHidden},
    {"decoder.layers.0.self_attention.linear_proj.bias", "bias", {64}, Role::kBias},
    {"decoder.layers.0.self_attention.linear_qkv.weight", "linear", {96, 64}, Role::kHidden},
    {"decoder.layers.0.self_attention.linear_qkv.bias", "bias", {96}, Role::kBias},
    {"decoder.layers.0.pre_mlp_layernorm.weight", "norm", {64}, Role::kNorm},
    {"decoder.layers.0.pre_mlp_layernorm.bias", "bias", {64}, Role::kBias},
    {"decoder.layers.0.mlp.linear_fc1.weight", "linear", {176, 64}, Role::kHidden},
    {"decoder.layers.0.mlp.linear_fc1.bias", "bias", {176}, Role::kBias},
    {"decoder.final_layernorm.weight", "norm", {64}, Role::kNorm},
    {"decoder.final_layernorm.bias", "bias", {64}, Role::kBias},
    // megatron-gpt-tiny
    {"output_layer.weight", "linear", {512, 64}, Role::kOutput},
    // megatron-llama-qknorm-tiny
    {"decoder.layers.0.self_attention.q_layernorm.weight", "norm", {8}, Role::kNorm},
    {"decoder.layers.0.self_attention.k_layernorm.weight", "norm", {8}, Role::kNorm},
    // megatron-mla-tiny
    {"decoder.layers.0.self_attention.linear_q_down_proj.weight", "linear", {8, 64}, Role::kHidden},
    {"decoder.layers.0.self_attention.linear_q_up_proj.weight", "linear", {48, 8}, Role::kHidden},
    {"decoder.layers.0.self_attention.linear_kv_down_proj.weight",
     "linear",
     {6, 64},
     Role::kHidden},
    {"decoder.layers.0.self_attention.linear_kv_up_proj.weight", "linear", {64, 4}, Role::kHidden},
    {"decoder.layers.0.self_attention.kv_layernorm.weight", "norm", {4}, Role::kNorm},
    // megatron-moe-tiny
    {"decoder.layers.1.mlp.router.weight", "topkrouter", {8, 64}, Role::kHidden},
    {"decoder.layers.1.mlp.experts.local_experts.0.linear_fc1.weight",
     "linear",
     {16, 64},
     Role::kHidden},
    {"decoder.layers.1.mlp.shared_experts.linear_fc1.weight", "linear", {32, 64}, Role::kHidden},
    // mixtral-8x7b
    {"model.layers.0.mlp.gate.weight", "mixtraltopkrouter", {8, 4096}, Role::kHidden},
    {"model.layers.0.mlp.experts.gate_up_proj", "mixtralexperts", {8, 28672, 4096}, Role::kHidden},
    {"model.layers.0.mlp.experts.down_proj", "mixtralexperts", {8, 4096, 14336}, Role::kHidden},
    // nemotron-4-15b
    {"model.layers.0.input_layernorm.bias", "bias", {6144}, Role::kBias},
    {"model.layers.0.post_attention_layernorm.bias", "bias", {6144}, Role::kBias},
    {"model.norm.bias", "bias", {6144}, Role::kBias},
    // nemotron-h-8b
    {"model.embeddings.weight", "embedding", {131072, 4096}, Role::kEmbedding},
    {"model.layers.0.norm.weight", "norm", {4096}, Role::kNorm},
    {"model.layers.0.mixer.dt_bias", "bias", {128}, Role::kBias},
    {"model.layers.0.mixer.A_log", "nemotronhmamba2mixer", {128}, Role::kVector},
    {"model.layers.0.mixer.D", "nemotronhmamba2mixer", {128}, Role::kVector},
    {"model.layers.0.mixer.conv1d.weight", "conv1d", {10240, 1, 4}, Role::kVector},
    {"model.layers.0.mixer.conv1d.bias", "bias", {10240}, Role::kBias},
    {"model.layers.0.mixer.in_proj.weight", "linear", {18560, 4096}, Role::kHidden},
    {"model.layers.0.mixer.norm.weight", "norm", {8192}, Role::kNorm},
    {"model.layers.0.mixer.out_proj.weight", "linear", {4096, 8192}, Role::kHidden},
    {"model.layers.1.mixer.up_proj.weight", "linear", {21504, 4096}, Role::kHidden},
    {"model.layers.1.mixer.down_proj.weight", "linear", {4096, 21504}, Role::kHidden},
    {"model.layers.7.mixer.q_proj.weight", "linear", {4096, 4096}, Role::kHidden},
    {"model.layers.7.mixer.k_proj.weight", "linear", {1024, 4096}, Role::kHidden},
    {"model.layers.7.mixer.v_proj.weight", "linear", {1024, 4096}, Role::kHidden},
    {"model.layers.7.mixer.o_proj.weight", "linear", {4096, 4096}, Role::kHidden},
    {"model.norm_f.weight", "norm", {4096}, Role::kNorm},
    // qwen3-0.6b
    {"model.layers.0.self_attn.q_norm.weight", "norm", {128}, Role::kNorm},
    {"model.layers.0.self_attn.k_norm.weight", "norm", {128}, Role::kNorm},
    // qwen3-30b-a3b
    {"model.layers.0.mlp.experts.gate_up_proj",
     "qwen3moeexperts",
     {128, 1536, 2048},
     Role::kHidden},
    {"model.layers.0.mlp.experts.down_proj", "qwen3moeexperts", {128, 2048, 768}, Role::kHidden},
    {"model.layers.0.mlp.gate.weight", "qwen3moetopkrouter", {128, 2048}, Role::kHidden},
};

// Names that other libraries and older models have; the kind is empty where they come from a file.
const Named kOthers[] = {
    {"decoder.layers.0.mlp.linear_fc1.layer_norm_weight", "", {64}, Role::kNorm},
    {"decoder.layers.0.mlp.linear_fc1.layer_norm_bias", "", {64}, Role::kBias},
    {"decoder.layers.0.mlp.experts.linear_fc1.weight3", "", {128, 64}, Role::kHidden},
    {"decoder.layers.0.mlp.router.expert_bias", "", {8}, Role::kBias},
    {"gpt_neox.embed_in.weight", "", {50432, 512}, Role::kEmbedding},
    {"embed_out.weight", "linear", {50432, 512}, Role::kOutput},
    {"embed_out.weight", "", {50432, 512}, Role::kOutput},
    {"tok_embeddings.weight", "", {32000, 64}, Role::kEmbedding},
    {"output.weight", "linear", {32000, 64}, Role::kOutput},
    {"layers.0.attention.output.weight", "linear", {64, 64}, Role::kHidden},
    {"blocks.3.head.weight", "linear", {64, 64}, Role::kHidden},
    {"head.weight", "linear", {1000, 64}, Role::kOutput},
    {"transformer.h.0.attn.Wqkv.weight", "linear", {192, 64}, Role::kHidden},
    {"backbone.layers.0.mixer.conv1d.weight", "", {5376, 1, 4}, Role::kVector},
    {"stem.conv.weight", "conv1d", {64, 80, 3}, Role::kHidden},
    {"experts.w1", "", {8, 1, 64}, Role::kHidden},
};

void expect_roles(std::span<const Named> all) {
  for (const Named& each : all)
    EXPECT_EQ(spelling(infer_role(each.module, each.name, each.shape)), spelling(each.role))
        << each.name << " of " << each.module;
}

TEST(ModelNames, PublishedModelsGetTheRolesThatAReaderWouldGive) { expect_roles(kPublished); }

// Without owners (tensors from a file) names and shapes say the same.
TEST(ModelNames, TheyDoSoWithoutKindsToo) {
  for (const Named& each : kPublished)
    EXPECT_EQ(spelling(infer_role("", each.name, each.shape)), spelling(each.role)) << each.name;
}

TEST(ModelNames, OtherLibrariesNames) { expect_roles(kOthers); }

}  // namespace
}  // namespace steepest
