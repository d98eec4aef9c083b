#pragma once

#include <cstdint>
#include <vector>

namespace steepest::bench {

using Shape = std::vector<std::int64_t>;

/// GPT-2 small's 148 parameters, 124,439,808 values: two embeddings, twelve blocks of twelve, a
/// final norm. `scale` divides the width (768), for quick looks.
std::vector<Shape> gpt2_small(std::int64_t scale = 1);
/// Its 48 hidden matrices.
std::vector<Shape> gpt2_matrices(std::int64_t scale = 1);
/// The 16 hidden matrices of recipes/gpt.yaml.
std::vector<Shape> recipe_matrices();

}  // namespace steepest::bench
