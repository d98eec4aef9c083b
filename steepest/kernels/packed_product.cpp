#include "steepest/kernels/packed_product.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "steepest/kernels/codecs.h"
#include "steepest/kernels/packed_bf16.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "steepest/kernels/packed_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "steepest/kernels/packed_store-inl.h"

// Arrays of accumulators stay in registers only when their loops are gone.
#undef STEEPEST_UNROLL
#if defined(__clang__)
#define STEEPEST_UNROLL _Pragma("unroll")
#else
#define STEEPEST_UNROLL _Pragma("GCC unroll 8")
#endif

HWY_BEFORE_NAMESPACE();
namespace steepest::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// sum[r][v] += left(r) right(v) for one step of k, fp32.
struct StepF32 {
  template <class D, std::size_t kRows, std::size_t kVectors>
  static HWY_INLINE void Add(D d, const std::uint32_t* left, const std::uint32_t* right,
                             hn::Vec<D> (&sum)[kRows][kVectors]) {
    hn::Vec<D> b[kVectors];
    STEEPEST_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v)
      b[v] = hn::LoadU(d, reinterpret_cast<const float*>(right) + v * hn::MaxLanes(d));
    STEEPEST_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto a = hn::Set(d, reinterpret_cast<const float*>(left)[r]);
      STEEPEST_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(a, b[v], sum[r][v]);
    }
  }
};

/// The same for a pair of bf16: two steps in fp32.
struct StepBf16 {
  template <class D, std::size_t kRows, std::size_t kVectors>
  static HWY_INLINE void Add(D d, const std::uint32_t* left, const std::uint32_t* right,
                             hn::Vec<D> (&sum)[kRows][kVectors]) {
    const hn::RebindToUnsigned<D> du;
    STEEPEST_UNROLL
    for (int half = 0; half < 2; ++half) {
      hn::Vec<D> b[kVectors];
      STEEPEST_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        const auto two = hn::LoadU(du, right + v * hn::MaxLanes(d));
        b[v] = hn::BitCast(
            d, half == 0 ? hn::ShiftLeft<16>(two) : hn::And(two, hn::Set(du, 0xffff0000u)));
      }
      STEEPEST_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) {
        const auto a =
            hn::BitCast(d, hn::Set(du, half == 0 ? left[r] << 16 : left[r] & 0xffff0000u));
        STEEPEST_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(a, b[v], sum[r][v]);
      }
    }
  }
};

/// Rows and vectors of what is summed in registers: 8 x 48 values with 32 registers, 4 x 24
/// with 16.
template <class Step, std::size_t kVectors>
HWY_INLINE void SumBlock(const std::uint32_t* left, std::size_t left_width,
                         const std::uint32_t* right, std::size_t width, std::size_t depth,
                         float* tile) {
  const Lanes16 d;
  constexpr std::size_t kRows = HWY_TARGET == HWY_AVX3 ? 8 : 4;
  hn::Vec<Lanes16> sum[kRows][kVectors];
  STEEPEST_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    STEEPEST_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  for (std::size_t k = 0; k < depth; ++k, left += left_width, right += width)
    Step::Add(d, left, right, sum);
  STEEPEST_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    STEEPEST_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v)
      hn::StoreU(sum[r][v], d, tile + r * width + v * hn::MaxLanes(d));
  }
}

template <class Step>
HWY_INLINE void SumTile(const std::uint32_t* left, std::size_t left_width,
                        const std::uint32_t* right, std::size_t width, std::size_t depth,
                        float* tile) {
  constexpr std::size_t kLanes = hn::MaxLanes(Lanes16());
  constexpr std::size_t kRows = HWY_TARGET == HWY_AVX3 ? 8 : 4;
  for (std::size_t r = 0; r < kTileRows; r += kRows)
    if (width == 48)
      for (std::size_t c = 0; c < width; c += 3 * kLanes)
        SumBlock<Step, 3>(left + r, left_width, right + c, width, depth, tile + r * width + c);
    else
      for (std::size_t c = 0; c < width; c += 2 * kLanes)
        SumBlock<Step, 2>(left + r, left_width, right + c, width, depth, tile + r * width + c);
}

void Sum(const Packed& left, std::size_t i, const Packed& right, std::size_t panel, float* tile) {
  const std::uint32_t* const l = left.at(i / left.width, 0) + i % left.width;
  const std::uint32_t* const r = right.at(panel, 0);
  if (left.unit == Unit::kF32)
    return SumTile<StepF32>(l, left.width, r, right.width, left.depth(), tile);
#if HWY_TARGET == HWY_AVX3
  if (const Bf16Tile native = bf16_tile(right.width))
    return native(l, left.width, r, left.depth(), tile);
#endif
  SumTile<StepBf16>(l, left.width, r, right.width, left.depth(), tile);
}

void StorePlain(const float* tile, std::size_t width, const PlainMatrix& to, std::size_t i,
                std::size_t j) {
  const std::size_t rows = std::min(kTileRows, to.rows - std::min(to.rows, i));
  const std::size_t columns = std::min(width, to.columns - j);
  for (std::size_t r = 0; r < rows; ++r) {
    const float* const from = tile + r * width;
    const std::size_t at = (i + r) * to.stride + j;
    if (to.format == Format::kF32)
      std::memcpy(static_cast<float*>(to.values) + at, from, columns * sizeof(float));
    else
      encode_bf16(from, static_cast<std::uint16_t*>(to.values) + at, columns);
  }
}

