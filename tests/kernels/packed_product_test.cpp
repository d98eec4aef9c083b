#include "steepest/kernels/packed_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "steepest/kernels/codecs.h"
#include "tests/support/every_target.h"

namespace steepest::kernels {
namespace {

using test::on_every_target;

constexpr std::uint32_t kCanary = 0xdeadbeef;

/// A packed matrix of zeros with a mark behind it.
struct Holder {
  Packed m;
  std::vector<std::uint32_t> units;
  Holder(std::size_t rows, std::size_t columns, Unit unit)
      : m{.rows = rows, .columns = columns, .width = panel_width(rows), .unit = unit} {
    units.assign(m.size() + 1, 0);
    units.back() = kCanary;
    m.units = units.data();
  }
  bool whole() const { return units.back() == kCanary; }
};

struct Values {
  std::size_t rows, columns;
  std::vector<float> of;
  Values(std::size_t r, std::size_t c, unsigned seed) : rows(r), columns(c), of(r * c) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (float& each : of) each = normal(random);
  }
  PlainMatrix plain() { return {Format::kF32, of.data(), rows, columns, columns}; }
};

/// v packed, and its transpose.
struct Both {
  Holder rows, columns;
  Both(Values v, Unit unit, double scale = 1)
      : rows(v.rows, v.columns, unit), columns(v.columns, v.rows, unit) {
    for (std::size_t s = 0; s < whole_tiles(v.rows) / kTileRows; ++s)
      pack_strip(v.plain(), scale, rows.m, columns.m, s);
  }
};

void multiply(const Product& p) {
  for (std::size_t t = 0; t < p.tiles(); ++t) multiply_tile(p, t);
}

double exact(const Packed& l, const Packed& r, std::size_t i, std::size_t j, double* size) {
  double sum = 0;
  *size = 0;
  for (std::size_t k = 0; k < l.columns; ++k) {
    const double each = static_cast<double>(element(l, i, k)) * element(r, j, k);
    sum += each;
    *size += std::abs(each);
  }
  return sum;
}

const std::size_t kShapes[][3] = {{1, 1, 1},    {3, 5, 2},    {8, 32, 8},   {49, 47, 50},
                                  {50, 97, 33}, {96, 48, 64}, {61, 130, 19}};

TEST(PackedProduct, PacksAndRoundsOnce) {
  for (const Unit unit : {Unit::kF32, Unit::kBF16Pair})
    for (const auto& [m, n, unused] : kShapes)
      on_every_target([&, m = m, n = n](const std::string& target) {
        const Values v(m, n, 1);
        const Both packed(v, unit, 0.3);
        ASSERT_TRUE(packed.rows.whole() && packed.columns.whole());
        for (std::size_t i = 0; i < whole_tiles(m); ++i)
          for (std::size_t j = 0; j < whole_tiles(n); ++j) {
            float want = i < m && j < n ? static_cast<float>(0.3 * v.of[i * n + j]) : 0.0f;
            if (unit == Unit::kBF16Pair) {
              std::uint16_t narrow = 0;
              encode_bf16(&want, &narrow, 1);
              decode_bf16(&narrow, &want, 1);
            }
            ASSERT_EQ(element(packed.rows.m, i, j), want) << target << ' ' << i << ' ' << j;
            ASSERT_EQ(element(packed.columns.m, j, i), want) << target << ' ' << i << ' ' << j;
          }
      });
}

TEST(PackedProduct, PacksSixteenBitSources) {
  const std::size_t m = 11, n = 52;
  Values v(m, n, 2);
  std::vector<std::uint16_t> narrow(m * n);
  for (const Format format : {Format::kBF16, Format::kF16}) {
    format == Format::kBF16 ? encode_bf16(v.of.data(), narrow.data(), m * n)
                            : encode_fp16(v.of.data(), narrow.data(), m * n);
    Values wide = v;
    format == Format::kBF16 ? decode_bf16(narrow.data(), wide.of.data(), m * n)
                            : decode_fp16(narrow.data(), wide.of.data(), m * n);
    Holder rows(m, n, Unit::kF32), columns(n, m, Unit::kF32);
    for (const std::size_t s : {0, 1})
      pack_strip({format, narrow.data(), m, n, n}, 2, rows.m, columns.m, s);
    EXPECT_EQ(rows.units, Both(wide, Unit::kF32, 2).rows.units);
    EXPECT_EQ(columns.units, Both(wide, Unit::kF32, 2).columns.units);
  }
}

// Below 2^-126 and above 2^127 of the scale: the quotient is right as long as it is an fp32 value.
TEST(PackedProduct, ScalesTheSmallestAndTheLargest) {
  Values v(1, 2, 0);
  v.of = {1e-40f, 3e38f};
  const float tiny = v.of[0];
  EXPECT_EQ(element(Both(v, Unit::kF32, 1e40).rows.m, 0, 0),
            static_cast<float>(static_cast<double>(tiny) * 1e40));
  EXPECT_FLOAT_EQ(element(Both(v, Unit::kF32, 1e-38).rows.m, 0, 1), 3);
}

// fp32: error below k eps times the sum of magnitudes. bf16: that, and half an ulp (2^-9).
TEST(PackedProduct, IsTheProductOnEveryInstructionSet) {
  for (const Unit unit : {Unit::kF32, Unit::kBF16Pair})
    for (const auto& [m, n, k] : kShapes) {
      const Both l(Values(m, k, 3), unit), r(Values(n, k, 4), unit), c(Values(m, n, 5), unit);
      on_every_target([&, m = m, n = n, k = k](const std::string& target) {
        Holder rows(m, n, unit), columns(n, m, unit);
        std::vector<float> plain(m * (n + 2), -7.0f);
        multiply({.left = l.rows.m,
                  .right = r.rows.m,
                  .scale = -0.5f,
                  .add = c.columns.m,
                  .beta = 3,
                  .columns = columns.m,
                  .rows = rows.m,
                  .plain = {Format::kF32, plain.data(), m, n, n + 2}});
        ASSERT_TRUE(rows.whole() && columns.whole());
        for (std::size_t i = 0; i < m; ++i) {
          for (std::size_t j = 0; j < n; ++j) {
            double size = 0;
            const double added = 3.0 * element(c.rows.m, i, j);
            const double want = -0.5 * exact(l.rows.m, r.rows.m, i, j, &size) + added;
            const double bound =
                6e-8 * (static_cast<double>(k) * size + 2 * std::abs(added) + 1e-9);
            ASSERT_NEAR(plain[i * (n + 2) + j], want, bound) << target << ' ' << i << ' ' << j;
            ASSERT_NEAR(element(rows.m, i, j), plain[i * (n + 2) + j],
                        unit == Unit::kF32 ? 0 : std::abs(want) / 250);
            ASSERT_EQ(element(rows.m, i, j), element(columns.m, j, i));
          }
          ASSERT_EQ(plain[i * (n + 2) + n], -7.0f);
        }
        // What is filled up stays zero, so that it adds nothing to the next product.
        for (std::size_t i = 0; i < whole_tiles(m); ++i)
          for (std::size_t j = 0; j < whole_tiles(n); ++j)
            if (i >= m || j >= n) {
              ASSERT_EQ(element(rows.m, i, j), 0);
            }
      });
    }
}

TEST(PackedProduct, ReadsAndScalesWithoutAnAddend) {
  const Both l(Values(20, 30, 6), Unit::kF32), r(Values(50, 30, 7), Unit::kF32);
  std::vector<float> one(20 * 50), twice(20 * 50);
  multiply({.left = l.rows.m, .right = r.rows.m, .plain = {Format::kF32, one.data(), 20, 50, 50}});
  multiply({.left = l.rows.m,
            .right = r.rows.m,
            .scale = 2,
            .plain = {Format::kF32, twice.data(), 20, 50, 50}});
  for (std::size_t i = 0; i < one.size(); ++i) ASSERT_EQ(twice[i], 2 * one[i]);
  std::vector<std::uint16_t> narrow(20 * 50), want(20 * 50);
  multiply(
      {.left = l.rows.m, .right = r.rows.m, .plain = {Format::kBF16, narrow.data(), 20, 50, 50}});
  encode_bf16(one.data(), want.data(), want.size());
  EXPECT_EQ(narrow, want);
}

// Half of the tiles, the same values, symmetric to the bit; also where rounding would not make it
// so: P and its square times itself commute, but their sums run in other orders.
TEST(PackedProduct, SymmetricProductsAreTheirOwnTranspose) {
  for (const Unit unit : {Unit::kF32, Unit::kBF16Pair})
    for (const std::size_t n : {1, 5, 32, 48, 70, 130, 150})
      on_every_target([&](const std::string& target) {
        const Both x(Values(n, 2 * n + 3, 8), unit);
        Holder a(n, n, unit), b(n, n, unit), whole(n, n, unit), c(n, n, unit);
        multiply({.left = x.rows.m,
                  .right = x.rows.m,
                  .scale = 0.01f,
                  .columns = a.m,
                  .rows = a.m,
                  .symmetric = true});
        multiply({.left = a.m,
                  .right = a.m,
                  .scale = 0.1f,
                  .add = a.m,
                  .beta = -1,
                  .columns = b.m,
                  .rows = b.m,
                  .symmetric = true});
        multiply({.left = a.m, .right = b.m, .columns = c.m, .rows = c.m, .symmetric = true});
        multiply({.left = a.m, .right = b.m, .rows = whole.m});
        ASSERT_TRUE(a.whole() && b.whole() && c.whole());
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t j = 0; j <= i; ++j) {
            for (const Holder* each : {&a, &b, &c})
              ASSERT_EQ(element(each->m, i, j), element(each->m, j, i))
                  << target << ' ' << n << ' ' << i << ' ' << j;
            ASSERT_EQ(element(c.m, i, j), element(whole.m, i, j)) << target << ' ' << n;
          }
      });
}

