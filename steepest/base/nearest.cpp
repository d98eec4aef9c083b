#include "steepest/base/nearest.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace steepest {
namespace {

std::string folded(std::string_view text) {
  std::string all;
  for (const char each : text)
    all += each == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  return all;
}

/// Insertions, deletions, substitutions and swaps of neighbours between two words (optimal string
/// alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word,
                                   std::span<const std::string_view> candidates) {
  // Nobody misspells a word of this length, and the table grows with its square.
  constexpr std::size_t kLongest = 256;
  if (word.empty() || word.size() > kLongest) return std::nullopt;
  const std::string mine = folded(word);
  const std::size_t limit = std::max<std::size_t>(1, mine.size() / 3);
  std::optional<std::string> best;
  std::size_t best_distance = limit + 1;
  for (const std::string_view each : candidates) {
    if (each.size() > kLongest) continue;
    const std::size_t away = distance(mine, folded(each));
    if (away < best_distance) {
      best_distance = away;
      best = std::string(each);
    }
  }
  if (best || mine.size() < 3) return best;
  // Else one that contains the word, or is contained in it: "decay" for "weight_decay".
  for (const std::string_view each : candidates) {
    const std::string theirs = folded(each);
    if (theirs.find(mine) != std::string::npos ||
        (theirs.size() >= 3 && mine.find(theirs) != std::string::npos))
      return std::string(each);
  }
  return std::nullopt;
}

}  // namespace steepest
