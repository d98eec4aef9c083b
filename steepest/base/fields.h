#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "steepest/base/error.h"

namespace steepest {

/// Decay factors of the averages of the gradient and of its square.
using Betas = std::pair<double, double>;

/// What values a field may take. Every test is phrased so that NaN breaks it. The text reads after
/// "must be".
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;   ///< low itself is out
  bool high_open = false;  ///< high itself is out
  bool in_fp32 = false;    ///< and 0 or a number that fp32 holds: lanes multiply with it
  std::string_view text = "a finite number";

  constexpr bool holds(double value) const {
    const bool above = low_open ? value > low : value >= low;
    const bool below = high_open ? value < high : value <= high;
    return above && below && value <= std::numeric_limits<double>::max() &&
           value >= std::numeric_limits<double>::lowest();
  }
};

/// False where rounding to fp32 makes 0 or infinity of what is neither.
constexpr bool survives_fp32(double value) {
  const double size = value < 0 ? -value : value;
  // Half of the least number above 0 is rounded to 0.
  return size == 0 || (size > double{std::numeric_limits<float>::denorm_min()} / 2 &&
                       size <= double{std::numeric_limits<float>::max()});
}

constexpr Range any_number() { return {}; }
constexpr Range at_least_zero() { return {.low = 0, .text = "finite and not negative"}; }
/// A learning rate.
constexpr Range rate() { return {.low = 0, .in_fp32 = true, .text = "finite and not negative"}; }
constexpr Range above_zero() { return {.low = 0, .low_open = true, .text = "finite and above 0"}; }
constexpr Range decay_factor() {
  return {.low = 0, .high = 1, .high_open = true, .text = "in [0, 1)"};
}
constexpr Range fraction() { return {.low = 0, .high = 1, .text = "in [0, 1]"}; }
constexpr Range count_from(double low, std::string_view text) { return {.low = low, .text = text}; }

/// One field of an options struct: its name as users write it, where it lives, what it may hold and
/// what it means. The one list `static constexpr auto fields()` of a struct is what recipes, flags,
/// checkpoints,
/// --help, documents and log lines walk; nothing about an option is written a second time.
template <class Struct, class Value>
struct Field {
  std::string_view name;
  Value Struct::*member;
  Range range;  ///< for numbers and each number of a pair or list; ignored for others
  std::string_view help;
};

template <class Struct, class Value>
constexpr Field<Struct, Value> field(std::string_view name, Value Struct::*member, Range range,
                                     std::string_view help) {
  return {name, member, range, help};
}
template <class Struct, class Value>
constexpr Field<Struct, Value> field(std::string_view name, Value Struct::*member,
                                     std::string_view help) {
  return {name, member, Range{}, help};
}

/// Calls `visit(const Field<Options, Value>&)` for every field of `Options`, in order.
template <class Options, class Visit>
constexpr void for_each_field(Visit&& visit) {
  std::apply([&](const auto&... each) { (visit(each), ...); }, Options::fields());
}

/// Enumerations of options give their spellings through `spellings(E)`, found by argument-dependent
/// lookup: the first spelling of a value is the one we print, all are read.
template <class E>
struct Spelling {
  E value;
  std::string_view text;
};

template <class E>
concept SpelledEnum = std::is_enum_v<E> && requires(E e) {
  spellings(e);
};

template <SpelledEnum E>
std::string_view spelling(E value) {
  for (const auto& each : spellings(E{}))
    if (each.value == value) return each.text;
  return "?";
}

template <SpelledEnum E>
std::optional<E> parse_spelling(std::string_view text) {
  for (const auto& each : spellings(E{}))
    if (each.text == text) return each.value;
  return std::nullopt;
}

/// A value as users would write it in a recipe: 0.001, true, [0.9, 0.999], nesterov's `simple`,
/// null. Doubles print in the shortest form that reads back to the same bits.
std::string to_text(bool value);
std::string to_text(double value);
std::string to_text(std::int64_t value);
std::string to_text(const std::string& value);
std::string to_text(const Betas& value);
std::string to_text(const std::vector<double>& value);
std::string to_text(const std::vector<std::string>& value);
inline std::string to_text(int value) { return to_text(std::int64_t{value}); }
template <SpelledEnum E>
std::string to_text(E value) {
  return std::string(spelling(value));
}
template <class T>
std::string to_text(const std::optional<T>& value) {
  return value ? to_text(*value) : "null";
}

