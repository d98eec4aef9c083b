#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace steepest {

/// The candidate that is most like `word` (Damerau-Levenshtein distance, case ignored, `-` and `_`
/// alike), or nothing where none is near: at most a third of the word's length away, at least 1, or
/// one contains the other.
std::optional<std::string> nearest(std::string_view word,
                                   std::span<const std::string_view> candidates);

}  // namespace steepest
