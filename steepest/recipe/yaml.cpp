// YAML to neutral values, with lines. Scalars are read as PyYAML reads YAML 1.1.
#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "steepest/base/error.h"
#include "steepest/recipe/recipe.h"

namespace steepest {
namespace {

constexpr int kDeepest = 64;
/// Aliases are expanded; a few lines of them can stand for billions of values.
constexpr int kMostNodes = 100'000;
constexpr std::size_t kMostBytes = 16u << 20;

bool one_of(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* each : words)
    if (text == each) return true;
  return false;
}

Json scalar(const std::string& text, bool quoted) {
  if (quoted) return text;
  if (one_of(text, {"", "~", "null", "Null", "NULL"})) return nullptr;
  if (one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) return true;
  if (one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"}))
    return false;
  if (one_of(text, {".inf", ".Inf", ".INF", "+.inf"}))
    return std::numeric_limits<double>::infinity();
  if (one_of(text, {"-.inf", "-.Inf", "-.INF"})) return -std::numeric_limits<double>::infinity();
  if (one_of(text, {".nan", ".NaN", ".NAN"})) return std::numeric_limits<double>::quiet_NaN();
  const char* begin = text.data();
  const char* const end = begin + text.size();
  if (*begin == '+') ++begin;
  std::int64_t whole = 0;
  if (const auto [stop, error] = std::from_chars(begin, end, whole);
      error == std::errc{} && stop == end)
    return whole;
  // A float of YAML 1.1 has a dot; 1e-8 is text there and stays so here: fields that want numbers
  // read it as one.
  if (text.find('.') != std::string::npos) {
    double real = 0;
    if (const auto [stop, error] = std::from_chars(begin, end, real);
        error == std::errc{} && stop == end)
      return real;
  }
  return text;
}

class Reader {
 public:
  explicit Reader(YamlDocument& document) : document_(document) {}

  Json read(const YAML::Node& node, const std::string& path, int depth) {
    const int line = node.Mark().line + 1;
    if (!path.empty()) document_.lines.emplace(path, line);
    if (depth > kDeepest)
      refuse(line, fmt::format("values are nested more than {} deep", kDeepest));
    if (++nodes_ > kMostNodes)
      refuse(line, fmt::format("it stands for more than {} values, aliases expanded", kMostNodes));
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        return nullptr;
      case YAML::NodeType::Scalar:
        return scalar(node.Scalar(), node.Tag() == "!");
      case YAML::NodeType::Sequence: {
        Json list = Json::array();
        for (std::size_t i = 0; i < node.size(); ++i)
          list.push_back(read(node[i], fmt::format("{}[{}]", path, i), depth + 1));
        return list;
      }
      case YAML::NodeType::Map: {
        Json map = Json::object();
        for (const auto& each : node) {
          const int key_line = each.first.Mark().line + 1;
          if (!each.first.IsScalar()) refuse(key_line, "a key is not a text");
          const std::string key = each.first.Scalar();
          if (map.contains(key)) refuse(key_line, fmt::format("the key '{}' stands twice", key));
          const std::string below = path.empty() ? key : path + "." + key;
          document_.lines.emplace(below, key_line);
          map[key] = read(each.second, below, depth + 1);
        }
        return map;
      }
    }
    return nullptr;
  }

 private:
  [[noreturn]] void refuse(int line, std::string what) const {
    throw ConfigError({.what = fmt::format("{}:{}: {}", document_.source, line, what)});
  }

  YamlDocument& document_;
  int nodes_ = 0;
};

}  // namespace

YamlDocument parse_yaml(std::string_view text, std::string source) {
  YamlDocument document{.root = Json::object(), .lines = {}, .source = std::move(source)};
  if (text.size() > kMostBytes)
    throw ConfigError({.what = fmt::format("{}: it has {} bytes", document.source, text.size()),
                       .why = fmt::format("a recipe has at most {}", kMostBytes)});
  if (text.find('\0') != std::string_view::npos)
    throw ConfigError({.what = fmt::format("{}: it is not YAML", document.source),
                       .why = "it holds a zero byte"});
  try {
    document.root = Reader(document).read(YAML::Load(std::string(text)), "", 0);
  } catch (const YAML::DeepRecursion& error) {
    throw ConfigError({.what = fmt::format("{}:{}:{}: it is not a recipe", document.source,
                                           error.mark.line + 1, error.mark.column + 1),
                       .why = "its values are nested too deeply"});
  } catch (const YAML::Exception& error) {
    throw ConfigError({.what = fmt::format("{}:{}:{}: it is not YAML", document.source,
                                           error.mark.line + 1, error.mark.column + 1),
                       .why = error.msg});
  }
  if (document.root.is_null()) document.root = Json::object();
  return document;
}

}  // namespace steepest
