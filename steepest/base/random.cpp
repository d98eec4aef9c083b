#include "steepest/base/random.h"

#include <array>
#include <cmath>
#include <numbers>

namespace steepest {
namespace {

using Block = std::array<std::uint32_t, 4>;

/// Philox4x32-10: ten rounds of two 32x32 multiplications, the key bumped between them.
Block philox(Block counter, std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMul0 = 0xD2511F53, kMul1 = 0xCD9E8D57;
  constexpr std::uint32_t kBump0 = 0x9E3779B9, kBump1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = kMul0 * counter[0], p1 = kMul1 * counter[2];
    counter = {
        static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += kBump0;
    key[1] += kBump1;
  }
  return counter;
}

Block block(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return philox({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                 static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

std::uint64_t join(std::uint32_t low, std::uint32_t high) {
  return low | std::uint64_t{high} << 32;
}

/// 53 random bits as a fraction in [0, 1).
double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

}  // namespace

std::uint64_t CounterRandom::bits(std::uint64_t stream, std::uint64_t index) const {
  const Block b = block(seed_, stream, index);
  return join(b[0], b[1]);
}

std::uint64_t CounterRandom::below(std::uint64_t bound, std::uint64_t stream,
                                   std::uint64_t index) const {
  // The high word of a 64x64 product, in halves: bits * bound / 2^64.
  const std::uint64_t x = bits(stream, index);
  const std::uint64_t xl = x & 0xffffffff, xh = x >> 32, bl = bound & 0xffffffff, bh = bound >> 32;
  const std::uint64_t middle = xh * bl + ((xl * bl) >> 32);
  const std::uint64_t middle2 = xl * bh + (middle & 0xffffffff);
  return xh * bh + (middle >> 32) + (middle2 >> 32);
}

double CounterRandom::uniform(std::uint64_t stream, std::uint64_t index) const {
  return unit(bits(stream, index));
}

double CounterRandom::normal(std::uint64_t stream, std::uint64_t index) const {
  const Block b = block(seed_, stream, index);
  // 1 - u is in (0, 1], so that the logarithm is finite.
  const double radius = std::sqrt(-2 * std::log(1 - unit(join(b[0], b[1]))));
  return radius * std::cos(2 * std::numbers::pi * unit(join(b[2], b[3])));
}

}  // namespace steepest
