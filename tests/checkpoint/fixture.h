#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "steepest/checkpoint/checkpoint.h"

namespace steepest::test {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A small state whose bytes all depend on `step` and `seed`, so that a mixture of two is seen.
class State {
 public:
  explicit State(std::int64_t step, char seed = 'a')
      : weight_(48, static_cast<char>(seed + step)),
        average_(48, static_cast<char>(seed + step + 1)),
        count_(8, static_cast<char>(seed + step + 2)) {
    content_.step = step;
    content_.pieces = {
        {whole_piece("layer.weight", "param", Dtype::kFloat32, {3, 4}), bytes_of(weight_)},
        {whole_piece("layer.weight", "exp_avg", Dtype::kFloat32, {3, 4}), bytes_of(average_)},
        {whole_piece("layer.weight", "step", Dtype::kInt64, {}), bytes_of(count_)},
        {whole_piece("bias", "param", Dtype::kBFloat16, {0}), {}}};
    content_.values = {{"seed", std::string(1, seed)}, {"lr", 0.1 * static_cast<double>(step)}};
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  CheckpointContent& content() { return content_; }
  const CheckpointContent& content() const { return content_; }
  std::filesystem::path save(const std::filesystem::path& parent,
                             const WriteObserver& observe = {}) const {
    return save_checkpoint(parent, content_, observe);
  }
  /// Whether `checkpoint` holds this state, all of it and nothing else.
  bool is(const Checkpoint& checkpoint) const {
    if (checkpoint.step() != content_.step || checkpoint.values() != content_.values ||
        checkpoint.pieces().size() != content_.pieces.size())
      return false;
    return std::ranges::all_of(content_.pieces, [&](const Piece& each) {
      const auto found = checkpoint.find(each.info.name, each.info.state);
      return found && found->info == each.info && text_of(found->bytes) == text_of(each.bytes);
    });
  }

 private:
  std::string weight_, average_, count_;
  CheckpointContent content_;
};

/// The names in a folder.
inline std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& each : std::filesystem::directory_iterator(folder))
    names.insert(each.path().filename().string());
  return names;
}

}  // namespace steepest::test
