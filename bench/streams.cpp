#include "bench/streams.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace steepest::bench {
namespace {

constexpr std::size_t kChunk = 1 << 16;

// Compiled for wide vectors where the processor has them.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define STEEPEST_WIDE __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
#define STEEPEST_WIDE
#endif

STEEPEST_WIDE float read_one(const float* __restrict a, std::size_t n) {
  float sums[32] = {};
  for (std::size_t i = 0; i + 32 <= n; i += 32)
    for (std::size_t k = 0; k < 32; ++k) sums[k] += a[i + k];
  float sum = 0;
  for (const float each : sums) sum += each;
  return sum;
}
STEEPEST_WIDE void read_two_write_one(const float* __restrict a, float* __restrict b,
                                      std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) b[i] = b[i] + 1e-30f * a[i];
}
STEEPEST_WIDE void read_three_write_two(const float* __restrict a, float* __restrict b,
                                        float* __restrict c, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float x = 1e-30f * a[i];
    c[i] = c[i] + x;
    b[i] = b[i] + x;
  }
}
STEEPEST_WIDE void read_four_write_three(const float* __restrict a, float* __restrict b,
                                         float* __restrict c, float* __restrict d, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float x = 1e-30f * a[i];
    b[i] = b[i] + x;
    c[i] = c[i] + x;
    d[i] = d[i] + x;
  }
}
STEEPEST_WIDE void read_four_write_four(float* __restrict a, float* __restrict b,
                                        float* __restrict c, float* __restrict d, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float x = 1e-30f * a[i];
    a[i] = a[i] + x;
    b[i] = b[i] + x;
    c[i] = c[i] + x;
    d[i] = d[i] + x;
  }
}

}  // namespace

void stream(const std::vector<Piece>& pieces, int reads, int writes) {
  struct Chunk {
    const Piece* piece;
    std::size_t first, count;
  };
  std::vector<Chunk> chunks;
  for (const Piece& piece : pieces)
    for (std::size_t first = 0; first < piece.count; first += kChunk)
      chunks.push_back({&piece, first, std::min(kChunk, piece.count - first)});
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> odd = false;
  at::parallel_for(0, at::get_num_threads(), 1, [&](std::int64_t, std::int64_t) {
    for (std::size_t c = next++; c < chunks.size(); c = next++) {
      const auto& [piece, first, count] = chunks[c];
      float* const a = piece->arrays[0] + first;
      const auto at = [&, first = first](int k) { return piece->arrays[k] + first; };
      if (writes == 0) {
        // The sum is looked at, so that it is worked out.
        if (read_one(a, count) == 1.2345f) odd = true;
      } else if (reads == 2) {
        read_two_write_one(a, at(1), count);
      } else if (reads == 3) {
        read_three_write_two(a, at(1), at(2), count);
      } else if (writes == 3) {
        read_four_write_three(a, at(1), at(2), at(3), count);
      } else {
        read_four_write_four(a, at(1), at(2), at(3), count);
      }
    }
  });
}

}  // namespace steepest::bench
