#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace steepest {

/// A sum of squares without any rounding: the same value whatever the order and the parts its terms
/// were added in. A fixed-point number wide enough for the square of every finite double
/// (2^-2148 to 2^2048) and 2^63 terms of them, as in U. Kulisch, "Computer Arithmetic and
/// Validity", 2008. About 1 KiB.
class ExactSquares {
 public:
  ExactSquares() { clear(); }
  void clear();

  /// Adds the square of every finite value; NaN and Inf are passed over.
  void add(std::span<const float> values);
  void add(std::span<const double> values);
  void add(const ExactSquares& other);

  /// The sum, rounded once to the nearest double, ties to even; Inf where it is beyond the largest.
  double value() const;

  /// The digits, carries resolved: equal for equal sums. For exchange between processes.
  static constexpr std::size_t kDigits = 136;
  using Digits = std::array<std::uint32_t, kDigits>;
  Digits digits() const;
  void add(const Digits& digits);

 private:
  /// A whole number of 2^`position` units of the lowest bit.
  void add_at(int position, std::uint64_t low, std::uint64_t high);
  void resolve_carries();

  /// Digit i counts 2^(kLowest + 32 i); its upper half holds carries that are not passed on yet.
  std::array<std::uint64_t, kDigits> digits_;
  std::uint64_t additions_;  ///< since carries were resolved; each adds less than 2^32 to a digit
};

}  // namespace steepest
