#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "steepest/base/fields.h"

namespace steepest {

/// Neutral form of everything that is configured: recipes, flags, group options in checkpoints,
/// replay files. Keeps the order of keys.
using Json = nlohmann::ordered_json;

namespace internal {
/// Reads one value into `out`; on a wrong type adds a problem that names `path`, what was found and
/// what is wanted, and leaves `out` as it was. Text that reads as a number counts as the number
/// (YAML 1.1 takes 1e-8 for text).
bool read_value(const Json& value, bool& out, std::string_view field, Rules& rules);
bool read_value(const Json& value, double& out, std::string_view field, Rules& rules);
bool read_value(const Json& value, std::int64_t& out, std::string_view field, Rules& rules);
bool read_value(const Json& value, int& out, std::string_view field, Rules& rules);
bool read_value(const Json& value, std::string& out, std::string_view field, Rules& rules);
bool read_value(const Json& value, Betas& out, std::string_view field, Rules& rules);
bool read_value(const Json& value, std::vector<double>& out, std::string_view field, Rules& rules);
bool read_value(const Json& value, std::vector<std::string>& out, std::string_view field,
                Rules& rules);
/// The problem of a text that is none of the spellings; the nearest one is named.
void unknown_spelling(std::string_view text, std::span<const std::string_view> known,
                      std::string_view field, Rules& rules);
/// The problem of a key that no field has; the nearest one is named.
void unknown_key(std::string_view key, std::span<const std::string_view> known, Rules& rules);
void wrong_type(const Json& value, std::string_view wanted, std::string_view field, Rules& rules);

template <SpelledEnum E>
bool read_value(const Json& value, E& out, std::string_view field, Rules& rules) {
  if (!value.is_string()) {
    wrong_type(value, "a name", field, rules);
    return false;
  }
  const auto text = value.get<std::string>();
  if (const auto parsed = parse_spelling<E>(text)) {
    out = *parsed;
    return true;
  }
  std::vector<std::string_view> known;
  for (const auto& each : spellings(E{})) known.push_back(each.text);
  unknown_spelling(text, known, field, rules);
  return false;
}
template <class T>
bool read_value(const Json& value, std::optional<T>& out, std::string_view field, Rules& rules) {
  if (value.is_null() || value == "null" || value == "none" || value == "None") {
    out.reset();
    return true;
  }
  T inner{};
  if (!read_value(value, inner, field, rules)) return false;
  out = inner;
  return true;
}

Json to_json_value(bool value);
Json to_json_value(double value);
Json to_json_value(std::int64_t value);
Json to_json_value(int value);
Json to_json_value(const std::string& value);
Json to_json_value(const Betas& value);
Json to_json_value(const std::vector<double>& value);
Json to_json_value(const std::vector<std::string>& value);
template <SpelledEnum E>
Json to_json_value(E value) {
  return std::string(spelling(value));
}
template <class T>
Json to_json_value(const std::optional<T>& value) {
  return value ? to_json_value(*value) : Json(nullptr);
}
}  // namespace internal

/// The names of all fields of an options struct, in order.
template <class Options>
std::vector<std::string_view> field_names() {
  std::vector<std::string_view> names;
  for_each_field<Options>([&](const auto& each) { names.push_back(each.name); });
  return names;
}

/// Reads the keys of `object` into the fields of `options`; what is absent stays as it is. Every
/// wrong type, unknown spelling and unknown key becomes a problem in `rules` (whose scope is the
/// object's path); nothing is thrown. Returns the names that were given explicitly.
template <class Options>
std::set<std::string> read_fields(const Json& object, Options& options, Rules& rules) {
  std::set<std::string> given;
  if (object.is_null()) return given;
  if (!object.is_object()) {
    internal::wrong_type(object, "a map of options", "", rules);
    return given;
  }
  const auto names = field_names<Options>();
  for (const auto& [key, value] : object.items()) {
    bool known = false;
    for_each_field<Options>([&](const auto& each) {
      if (each.name != key) return;
      known = true;
      if (internal::read_value(value, options.*(each.member), each.name, rules)) given.insert(key);
    });
    if (!known) internal::unknown_key(key, names, rules);
  }
  return given;
}

/// All fields with their values.
template <class Options>
Json write_fields(const Options& options) {
  Json object = Json::object();
  for_each_field<Options>([&](const auto& each) {
    object[std::string(each.name)] = internal::to_json_value(options.*(each.member));
  });
  return object;
}

}  // namespace steepest
