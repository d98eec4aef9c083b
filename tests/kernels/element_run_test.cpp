#include "steepest/kernels/element_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace steepest::kernels {
namespace {

const AdamScalars kAdam{.factor = 0.7f,
                        .decay = 0.999f,
                        .one_minus_b1 = 0.1f,
                        .b2 = 0.99f,
                        .one_minus_b2 = 0.01f,
                        .sqrt_c2 = 0.3f,
                        .eps = 1e-8f,
                        .step_size = -0.01f};

/// Memory for one parameter in any storage.
struct Memory {
  std::vector<std::byte> w, beside, g, s[2];
  std::vector<std::uint16_t> blocks[2];
  float scale[2] = {};
  ElementRun run;
};

std::size_t bytes_of(Format format) {
  switch (format) {
    case Format::kF32:
      return 4;
    case Format::kBF16:
    case Format::kF16:
    case Format::kF16Scaled:
      return 2;
    default:
      return 1;
  }
}

struct Storage {
  Format w;
  Residue residue;
  Format g;
  Format m, v;
};

/// Every kind of weight, gradient and state at least once, and what goes together in use.
const Storage kStorages[] = {
    {Format::kF32, Residue::kNone, Format::kF32, Format::kF32, Format::kF32},
    {Format::kBF16, Residue::kNone, Format::kBF16, Format::kBF16, Format::kBF16},
    {Format::kF16, Residue::kNone, Format::kF16, Format::kF16, Format::kF16},
    {Format::kBF16, Residue::kF32, Format::kBF16, Format::kF32, Format::kF32},
    {Format::kF16, Residue::kF32, Format::kF16, Format::kF32, Format::kF32},
    {Format::kBF16, Residue::kRemainder16, Format::kF32, Format::kF32, Format::kF32},
    {Format::kBF16, Residue::kRemainder16, Format::kBF16, Format::kBF16, Format::kBF16},
    {Format::kBF16, Residue::kError8, Format::kBF16, Format::kSoftsign8, Format::kSqrt8},
    {Format::kBF16, Residue::kError16, Format::kBF16, Format::kLinear8, Format::kSqrt8Published},
    {Format::kF16, Residue::kError8, Format::kF16, Format::kSoftsign8, Format::kSqrt8},
    {Format::kF16, Residue::kError16, Format::kF32, Format::kLinear8, Format::kSqrt8},
    {Format::kF32, Residue::kNone, Format::kBF16, Format::kSoftsign8, Format::kSqrt8},
    {Format::kF32, Residue::kNone, Format::kF32, Format::kE4M3Scaled, Format::kE4M3Scaled},
    {Format::kBF16, Residue::kF32, Format::kF32, Format::kF16Scaled, Format::kF16Scaled},
};

Memory make(const Storage& storage, std::size_t n) {
  Memory x;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto fill = [&](auto&& encode_into) {
    std::vector<float> values(n);
    for (float& each : values) each = normal(random);
    encode_into(values);
  };
  x.w.resize(n * 4);
  x.beside.resize(n * 4);
  x.run.w = {storage.w, x.w.data(), storage.residue, x.beside.data(), false};
  fill([&](const auto& v) { encode(x.run.w, 0, v.data(), n, {}); });
  x.g.resize(n * bytes_of(storage.g));
  x.run.g = {storage.g, x.g.data(), nullptr};
  fill([&](const auto& v) { encode(x.run.g, 0, v.data(), n); });
  const Format formats[] = {storage.m, storage.v};
  for (int k = 0; k < 2; ++k) {
    x.s[k].resize(n * bytes_of(formats[k]));
    x.blocks[k].resize((n + kBlock - 1) / kBlock);
    const bool scaled = formats[k] == Format::kE4M3Scaled || formats[k] == Format::kF16Scaled;
    x.scale[k] = 0.01f;
    x.run.s[k] = {formats[k], x.s[k].data(),
                  scaled ? static_cast<void*>(&x.scale[k]) : x.blocks[k].data(), 0.01f};
    fill([&](auto& v) {
      for (float& each : v) each = std::abs(0.1f * each);
      encode(x.run.s[k], 0, v.data(), n);
    });
  }
  x.run.count = n;
  return x;
}

/// Decoded, updated by the rule in fp32, encoded: what run must give.
void by_hand(Memory& x) {
  const std::size_t n = x.run.count;
  std::vector<float> w(n), g(n), m(n), v(n);
  decode(x.run.w, 0, w.data(), n);
  decode(x.run.g, 0, g.data(), n);
  decode(x.run.s[0], 0, m.data(), n);
  decode(x.run.s[1], 0, v.data(), n);
  adam(kAdam, {.count = n, .w = w.data(), .g = g.data(), .s = {m.data(), v.data()}});
  encode(x.run.w, 0, w.data(), n, x.run.draw);
  encode(x.run.s[0], 0, m.data(), n);
  encode(x.run.s[1], 0, v.data(), n);
}

bool same(const Memory& a, const Memory& b) {
  return a.w == b.w && a.beside == b.beside && a.s[0] == b.s[0] && a.s[1] == b.s[1] &&
         a.blocks[0] == b.blocks[0] && a.blocks[1] == b.blocks[1];
}

TEST(ElementRun, IsDecodeUpdateEncodeInEveryStorage) {
  for (const Storage& storage : kStorages)
    for (const std::size_t n :
         {std::size_t{1}, std::size_t{33}, std::size_t{512}, std::size_t{1301}}) {
      Memory fast = make(storage, n), slow = make(storage, n);
      for (int step = 0; step < 2; ++step) {
        run(tile_rule<AdamScalars, adam>(kAdam), fast.run);
        by_hand(slow);
      }
      EXPECT_TRUE(same(fast, slow)) << "storage " << &storage - kStorages << ", n " << n;
    }
}

TEST(ElementRun, PiecesAreTheWhole) {
  for (const Storage& storage : kStorages) {
    Memory whole = make(storage, 1301), cut = make(storage, 1301);
    run(tile_rule<AdamScalars, adam>(kAdam), whole.run);
    for (std::size_t first = 0; first < 1301;) {
      ElementRun piece = cut.run;
      piece.first = first;
      piece.count = std::min<std::size_t>(first == 0 ? 96 : 448, 1301 - first);
      run(tile_rule<AdamScalars, adam>(kAdam), piece);
      first += piece.count;
    }
    EXPECT_TRUE(same(whole, cut)) << "storage " << &storage - kStorages;
  }
}

TEST(ElementRun, RoundsByChanceWithTheElementsOwnBits) {
  const Storage storage{Format::kBF16, Residue::kNone, Format::kBF16, Format::kF32, Format::kF32};
  Memory fast = make(storage, 1301), slow = make(storage, 1301), nearest = make(storage, 1301);
  for (Memory* each : {&fast, &slow}) {
    each->run.w.stochastic = true;
    each->run.draw = {.seed = 5, .step = 6, .param = 7};
  }
  run(tile_rule<AdamScalars, adam>(kAdam), fast.run);
  by_hand(slow);
  by_hand(nearest);
  EXPECT_TRUE(same(fast, slow));
  EXPECT_FALSE(same(fast, nearest));
}

TEST(ElementRun, ClearsTheGradientWhenAsked) {
  for (const Storage& storage : kStorages) {
    Memory x = make(storage, 700);
    const std::vector<std::byte> before = x.g;
    ElementRun piece = x.run;
    piece.first = 64;
    piece.count = 600;
    run(tile_rule<AdamScalars, adam>(kAdam), piece);
    EXPECT_EQ(x.g, before);
    piece.clear_g = true;
    run(tile_rule<AdamScalars, adam>(kAdam), piece);
    const std::size_t width = bytes_of(storage.g);
    for (std::size_t i = 0; i < x.g.size(); ++i)
      ASSERT_EQ(x.g[i], i / width >= 64 && i / width < 664 ? std::byte{0} : before[i]) << i;
  }
}

TEST(ElementRun, MagnitudesAreThoseOfTheUpdateAndNothingIsWritten) {
  const Storage storage{Format::kF32, Residue::kNone, Format::kF32, Format::kE4M3Scaled,
                        Format::kF16Scaled};
  Memory x = make(storage, 1301), untouched = make(storage, 1301);
  float largest[3] = {};
  magnitudes(tile_rule<AdamScalars, adam>(kAdam), x.run, largest);
  EXPECT_TRUE(same(x, untouched));
  std::vector<float> w(1301), g(1301), m(1301), v(1301);
  decode(x.run.w, 0, w.data(), 1301);
  decode(x.run.g, 0, g.data(), 1301);
  decode(x.run.s[0], 0, m.data(), 1301);
  decode(x.run.s[1], 0, v.data(), 1301);
  adam(kAdam, {.count = 1301, .w = w.data(), .g = g.data(), .s = {m.data(), v.data()}});
  EXPECT_EQ(largest[0], largest_magnitude(m.data(), 1301));
  EXPECT_EQ(largest[1], largest_magnitude(v.data(), 1301));
  EXPECT_EQ(largest[2], 0.0f);
}

}  // namespace
}  // namespace steepest::kernels
