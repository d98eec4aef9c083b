#include "steepest/base/json_fields.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "steepest/base/nearest.h"

namespace steepest::internal {
namespace {

/// What a value is, in a user's words.
std::string described(const Json& value) {
  if (value.is_null()) return "nothing";
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  // JSON has no NaN: it would be printed as null.
  if (value.is_number_float() && !std::isfinite(value.get<double>()))
    return fmt::format("the number {}", value.get<double>());
  if (value.is_number()) return "the number " + value.dump();
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    return fmt::format("the text '{}'", text.size() > 60 ? text.substr(0, 60) + "..." : text);
  }
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  return "a map";
}

/// The whole text as a number: 1e-8, .5, inf, nan; nothing if any character is left over.
std::optional<double> number_in(const std::string& text) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  if (begin != end && *begin == '+') ++begin;
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range && stop == end)
    return std::numeric_limits<double>::infinity();
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::optional<double> number_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return number_in(value.get<std::string>());
  return std::nullopt;
}

}  // namespace

void wrong_type(const Json& value, std::string_view wanted, std::string_view field, Rules& rules) {
  rules.fail({.what = fmt::format("{} is {}", rules.path(field), described(value)),
              .why = fmt::format("it must be {}", wanted)});
}

bool read_value(const Json& value, bool& out, std::string_view field, Rules& rules) {
  if (value.is_boolean()) {
    out = value.get<bool>();
    return true;
  }
  wrong_type(value, "true or false", field, rules);
  return false;
}

bool read_value(const Json& value, double& out, std::string_view field, Rules& rules) {
  if (const auto number = number_of(value)) {
    out = *number;
    return true;
  }
  wrong_type(value, "a number", field, rules);
  return false;
}

bool read_value(const Json& value, std::int64_t& out, std::string_view field, Rules& rules) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      out = static_cast<std::int64_t>(number);
      return true;
    }
  } else if (value.is_number_integer()) {
    out = value.get<std::int64_t>();
    return true;
  } else if (const auto number = number_of(value)) {
    // 1e3 and 1000.0 are whole numbers too; beyond 2^53 a double no longer tells.
    if (std::abs(*number) <= 0x1.0p53 && *number == std::floor(*number)) {
      out = static_cast<std::int64_t>(*number);
      return true;
    }
  }
  wrong_type(value, "a whole number", field, rules);
  return false;
}

bool read_value(const Json& value, int& out, std::string_view field, Rules& rules) {
  std::int64_t wide = 0;
  if (!read_value(value, wide, field, rules)) return false;
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    wrong_type(value, "a whole number below 2^31", field, rules);
    return false;
  }
  out = static_cast<int>(wide);
  return true;
}

bool read_value(const Json& value, std::string& out, std::string_view field, Rules& rules) {
  if (value.is_string()) {
    out = value.get<std::string>();
    return true;
  }
  wrong_type(value, "a text", field, rules);
  return false;
}

bool read_value(const Json& value, Betas& out, std::string_view field, Rules& rules) {
  if (value.is_array() && value.size() == 2) {
    const auto first = number_of(value[0]), second = number_of(value[1]);
    if (first && second) {
      out = {*first, *second};
      return true;
    }
  }
  wrong_type(value, "a list of two numbers", field, rules);
  return false;
}

bool read_value(const Json& value, std::vector<double>& out, std::string_view field, Rules& rules) {
  std::vector<double> all;
  bool good = value.is_array();
  if (good)
    for (const Json& each : value) {
      const auto number = number_of(each);
      good = good && number;
      all.push_back(number.value_or(0));
    }
  if (good) {
    out = std::move(all);
    return true;
  }
  wrong_type(value, "a list of numbers", field, rules);
  return false;
}
bool read_value(const Json& value, std::vector<std::string>& out, std::string_view field,
                Rules& rules) {
  bool texts = value.is_array();
  if (texts)
    for (const Json& each : value) texts = texts && each.is_string();
  if (!texts) {
    wrong_type(value, "a list of names", field, rules);
    return false;
  }
  out = value.get<std::vector<std::string>>();
  return true;
}

void unknown_spelling(std::string_view text, std::span<const std::string_view> known,
                      std::string_view field, Rules& rules) {
  const auto near = nearest(text, known);
  rules.fail({.what = fmt::format("{} is '{}'", rules.path(field), text),
              .why = fmt::format("it must be one of {}", fmt::join(known, ", ")),
              .remedy = near ? fmt::format("did you mean '{}'?", *near) : ""});
}

void unknown_key(std::string_view key, std::span<const std::string_view> known, Rules& rules) {
  const auto near = nearest(key, known);
  rules.fail({.what = fmt::format("{} is not known", rules.path(key)),
              .why = "",
              .remedy = near ? fmt::format("did you mean '{}'?", *near)
                             : fmt::format("known here: {}", fmt::join(known, ", "))});
}

Json to_json_value(bool value) { return value; }
Json to_json_value(double value) { return value; }
Json to_json_value(std::int64_t value) { return value; }
Json to_json_value(int value) { return value; }
Json to_json_value(const std::string& value) { return value; }
Json to_json_value(const Betas& value) { return Json::array({value.first, value.second}); }
Json to_json_value(const std::vector<double>& value) { return value; }
Json to_json_value(const std::vector<std::string>& value) { return value; }

}  // namespace steepest::internal
