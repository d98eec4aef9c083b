#include "steepest/base/fields.h"

#include <fmt/format.h>

namespace steepest {

std::string to_text(bool value) { return value ? "true" : "false"; }
std::string to_text(double value) { return fmt::format("{}", value); }
std::string to_text(std::int64_t value) { return fmt::format("{}", value); }
std::string to_text(const std::string& value) { return value; }
std::string to_text(const Betas& value) {
  return fmt::format("[{}, {}]", value.first, value.second);
}
std::string to_text(const std::vector<double>& value) {
  std::string all = "[";
  for (double each : value) all += fmt::format("{}{}", all.size() > 1 ? ", " : "", each);
  return all + "]";
}
std::string to_text(const std::vector<std::string>& value) {
  std::string all;
  for (const std::string& each : value) all += (all.empty() ? "" : ", ") + each;
  return "[" + all + "]";
}

std::string Rules::path(std::string_view field) const {
  if (scope_.empty()) return std::string(field);
  return field.empty() ? scope_ : fmt::format("{}.{}", scope_, field);
}

Rules& Rules::take(const Rules& other) {
  problems_.insert(problems_.end(), other.problems_.begin(), other.problems_.end());
  return *this;
}

void Rules::enforce() const {
  if (!problems_.empty()) throw ConfigError(problems_);
}

void Rules::add(std::string_view field, std::string value, std::string_view must_be,
                std::string_view remedy) {
  problems_.push_back({.what = fmt::format("{} is {}", path(field), value),
                       .why = fmt::format("it must be {}", must_be),
                       .remedy = std::string(remedy)});
}

}  // namespace steepest
