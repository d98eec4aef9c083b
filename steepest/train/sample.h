#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "steepest/train/model.h"

namespace steepest::train {

/// Text drawn from a model.
struct SampleOptions {
  std::int64_t bytes = 320;
  double temperature = 0.8;  ///< above 0; logits are divided by it
  std::uint64_t seed = 1;
};

/// Bytes drawn one by one after `prompt` (not part of the result). A pure function of the weights,
/// prompt and options.
std::string sample(const Gpt& model, std::string_view prompt, const SampleOptions& options = {});

/// The same text safe for a terminal: valid UTF-8 and line ends stay, every other control or broken
/// byte becomes '?'.
std::string printable(std::string_view bytes);

}  // namespace steepest::train
