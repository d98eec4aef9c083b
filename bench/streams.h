#pragma once

#include <cstddef>
#include <vector>

namespace steepest::bench {

/// Memory that a stream goes through: `count` fp32 values in each array.
struct Piece {
  float* arrays[4] = {};
  std::size_t count = 0;
};

/// Reads `reads` arrays of every piece and writes the last `writes` of them in place, with trivial
/// arithmetic, over libtorch's threads: what the machine's memory gives to such an access. Values
/// stay near what they were. There are (reads, writes) = (1, 0), (2, 1), (3, 2), (4, 3) and (4, 4).
void stream(const std::vector<Piece>& pieces, int reads, int writes);

}  // namespace steepest::bench
