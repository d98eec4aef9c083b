#include "steepest/kernels/packed_bf16.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

// Arrays of accumulators stay in registers only when their loops are gone.
#if defined(__clang__)
#define STEEPEST_UNROLL _Pragma("unroll")
#else
#define STEEPEST_UNROLL _Pragma("GCC unroll 8")
#endif
#define STEEPEST_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

namespace steepest::kernels {
namespace {

template <int kVectors>
STEEPEST_BF16 void tile_of(const std::uint32_t* left, std::size_t left_width,
                           const std::uint32_t* right, std::size_t pairs, float* tile) {
  __m512 sum[8][kVectors];
  STEEPEST_UNROLL
  for (int r = 0; r < 8; ++r) {
    STEEPEST_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_setzero_ps();
  }
  for (; pairs > 0; --pairs, left += left_width, right += 16 * kVectors) {
    __m512bh b[kVectors];
    STEEPEST_UNROLL
    for (int v = 0; v < kVectors; ++v)
      b[v] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(right + 16 * v));
    STEEPEST_UNROLL
    for (int r = 0; r < 8; ++r) {
      const auto a = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(left[r])));
      STEEPEST_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], a, b[v]);
    }
  }
  STEEPEST_UNROLL
  for (int r = 0; r < 8; ++r) {
    STEEPEST_UNROLL
    for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(tile + 16 * (r * kVectors + v), sum[r][v]);
  }
}

}  // namespace

Bf16Tile bf16_tile(std::size_t width) {
  static const bool has = __builtin_cpu_supports("avx512bf16") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (!has) return nullptr;
  return width == 48 ? tile_of<3> : width == 32 ? tile_of<2> : nullptr;
}

bool has_bf16_blocks() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 22 & 1) != 0;
}

}  // namespace steepest::kernels

#else

namespace steepest::kernels {
Bf16Tile bf16_tile(std::size_t) { return nullptr; }
bool has_bf16_blocks() { return false; }
}  // namespace steepest::kernels

#endif
