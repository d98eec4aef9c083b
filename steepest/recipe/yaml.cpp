// YAML to neutral values, with lines. Scalars are read as PyYAML reads YAML 1.1.
#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "steepest/base/error.h"
#include "steepest/recipe/recipe.h"

namespace steepest {
namespace {

constexpr int kDeepest = 64;
/// Aliases are expanded; a few lines of them can stand for billions of values, or for gigabytes of
/// text.
constexpr int kMostNodes = 20'000;
constexpr std::size_t kMostBytes = 1u << 20;
constexpr std::size_t kLongestKey = 256;
/// Values whose path is longer have no line of their own, so that the table of lines stays small.
constexpr std::size_t kLongestPath = 400;

bool one_of(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* each : words)
    if (text == each) return true;
  return false;
}

std::string without_underscores(std::string text) {
  std::erase(text, '_');
  return text;
}

/// YAML 1.1's integers (10, 1_000, 0x10, 0b10, and 010, which is eight), and 1.2's 0o10.
std::optional<std::int64_t> integer(const std::string& text) {
  std::string_view digits = text;
  const bool negative = digits.front() == '-';
  if (negative || digits.front() == '+') digits.remove_prefix(1);
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    const char kind = digits[1];
    base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
    digits.remove_prefix(kind == 'x' || kind == 'b' || kind == 'o' ? 2 : 1);
  } else if (digits.empty() || digits[0] == '_') {
    return std::nullopt;
  }
  // The sign belongs to the text that is read: the lowest number has no positive twin.
  const std::string plain = (negative ? "-" : "") + without_underscores(std::string(digits));
  if (plain.size() == (negative ? 1u : 0u) || (!negative && plain[0] == '-')) return std::nullopt;
  std::int64_t whole = 0;
  const char* const end = plain.data() + plain.size();
  const auto [stop, error] = std::from_chars(plain.data(), end, whole, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return whole;
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
  if (const auto whole = integer(text)) return *whole;
  // A float of YAML 1.1 has a dot; 1e-8 is text there and stays so here: fields that want numbers
  // read it as one.
  if (text.find('.') != std::string::npos) {
    const std::string plain =
        std::isdigit(static_cast<unsigned char>(text.front())) ? without_underscores(text) : text;
    const char* begin = plain.data() + (plain.front() == '+' ? 1 : 0);
    const char* const end = plain.data() + plain.size();
    double real = 0;
    if (const auto [stop, error] = std::from_chars(begin, end, real);
        error == std::errc{} && stop == end)
      return real;
  }
  return text;
}

/// Tags that say what the text says already; "?" and "!" stand for none and for quotes.
bool plain_tag(const std::string& tag) {
  return one_of(tag, {"", "?", "!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:int",
                      "tag:yaml.org,2002:float", "tag:yaml.org,2002:bool", "tag:yaml.org,2002:null",
                      "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"});
}

/// Passes over a document.
struct Skip : YAML::EventHandler {
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

/// YAML::LoadAll would tell, but reads documents without end from some texts.
bool holds_another_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Skip skip;
  return parser.HandleNextDocument(skip) && parser.HandleNextDocument(skip);
}

bool is_utf8(std::string_view text) try {
  (void)Json(std::string(text)).dump();
  return true;
} catch (const Json::type_error&) {
  return false;
}

class Reader {
 public:
  explicit Reader(YamlDocument& document) : document_(document) {}

  Json read(const YAML::Node& node, const std::string& path, int depth) {
    const int line = node.Mark().line + 1;
    count(line, depth);
    if (!path.empty()) note(path, line);
    const std::string& tag = node.Tag();
    if (!plain_tag(tag))
      refuse(line, fmt::format("the tag '{}' is not known", tag.substr(0, 80)),
             "a recipe holds texts, numbers, lists and maps", "remove the tag");
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        return nullptr;
      case YAML::NodeType::Scalar:
        count_bytes(line, node.Scalar().size());
        return scalar(node.Scalar(), tag == "!" || tag == "tag:yaml.org,2002:str");
      case YAML::NodeType::Sequence: {
        Json list = Json::array();
        for (const auto& each : node)
          list.push_back(read(each, below(path, fmt::format("[{}]", list.size())), depth + 1));
        return list;
      }
      case YAML::NodeType::Map: {
        Json map = Json::object();
        std::set<std::string> taken;
        fill(map, taken, node, path, depth);
        return map;
      }
    }
    return nullptr;
  }

