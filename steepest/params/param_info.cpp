#include "steepest/params/param_info.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace steepest {
namespace {

std::string lower(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return all;
}

std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (;;) {
    const auto dot = name.find('.', start);
    parts.emplace_back(name.substr(start, dot - start));
    if (dot == std::string_view::npos) return parts;
    start = dot + 1;
  }
}

template <std::size_t N>
bool any_of(const std::string& word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

/// True inside one of several equal layers: "blocks.0.attn.output".
bool in_numbered_layer(const std::vector<std::string>& parts) {
  return std::ranges::any_of(parts, [](const std::string& part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
  });
}

}  // namespace

std::int64_t ParamInfo::numel() const {
  std::int64_t count = 1;
  for (const std::int64_t each : shape) count *= each;
  return count;
}

Role infer_role(std::string_view module, std::string_view name,
                const std::vector<std::int64_t>& shape) {
  const std::string kind = lower(module), all = lower(name);
  const std::vector<std::string> parts = parts_of(all);
  const std::string& last = parts.back();
  // The part that names the layer: the one before ".weight", or the last.
  const std::string& owner =
      parts.size() > 1 && (last == "weight" || last == "bias") ? parts[parts.size() - 2] : last;

  if (kind.find("embedding") != std::string::npos) return Role::kEmbedding;
  if (last == "bias" || last.ends_with("_bias")) return Role::kBias;
  if (kind.find("norm") != std::string::npos) return Role::kNorm;
  static constexpr std::array<std::string_view, 5> kEmbeddings{"wte", "wpe", "embed", "embedding",
                                                               "embeddings"};
  // embed_tokens, embed_positions; tok_embeddings, position_embedding, pos_embed, pos_emb ...
  const bool table = any_of(owner, kEmbeddings) || owner.starts_with("embed_") ||
                     owner.ends_with("_embed") || owner.ends_with("_emb") ||
                     owner.ends_with("_embedding") || owner.ends_with("_embeddings");
  static constexpr std::array<std::string_view, 3> kOutputs{"lm_head", "output_layer", "embed_out"};
  const bool output = all.find("lm_head") != std::string::npos || any_of(owner, kOutputs) ||
                      ((owner == "head" || owner == "output") && !in_numbered_layer(parts));
  if (shape.size() >= 2) {
    if (output) return Role::kOutput;
    // Four dimensions are a convolution over patches, whatever its name.
    if (kind.empty() && table && shape.size() < 4) return Role::kEmbedding;
    // A filter for each channel by itself: no matrix that mixes channels.
    const bool convolution =
        kind.find("conv") != std::string::npos || owner.find("conv") != std::string::npos;
    if (shape.size() == 3 && shape[1] == 1 && convolution) return Role::kVector;
    return Role::kHidden;
  }
  if (owner.find("norm") != std::string::npos || owner.starts_with("ln_") || owner == "ln")
    return Role::kNorm;
  return Role::kVector;
}

std::string canonical_name(std::string_view name) {
  std::string all(name);
  for (const std::string_view inner :
       {"_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."})
    for (auto at = all.find(inner); at != std::string::npos; at = all.find(inner))
      all.erase(at, inner.size());
  constexpr std::string_view kPrefix = "module.";
  while (all.starts_with(kPrefix)) all.erase(0, kPrefix.size());
  return all;
}

std::string anonymous_name(std::size_t index) { return "param." + std::to_string(index); }

}  // namespace steepest
