#pragma once

#include <cstddef>
#include <cstdint>

#include "steepest/kernels/codecs.h"
#include "steepest/kernels/element_rules.h"
#include "steepest/kernels/formats.h"

namespace steepest::kernels {

/// Elements decoded at a time: small enough that all fp32 copies of a tile stay in the first cache,
/// a multiple of kBlock.
inline constexpr std::size_t kTile = 512;

/// A gradient or a state in memory.
struct Stream {
  Format format = Format::kF32;
  void* values = nullptr;  ///< null: the rule has no such stream
  void* scales = nullptr;  ///< fp16 a block, or one fp32
  float store_scale = 0;   ///< scaled formats: the scale that values are written under
};

/// A weight and what is kept beside it.
struct WeightStream {
  Format format = Format::kF32;  ///< kF32, kBF16 or kF16
  void* values = nullptr;
  Residue residue = Residue::kNone;
  void* beside = nullptr;
  bool stochastic = false;  ///< round to the 16-bit weight by chance; only without a residue
};

/// One update of a parameter's elements [first, first + count).
struct ElementRun {
  WeightStream w;
  Stream g;
  Stream s[3];
  std::size_t first = 0;  ///< a multiple of kBlock where a stream is in blocks
  std::size_t count = 0;
  Draw draw;             ///< for stochastic rounding
  bool clear_g = false;  ///< set the gradient to zero after it was read
  std::size_t prefetch = 0;
};

/// A rule over fp32 tiles: adam, lion, sgd ... with their scalars.
struct TileRule {
  void (*apply)(const void* scalars, const Tile& tile) = nullptr;
  const void* scalars = nullptr;
};
template <class Scalars, void (*kRule)(const Scalars&, const Tile&)>
TileRule tile_rule(const Scalars& scalars) {
  return {
      [](const void* each, const Tile& tile) { kRule(*static_cast<const Scalars*>(each), tile); },
      &scalars};
}

/// The values of a stream as they lie at `first`, and back.
void decode(const Stream& stream, std::size_t first, float* to, std::size_t n);
void encode(const Stream& stream, std::size_t first, const float* from, std::size_t n);
void decode(const WeightStream& w, std::size_t first, float* to, std::size_t n);
void encode(const WeightStream& w, std::size_t first, const float* from, std::size_t n,
            const Draw& draw);

/// Reads, updates and writes tile by tile; fp32 streams are worked on where they lie. Scaled
/// formats (kE4M3Scaled, kF16Scaled) are read under *scales and written under store_scale:
/// `magnitudes` takes a first pass to find it, and the caller puts it into *scales when all of the
/// tensor is done.
void run(const TileRule& rule, const ElementRun& run);

/// The largest |x| each state would have after the update, without writing anything.
void magnitudes(const TileRule& rule, const ElementRun& run, float (&largest)[3]);

}  // namespace steepest::kernels