/// Collects broken rules of one object and throws them together.
///
///   Rules rules("optimizer");
///   rules.require(o.lr >= 0, "lr", o.lr, "finite and not negative");
///   rules.enforce();   // one ConfigError: "optimizer.lr is -1; it must be finite and not
///   negative"
class Rules {
 public:
  explicit Rules(std::string_view scope) : scope_(scope) {}

  template <class Value>
  Rules& require(bool holds, std::string_view field, const Value& value, std::string_view must_be,
                 std::string_view remedy = {}) {
    if (!holds) add(field, to_text(value), must_be, remedy);
    return *this;
  }
  Rules& fail(Problem problem) {
    problems_.push_back(std::move(problem));
    return *this;
  }
  /// The full name of a field inside this scope: "optimizer.lr".
  std::string path(std::string_view field) const;
  const std::vector<Problem>& problems() const { return problems_; }
  /// Takes over the problems of another object that was checked.
  Rules& take(const Rules& other);
  /// Throws ConfigError if any rule is broken.
  void enforce() const;

 private:
  void add(std::string_view field, std::string value, std::string_view must_be,
           std::string_view remedy);

  std::string scope_;
  std::vector<Problem> problems_;
};

namespace internal {
inline void check_range(Rules& rules, std::string_view name, const Range& range, double value) {
  rules.require(range.holds(value), name, value, range.text);
  if (range.in_fp32 && range.holds(value))
    rules.require(survives_fp32(value), name, value, "0, or between 1e-45 and 3.4e38",
                  "updates multiply with it in fp32, where it would be 0 or infinite");
}
inline void check_range(Rules& rules, std::string_view name, const Range& range,
                        std::int64_t value) {
  rules.require(range.holds(static_cast<double>(value)), name, value, range.text);
}
inline void check_range(Rules& rules, std::string_view name, const Range& range, int value) {
  check_range(rules, name, range, std::int64_t{value});
}
inline void check_range(Rules& rules, std::string_view name, const Range& range,
                        const Betas& value) {
  rules.require(range.holds(value.first) && range.holds(value.second), name, value,
                std::string("two numbers, each ") + std::string(range.text));
}
inline void check_range(Rules& rules, std::string_view name, const Range& range,
                        const std::vector<double>& value) {
  bool holds = true;
  for (double each : value) holds = holds && range.holds(each);
  rules.require(holds, name, value, std::string("numbers, each ") + std::string(range.text));
}
template <class T>
requires(std::is_same_v<T, bool> || std::is_enum_v<T> || std::is_same_v<T, std::string> ||
         std::is_same_v<T, std::vector<std::string>>) void check_range(Rules&, std::string_view,
                                                                       const Range&, const T&) {}
template <class T>
requires requires { T::fields(); }
void check_range(Rules&, std::string_view, const Range&, const T&) {}
// Last, so that it sees all of the above.
template <class T>
void check_range(Rules& rules, std::string_view name, const Range& range,
                 const std::optional<T>& value) {
  if (value) check_range(rules, name, range, *value);
}
}  // namespace internal

/// Every field's range, then the struct's own `static void check(const Options&, Rules&)` where it
/// has one.
template <class Options>
void check_fields(const Options& options, Rules& rules) {
  for_each_field<Options>([&](const auto& each) {
    internal::check_range(rules, each.name, each.range, options.*(each.member));
  });
  if constexpr (requires { Options::check(options, rules); }) Options::check(options, rules);
}

/// Throws one ConfigError that lists every broken rule of `options`; `scope` names the object in
/// it.
template <class Options>
void validate(const Options& options, std::string_view scope) {
  Rules rules(scope);
  check_fields(options, rules);
  rules.enforce();
}

}  // namespace steepest
