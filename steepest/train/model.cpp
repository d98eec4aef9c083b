#include "steepest/train/model.h"

#include <torch/torch.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "steepest/base/random.h"
#include "steepest/tensor/bridge.h"

namespace steepest::train {
namespace {

constexpr double kNormEps = 1e-5;
/// Streams of CounterRandom below this belong to data and sampling; parameter i takes kInitStream +
/// i.
constexpr std::uint64_t kInitStream = std::uint64_t{1} << 32;

/// A weight as the arithmetic wants it.
torch::Tensor wide(const torch::Tensor& weight) { return weight.to(torch::kFloat); }

torch::Tensor through(const torch::nn::Linear& layer, const torch::Tensor& x) {
  return torch::linear(x, wide(layer->weight));
}

torch::nn::Linear linear(std::int64_t in, std::int64_t out) {
  return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(false));
}

/// y = x / sqrt(mean(x^2) + eps) * weight
struct RMSNormImpl : torch::nn::Module {
  explicit RMSNormImpl(std::int64_t width) : torch::nn::Module("RMSNorm") {
    weight = register_parameter("weight", torch::ones({width}));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return at::rms_norm(x, {weight.size(0)}, wide(weight), kNormEps);
  }
  torch::Tensor weight;
};
TORCH_MODULE(RMSNorm);

struct AttentionImpl : torch::nn::Module {
  AttentionImpl(std::int64_t width, std::int64_t heads_) : heads(heads_) {
    qkv = register_module("qkv", linear(width, 3 * width));
    proj = register_module("proj", linear(width, width));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const auto batch = x.size(0), time = x.size(1), width = x.size(2);
    // [batch, time, 3, heads, width / heads] -> three of [batch, heads, time, width / heads]
    const auto parts =
        through(qkv, x).view({batch, time, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    const auto mixed = at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0,
                                                        /*is_causal=*/true);
    return through(proj, mixed.transpose(1, 2).reshape({batch, time, width}));
  }
  std::int64_t heads;
  torch::nn::Linear qkv = nullptr, proj = nullptr;
};
TORCH_MODULE(Attention);

struct MlpImpl : torch::nn::Module {
  explicit MlpImpl(std::int64_t width) {
    up = register_module("up", linear(width, 4 * width));
    down = register_module("down", linear(4 * width, width));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return through(down, at::gelu(through(up, x), "tanh"));
  }
  torch::nn::Linear up = nullptr, down = nullptr;
};
TORCH_MODULE(Mlp);

struct BlockImpl : torch::nn::Module {
  BlockImpl(std::int64_t width, std::int64_t heads) {
    norm1 = register_module("norm1", RMSNorm(width));
    attn = register_module("attn", Attention(width, heads));
    norm2 = register_module("norm2", RMSNorm(width));
    mlp = register_module("mlp", Mlp(width));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = x + attn->forward(norm1->forward(x));
    return x + mlp->forward(norm2->forward(x));
  }
  RMSNorm norm1 = nullptr, norm2 = nullptr;
  Attention attn = nullptr;
  Mlp mlp = nullptr;
};
TORCH_MODULE(Block);

bool ends_with_one_of(std::string_view name, std::initializer_list<std::string_view> ends) {
  for (const auto end : ends)
    if (name.ends_with(end)) return true;
  return false;
}

/// Standard deviation of a parameter's first values; 0: it starts at 1 (a gain).
double initial_deviation(std::string_view name, const torch::Tensor& value, std::int64_t layers) {
  if (value.dim() < 2) return 0;
  if (name.starts_with("wte.") || name.starts_with("wpe.") || name.starts_with("lm_head."))
    return 0.02;
  const double hidden = 0.5 / std::sqrt(static_cast<double>(value.size(1)));
  const bool writes_to_residual = ends_with_one_of(name, {"attn.proj.weight", "mlp.down.weight"});
  return writes_to_residual ? hidden / std::sqrt(2.0 * static_cast<double>(layers)) : hidden;
}

void initialize(torch::nn::Module& module, std::int64_t layers, std::uint64_t seed) {
  const torch::NoGradGuard no_grad;
  const CounterRandom random(seed);
  std::uint64_t stream = kInitStream;
  for (auto& item : module.named_parameters()) {
    const double deviation = initial_deviation(item.key(), item.value(), layers);
    if (deviation > 0) {
      float* values = item.value().data_ptr<float>();
      for (std::int64_t i = 0; i < item.value().numel(); ++i)
        values[i] =
            static_cast<float>(deviation * random.normal(stream, static_cast<std::uint64_t>(i)));
    }
    ++stream;
  }
}

}  // namespace

struct Gpt::Module : torch::nn::Module {
  explicit Module(const ModelConfig& c) {
    wte = register_module("wte", torch::nn::Embedding(kVocabulary, c.width));
    wpe = register_module("wpe", torch::nn::Embedding(c.context, c.width));
    blocks = register_module("blocks", torch::nn::ModuleList());
    for (std::int64_t i = 0; i < c.layers; ++i) {
      Block block(c.width, c.heads);
      blocks->push_back(block);
      order.push_back(block);
    }
    norm = register_module("norm", RMSNorm(c.width));
    lm_head = register_module("lm_head", linear(c.width, kVocabulary));
  }
  torch::Tensor forward(const torch::Tensor& tokens) {
    auto x = torch::embedding(wide(wte->weight), tokens) +
             wide(wpe->weight).narrow(0, 0, tokens.size(1));
    for (auto& block : order) x = block->forward(x);
    return through(lm_head, norm->forward(x));
  }
  torch::nn::Embedding wte = nullptr, wpe = nullptr;
  torch::nn::ModuleList blocks = nullptr;
  std::vector<Block> order;
  RMSNorm norm = nullptr;
  torch::nn::Linear lm_head = nullptr;
};

Gpt::Gpt(const ModelConfig& config, std::uint64_t seed, Dtype weights, Dtype gradients)
    : config_(config) {
  validate(config, "model");
  module_ = std::make_shared<Module>(config);
  initialize(*module_, config.layers, seed);
  if (weights != Dtype::kFloat32) module_->to(to_scalar_type(weights));
  if (gradients != weights)
    for (const torch::Tensor& each : module_->parameters())
      each.set_grad_dtype(to_scalar_type(gradients));
  params_ = ParamSet::from(*module_);
}
Gpt::~Gpt() = default;
Gpt::Gpt(Gpt&&) noexcept = default;
Gpt& Gpt::operator=(Gpt&&) noexcept = default;

at::Tensor Gpt::logits(const at::Tensor& tokens) const { return module_->forward(tokens); }

at::Tensor Gpt::loss(const at::Tensor& windows) const {
  const auto length = windows.size(1) - 1;
  const auto predicted = logits(windows.narrow(1, 0, length)).view({-1, kVocabulary});
  return at::cross_entropy_loss(predicted, windows.narrow(1, 1, length).reshape({-1}));
}

std::int64_t Gpt::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& param : params_) count += param.info.numel();
  return count;
}

}  // namespace steepest::train
