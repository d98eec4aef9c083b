#pragma once

#include <cstddef>
#include <cstdint>

namespace steepest::kernels {

/// What a packed matrix consists of: an fp32 value, or two bf16 values that are neighbours in a row
/// (the earlier one in the low half).
enum class Unit : std::uint8_t { kF32, kBF16Pair };

/// Rows of a register tile; all packed dimensions are filled up to a multiple of it.
inline constexpr std::size_t kTileRows = 8;
/// The widest panel.
inline constexpr std::size_t kMaxWidth = 48;

constexpr std::size_t whole_tiles(std::size_t n) {
  return (n + kTileRows - 1) / kTileRows * kTileRows;
}

/// A matrix as products read it: panels of `width` rows, and in a panel [units of a row][width].
/// Rows and columns up to the next multiple of kTileRows are there and hold zeros; what stands in a
/// panel beyond those rows never reaches a result, but should be finite.
struct Packed {
  std::uint32_t* units = nullptr;
  std::size_t rows = 0, columns = 0;
  std::size_t width = kMaxWidth;  ///< 48 or 32
  Unit unit = Unit::kF32;

  std::size_t panels() const { return (rows + width - 1) / width; }
  std::size_t depth() const {  ///< units in a row
    return unit == Unit::kF32 ? whole_tiles(columns) : whole_tiles(columns) / 2;
  }
  std::size_t size() const { return panels() * depth() * width; }  ///< units in all
  std::uint32_t* at(std::size_t panel, std::size_t unit_of_row) const {
    return units + (panel * depth() + unit_of_row) * width;
  }
};

/// The width of the panels for so many rows: 48, or 32 where that leaves less unused.
constexpr std::size_t panel_width(std::size_t rows) {
  const std::size_t wide = (rows + 47) / 48 * 48, narrow = (rows + 31) / 32 * 32;
  return narrow < wide ? 32 : 48;
}

}  // namespace steepest::kernels
