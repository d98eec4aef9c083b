#include "steepest/gradients/exact_squares.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace steepest {
namespace {

// 128-bit whole numbers are an extension of GCC and Clang.
__extension__ typedef unsigned __int128 U128;

/// The exponent of the lowest bit: below the square of the smallest double, and even, so that no
/// square starts off a bit.
constexpr int kLowest = -2176;
constexpr int kBits = 32 * static_cast<int>(ExactSquares::kDigits);
static_assert(kLowest + kBits >= 2048 + 63, "the largest square, 2^63 times");

}  // namespace

void ExactSquares::clear() {
  digits_.fill(0);
  additions_ = 0;
}

void ExactSquares::resolve_carries() {
  std::uint64_t carry = 0;
  for (std::uint64_t& digit : digits_) {
    const std::uint64_t sum = digit + carry;
    digit = sum & 0xffffffffu;
    carry = sum >> 32;
  }
  additions_ = 0;
}

void ExactSquares::add_at(int position, std::uint64_t low, std::uint64_t high) {
  // Each addition gives a digit less than 2^32, and digits hold 2^32 of these.
  if (++additions_ >= (std::uint64_t{1} << 31)) resolve_carries();
  std::size_t at = static_cast<std::size_t>(position) / 32;
  const int shift = position % 32;
  const U128 whole = (static_cast<U128>(high) << 64) | low;
  const auto spilled = static_cast<std::uint64_t>(shift == 0 ? U128{0} : whole >> (128 - shift));
  U128 rest = whole << shift;
  for (int i = 0; i < 4; ++i, rest >>= 32)
    digits_[at++] += static_cast<std::uint64_t>(rest & 0xffffffffu);
  if (spilled != 0) digits_[at] += spilled;
}

// x = m 2^e with a whole m below 2^24:  x^2 = m^2 2^(2e). Squares of one exponent are added up as
// whole numbers first: 48 bits each, so 2^16 of them fit into 64.
void ExactSquares::add(std::span<const float> values) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 16;
  for (std::size_t begin = 0; begin < values.size(); begin += kAtOnce) {
    std::array<std::uint64_t, 256> sums{};
    for (const float x : values.subspan(begin, std::min(kAtOnce, values.size() - begin))) {
      const auto bits = std::bit_cast<std::uint32_t>(x);
      const std::uint32_t exponent = (bits >> 23) & 0xff;
      const std::uint64_t m = (bits & 0x7fffff) | (exponent == 0 ? 0u : 0x800000u);
      sums[exponent] += m * m;
    }
    // Exponent 255 holds NaN and Inf; exponent 0 counts as 1, without the hidden bit.
    for (int exponent = 0; exponent < 255; ++exponent)
      if (sums[static_cast<std::size_t>(exponent)] != 0)
        add_at(2 * (std::max(exponent, 1) - 150) - kLowest,
               sums[static_cast<std::size_t>(exponent)], 0);
  }
}

void ExactSquares::add(std::span<const double> values) {
  for (const double x : values) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
    if (exponent == 0x7ff) continue;
    const std::uint64_t m =
        (bits & 0xfffffffffffffu) | (exponent == 0 ? 0u : std::uint64_t{1} << 52);
    if (m == 0) continue;
    const U128 square = static_cast<U128>(m) * m;
    add_at(2 * (std::max(exponent, 1) - 1075) - kLowest, static_cast<std::uint64_t>(square),
           static_cast<std::uint64_t>(square >> 64));
  }
}

void ExactSquares::add(const ExactSquares& other) { add(other.digits()); }

void ExactSquares::add(const Digits& digits) {
  if (++additions_ >= (std::uint64_t{1} << 31)) resolve_carries();
  for (std::size_t i = 0; i < kDigits; ++i) digits_[i] += digits[i];
}

ExactSquares::Digits ExactSquares::digits() const {
  ExactSquares resolved = *this;
  resolved.resolve_carries();
  Digits digits;
  std::transform(resolved.digits_.begin(), resolved.digits_.end(), digits.begin(),
                 [](std::uint64_t digit) { return static_cast<std::uint32_t>(digit); });
  return digits;
}

double ExactSquares::value() const {
  const Digits all = digits();
  std::size_t top = kDigits;
  while (top > 0 && all[top - 1] == 0) --top;
  if (top == 0) return 0;
  const int highest = 32 * static_cast<int>(top - 1) + 31 - std::countl_zero(all[top - 1]);
  // The lowest bit that the result keeps: 53 bits, less where it is subnormal. It may lie above the
  // highest of the sum: then what is kept is 0 or, rounded up, 1.
  const int lowest = std::max(highest - 52, -1074 - kLowest);
  const auto bit = [&](int i) {
    return i < 0 ? 0u : (all[static_cast<std::size_t>(i) / 32] >> (i % 32)) & 1u;
  };
  std::uint64_t kept = 0;
  for (int i = highest; i >= lowest; --i) kept = 2 * kept + bit(i);
  bool below_half = false;  // a bit below the first that is dropped
  for (int i = 0; i < lowest - 1 && !below_half; ++i) below_half = bit(i) != 0;
  if (bit(lowest - 1) != 0 && (below_half || kept % 2 == 1)) ++kept;
  // Exact: kept has at most 54 bits, and a 54th only where all others are zero.
  return std::ldexp(static_cast<double>(kept), lowest + kLowest);
}

}  // namespace steepest