 private:
  /// The map's own keys, then those that it merges (`<<`), which never replace one that is there.
  void fill(Json& map, std::set<std::string>& taken, const YAML::Node& node,
            const std::string& path, int depth) {
    std::set<std::string> own;
    std::vector<std::pair<YAML::Node, int>> merged;
    for (const auto& each : node) {
      const int line = each.first.Mark().line + 1;
      if (!each.first.IsScalar()) refuse(line, "a key is not a text");
      const std::string& key = each.first.Scalar();
      if (key.size() > kLongestKey)
        refuse(line, fmt::format("a key has {} characters", key.size()),
               fmt::format("the keys of a recipe have at most {}", kLongestKey));
      if (!own.insert(key).second) refuse(line, fmt::format("the key '{}' stands twice", key));
      if (key == "<<" && each.first.Tag() != "!") {
        merged.emplace_back(each.second, line);
      } else if (taken.insert(key).second) {
        count_bytes(line, key.size());
        const std::string child = below(path, path.empty() ? key : "." + key);
        note(child, line);
        // Past operator[], which looks through all keys.
        map.get_ref<Json::object_t&>().emplace_back(key, read(each.second, child, depth + 1));
      } else {
        count(line, depth);
      }
    }
    for (const auto& [source, line] : merged) {
      count(line, depth + 1);
      if (source.IsMap()) {
        fill(map, taken, source, path, depth + 1);
        continue;
      }
      const auto wrong = [&] {
        refuse(line, "'<<' merges neither a map nor a list of maps", "it takes keys from maps",
               "write <<: *name, with &name at a map");
      };
      if (!source.IsSequence()) wrong();
      for (const auto& each : source) {
        count(line, depth + 1);
        if (!each.IsMap()) wrong();
        fill(map, taken, each, path, depth + 1);
      }
    }
  }

  static std::string below(const std::string& path, const std::string& step) {
    return path.size() > kLongestPath ? path : path + step;
  }
  void note(const std::string& path, int line) {
    if (path.size() <= kLongestPath) document_.lines.emplace(path, line);
  }
  void count(int line, int depth) {
    if (depth > kDeepest)
      refuse(line, fmt::format("values are nested more than {} deep", kDeepest));
    if (++nodes_ > kMostNodes)
      refuse(line, fmt::format("it stands for more than {} values, aliases expanded", kMostNodes));
  }
  void count_bytes(int line, std::size_t bytes) {
    bytes_ += bytes;
    if (bytes_ > kMostBytes)
      refuse(line, fmt::format("it stands for more than {} bytes, aliases expanded", kMostBytes));
  }
  [[noreturn]] void refuse(int line, std::string what, std::string why = {},
                           std::string remedy = {}) const {
    throw ConfigError({.what = fmt::format("{}:{}: {}", document_.source, line, what),
                       .why = std::move(why),
                       .remedy = std::move(remedy)});
  }

  YamlDocument& document_;
  int nodes_ = 0;
  std::size_t bytes_ = 0;
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
  if (!is_utf8(text))
    throw ConfigError({.what = fmt::format("{}: it is not YAML", document.source),
                       .why = "it holds bytes that are not UTF-8",
                       .remedy = "save it as UTF-8"});
  try {
    if (holds_another_document(std::string(text)))
      throw ConfigError(
          {.what = fmt::format("{}: it holds more than one document", document.source),
           .why = "a recipe is one; the others would be passed over",
           .remedy = "remove the line '---' that begins another"});
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