void MultiplyTile(const Product& p, std::size_t i_panel, std::size_t j_panel) {
  HWY_ALIGN float tile[kTileRows * kMaxWidth];
  const std::size_t width = p.right.width, j = j_panel * width;
  const std::size_t first = i_panel * p.left.width;
  const std::size_t last = std::min(first + p.left.width, whole_tiles(p.left.rows));
  const bool diagonal = p.symmetric && i_panel == j_panel;
  for (std::size_t i = first; i < last; i += kTileRows) {
    Sum(p.left, i, p.right, j_panel, tile);
    if (p.add.units != nullptr) {
      ScaleAndAdd(tile, p.scale, p.add, p.beta, j_panel, i);
    } else if (p.scale != 1) {
      for (std::size_t c = 0; c < kTileRows * width; ++c) tile[c] *= p.scale;
    }
    // On the diagonal what lies right of it is overwritten by the tiles below.
    if (diagonal)
      for (std::size_t r = 0; r < kTileRows; ++r)
        for (std::size_t s = r + 1; s < kTileRows; ++s)
          tile[r * width + (i - j) + s] = tile[s * width + (i - j) + r];
    if (p.columns.units != nullptr) StoreColumns(tile, p.columns, j_panel, i);
    if (p.rows.units != nullptr) {
      const std::size_t count = diagonal ? i - j : std::min(width, whole_tiles(p.right.rows) - j);
      StoreRows(tile, width, p.rows, i, j, count);
    }
    if (p.plain.values != nullptr) StorePlain(tile, width, p.plain, i, j);
  }
}

/// to[0 .. n) = scale from[0 .. n), rounded once to fp32; n a multiple of the lanes.
void Scale(const float* from, double scale, float* to, std::size_t n) {
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<float, decltype(d)> df;
  const auto s = hn::Set(d, scale);
  for (std::size_t c = 0; c < n; c += hn::Lanes(d))
    hn::StoreU(hn::DemoteTo(df, hn::Mul(s, hn::PromoteTo(d, hn::LoadU(df, from + c)))), df, to + c);
}

void PackStrip(const PlainMatrix& g, double scale, const Packed& rows, const Packed& columns,
               std::size_t i) {
  HWY_ALIGN float tile[kTileRows * kMaxWidth];
  HWY_ALIGN float wide[kMaxWidth];
  const std::size_t width = columns.width;
  for (std::size_t panel = 0; panel < columns.panels(); ++panel) {
    const std::size_t j = panel * width, count = std::min(width, g.columns - j);
    for (std::size_t r = 0; r < kTileRows; ++r) {
      if (i + r >= g.rows) {
        std::fill_n(tile + r * width, width, 0.0f);
        continue;
      }
      const std::size_t at = (i + r) * g.stride + j;
      const float* from = wide;
      if (count < width) std::fill(wide + count, wide + width, 0.0f);
      if (g.format == Format::kBF16)
        decode_bf16(static_cast<const std::uint16_t*>(g.values) + at, wide, count);
      else if (g.format == Format::kF16)
        decode_fp16(static_cast<const std::uint16_t*>(g.values) + at, wide, count);
      else if (count < width)
        std::memcpy(wide, static_cast<const float*>(g.values) + at, count * sizeof(float));
      else
        from = static_cast<const float*>(g.values) + at;
      Scale(from, scale, tile + r * width, width);
    }
    StoreColumns(tile, columns, panel, i);
    StoreRows(tile, width, rows, i, j, std::min(width, whole_tiles(g.columns) - j));
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace steepest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace steepest::kernels {
HWY_EXPORT(MultiplyTile);
HWY_EXPORT(PackStrip);

std::size_t Product::tiles() const {
  const std::size_t n = right.panels();
  return symmetric ? n * (n + 1) / 2 : n * left.panels();
}

void multiply_tile(const Product& p, std::size_t t) {
  std::size_t i = 0, j = 0;
  if (p.symmetric) {
    // Columns of tiles, each from the diagonal down: neighbours share the right panel.
    const std::size_t n = p.right.panels();
    while (t >= n - j) t -= n - j++;
    i = j + t;
  } else {
    i = t % p.left.panels();
    j = t / p.left.panels();
  }
  HWY_DYNAMIC_DISPATCH(MultiplyTile)(p, i, j);
}

void pack_strip(const PlainMatrix& g, double scale, const Packed& rows, const Packed& columns,
                std::size_t strip) {
  HWY_DYNAMIC_DISPATCH(PackStrip)(g, scale, rows, columns, strip * kTileRows);
}

namespace {

/// The bits of m(i, j): all of its unit, or a half.
float read(const Packed& m, std::size_t i, std::size_t j) {
  float value = 0;
  if (m.unit == Unit::kF32) {
    std::memcpy(&value, m.at(i / m.width, j) + i % m.width, sizeof value);
    return value;
  }
  const std::uint32_t two = m.at(i / m.width, j / 2)[i % m.width];
  const std::uint32_t bits = j % 2 == 0 ? two << 16 : two & 0xffff0000u;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void write(const Packed& m, std::size_t i, std::size_t j, float value) {
  if (m.unit == Unit::kF32) {
    std::memcpy(m.at(i / m.width, j) + i % m.width, &value, sizeof value);
    return;
  }
  std::uint16_t narrow = 0;
  encode_bf16(&value, &narrow, 1);
  std::uint32_t& two = m.at(i / m.width, j / 2)[i % m.width];
  two = j % 2 == 0 ? (two & 0xffff0000u) | narrow
                   : (two & 0xffffu) | static_cast<std::uint32_t>(narrow) << 16;
}

}  // namespace

void add_to_diagonal(const Packed& m, float value) {
  for (std::size_t i = 0; i < m.rows; ++i) write(m, i, i, read(m, i, i) + value);
}

float element(const Packed& m, std::size_t i, std::size_t j) { return read(m, i, j); }

}  // namespace steepest::kernels
#endif
