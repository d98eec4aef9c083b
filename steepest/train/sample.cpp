#include "steepest/train/sample.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <vector>

#include "steepest/base/random.h"

namespace steepest::train {
namespace {

constexpr std::uint64_t kSampleStream = 2;

at::Tensor as_tokens(const std::string& text, std::int64_t context) {
  const auto length = std::min(static_cast<std::int64_t>(text.size()), context);
  at::Tensor tokens = at::empty({1, length}, at::kLong);
  auto* out = tokens.data_ptr<std::int64_t>();
  const std::size_t first = text.size() - static_cast<std::size_t>(length);
  for (std::int64_t i = 0; i < length; ++i)
    out[i] = static_cast<unsigned char>(text[first + static_cast<std::size_t>(i)]);
  return tokens;
}

/// Length of the well-formed UTF-8 sequence at the front, or 0.
std::size_t utf8_length(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length > bytes.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(bytes[i]) & 0xC0) != 0x80) return 0;
  return length;
}

}  // namespace

std::string sample(const Gpt& model, std::string_view prompt, const SampleOptions& options) {
  const at::NoGradGuard no_grad;
  const CounterRandom random(options.seed);
  std::string text(prompt.empty() ? std::string_view("\n") : prompt);
  const std::size_t start = text.size();
  for (std::int64_t i = 0; i < options.bytes; ++i) {
    const at::Tensor last = model.logits(as_tokens(text, model.config().context)).select(1, -1)[0];
    const at::Tensor chances = at::softmax(last.to(at::kDouble).div(options.temperature), 0);
    const double* chance = chances.data_ptr<double>();
    double left = random.uniform(kSampleStream, static_cast<std::uint64_t>(i));
    std::int64_t byte = 0;
    while (byte < kVocabulary - 1 && (left -= chance[byte]) >= 0) ++byte;
    text += static_cast<char>(byte);
  }
  return text.substr(start);
}

std::string printable(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    const auto lead = static_cast<unsigned char>(bytes[0]);
    const bool control =
        length == 1 && (lead < 0x20 || lead == 0x7F) && lead != '\n' && lead != '\t';
    if (length == 0 || control) {
      text += '?';
      bytes.remove_prefix(1);
    } else {
      text += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
  return text;
}

}  // namespace steepest::train