TEST(PackedProduct, AddsToTheDiagonalAlone) {
  for (const Unit unit : {Unit::kF32, Unit::kBF16Pair}) {
    Values v(50, 50, 9);
    const Both before(v, unit), after(v, unit);
    add_to_diagonal(after.rows.m, 256);
    for (std::size_t i = 0; i < 50; ++i)
      for (std::size_t j = 0; j < 50; ++j) {
        const float old = element(before.rows.m, i, j), now = element(after.rows.m, i, j);
        // 2^8 has steps of 2 in bf16.
        ASSERT_NEAR(now, i == j ? old + 256 : old, i == j && unit == Unit::kBF16Pair ? 1 : 0);
      }
    for (std::size_t i = 50; i < 56; ++i) ASSERT_EQ(element(after.rows.m, i, i), 0);
  }
}

TEST(PackedProduct, NanStaysNanInWhatItReaches) {
  for (const Unit unit : {Unit::kF32, Unit::kBF16Pair})
    on_every_target([&](const std::string& target) {
      Values v(10, 12, 10);
      v.of[3 * 12 + 4] = std::numeric_limits<float>::quiet_NaN();
      const Both l(v, unit), r(Values(9, 12, 11), unit);
      Holder rows(10, 9, unit);
      multiply({.left = l.rows.m, .right = r.rows.m, .rows = rows.m});
      for (std::size_t i = 0; i < 10; ++i)
        for (std::size_t j = 0; j < 9; ++j)
          ASSERT_EQ(std::isnan(element(rows.m, i, j)), i == 3) << target;
    });
}

}  // namespace
}  // namespace steepest::kernels
