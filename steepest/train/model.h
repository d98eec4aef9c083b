#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "steepest/base/dtype.h"
#include "steepest/params/param_set.h"
#include "steepest/recipe/recipe.h"

namespace steepest::train {

/// Number of symbols of a byte-level model.
inline constexpr std::int64_t kVocabulary = 256;

/// The built-in model: a byte-level GPT. Learned positions, pre-norm with RMSNorm gains, attention
/// through scaled_dot_product_attention (causal), GELU with the tanh formula, no biases, an output
/// matrix of its own.
///
/// Names     wte.weight, wpe.weight,
/// blocks.N.{norm1,attn.qkv,attn.proj,norm2,mlp.up,mlp.down}.weight,
///           norm.weight, lm_head.weight
/// Start     hidden matrices normal with 0.5 / sqrt(columns), attn.proj and mlp.down further over
///           sqrt(2 * layers); embeddings, positions and output normal with 0.02; gains 1.
///           A pure function of the seed, the parameter and the element; 16-bit weights are these,
///           rounded.
/// Arithmetic is fp32 whatever the weights are kept as: 16-bit weights are widened where they are
/// used, and their gradients come back in `gradients`.
class Gpt {
 public:
  Gpt(const ModelConfig& config, std::uint64_t seed, Dtype weights = Dtype::kFloat32,
      Dtype gradients = Dtype::kFloat32);
  ~Gpt();
  Gpt(Gpt&&) noexcept;
  Gpt& operator=(Gpt&&) noexcept;

  /// tokens [batch, time] int64, time at most the context: logits [batch, time, 256].
  at::Tensor logits(const at::Tensor& tokens) const;
  /// windows [batch, context + 1] int64: mean nats a byte of predicting each byte but the first.
  at::Tensor loss(const at::Tensor& windows) const;

  /// The parameters, in the order of the names above; they share memory with the model.
  const ParamSet& params() const { return params_; }
  const ModelConfig& config() const { return config_; }
  std::int64_t parameter_count() const;

 private:
  struct Module;
  ModelConfig config_;
  std::shared_ptr<Module> module_;
  ParamSet params_;
};

}  // namespace steepest::train
