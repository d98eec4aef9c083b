#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "steepest/recipe/recipe.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

TEST(Yaml, ReadsScalarsAsPyYamlDoes) {
  const Json root =
      parse_yaml(
          "a: 1\nb: 1.5\nc: yes\nd: null\ne: ~\nf: '1'\ng: 1e-8\nh: text\ni: .inf\nj: 1.0e-3\nk:\n",
          "x")
          .root;
  EXPECT_EQ(root["a"], 1);
  EXPECT_EQ(root["b"], 1.5);
  EXPECT_EQ(root["c"], true);
  EXPECT_TRUE(root["d"].is_null());
  EXPECT_TRUE(root["e"].is_null());
  EXPECT_EQ(root["f"], "1");
  EXPECT_EQ(root["g"], "1e-8");  // text to YAML 1.1; number fields read it as the number
  EXPECT_EQ(root["h"], "text");
  EXPECT_TRUE(std::isinf(root["i"].get<double>()));
  EXPECT_EQ(root["j"], 1e-3);
  EXPECT_TRUE(root["k"].is_null());
}

TEST(Yaml, ReadsEveryFormOfAnInteger) {
  const Json root = parse_yaml(
                        "[0x10, 0X10, -0xff, 0b101, 010, 0o10, 1_000, +7, -9223372036854775808, "
                        "9223372036854775808, 08, 0x, _1, 1_000.5, 0, 1:30]",
                        "x")
                        .root;
  // As PyYAML: 010 is octal; what fits no form (a capital X, an 8 in an octal number, one past the
  // range, sexagesimals here) stays text.
  EXPECT_EQ(root,
            Json({16, "0X10", -255, 5, 8, 8, 1000, 7, std::numeric_limits<std::int64_t>::min(),
                  "9223372036854775808", "08", "0x", "_1", 1000.5, 0, "1:30"}));
}

TEST(Yaml, MergesKeys) {
  const YamlDocument document = parse_yaml(
      "base: &base\n  lr: 1\n  eps: 2\nother: &other {eps: 3, decay: 4}\n"
      "one:\n  <<: *base\n  lr: 5\nmany:\n  lr: 6\n  <<: [*base, *other]\n"
      "text: {'<<': 7}\nnested: {<<: {<<: *base, lr: 8}}\n",
      "x");
  const Json& root = document.root;
  // A key of one's own wins, wherever '<<' stands; in a list the first.
  EXPECT_EQ(root["one"], Json({{"lr", 5}, {"eps", 2}}));
  EXPECT_EQ(root["many"], Json({{"lr", 6}, {"eps", 2}, {"decay", 4}}));
  EXPECT_EQ(root["text"], Json({{"<<", 7}}));
  EXPECT_EQ(root["nested"], Json({{"lr", 8}, {"eps", 2}}));
  // A merged key's line is where it was written.
  EXPECT_EQ(document.lines.at("one.lr"), 7);
  EXPECT_EQ(document.lines.at("one.eps"), 3);
  EXPECT_ERROR(ConfigError, parse_yaml("a:\n  <<: 1\n", "r.yaml"),
               "r.yaml:2: '<<' merges neither a map nor a list of maps; it takes keys from maps; "
               "write <<: *name, with &name at a map");
  EXPECT_ERROR(ConfigError, parse_yaml("a: {<<: [{b: 1}, 2]}", "r.yaml"),
               "r.yaml:1: '<<' merges neither a map nor a list of maps; it takes keys from maps; "
               "write <<: *name, with &name at a map");
  EXPECT_ERROR(ConfigError, parse_yaml("a: {<<: {}, <<: {}}", "r.yaml"),
               "r.yaml:1: the key '<<' stands twice");
  EXPECT_ERROR(ConfigError, parse_yaml("a: &a {<<: *a}", "r.yaml"),
               "r.yaml:1: values are nested more than 64 deep");
}

TEST(Yaml, KnowsTheLineOfEveryKey) {
  const YamlDocument document = parse_yaml("a:\n  b: 1\n  c: [1,\n    2]\n", "x");
  EXPECT_EQ(document.lines.at("a"), 1);
  EXPECT_EQ(document.lines.at("a.b"), 2);
  EXPECT_EQ(document.lines.at("a.c[1]"), 4);
}

TEST(Yaml, RefusesWhatIsHostileOrWrong) {
  EXPECT_ERROR(ConfigError, parse_yaml("a: 1\nb: 2\na: 3\n", "r.yaml"),
               "r.yaml:3: the key 'a' stands twice");
  EXPECT_ERROR(ConfigError, parse_yaml("? [1]\n: 2\n", "r.yaml"), "r.yaml:1: a key is not a text");
  EXPECT_ERROR(ConfigError, parse_yaml("a: [1\nb: 2", "r.yaml"),
               "r.yaml:2:2: it is not YAML; end of sequence flow not found");
  EXPECT_ERROR(ConfigError, parse_yaml(std::string("a\0b", 3), "r.yaml"),
               "r.yaml: it is not YAML; it holds a zero byte");
  EXPECT_ERROR(ConfigError, parse_yaml(std::string(100'000, '['), "r.yaml"),
               "r.yaml:1:1: it is not a recipe; its values are nested too deeply");
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_ERROR(ConfigError, parse_yaml(deep, "r.yaml"),
               "r.yaml:66: values are nested more than 64 deep");
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'j'; ++c) {
    const char before = static_cast<char>(c - 1);
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i) bomb += std::string(i ? ", *" : "*") + before;
    bomb += "]\n";
  }
  EXPECT_ERROR(ConfigError, parse_yaml(bomb, "r.yaml"),
               "r.yaml:1: it stands for more than 20000 values, aliases expanded");
}

/// What parsing and reading cost: seconds, and growth of the process's peak of memory in MiB.
struct Cost {
  double seconds, mebibytes;
};
long peak() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;  // KiB
}
Cost cost_of(const std::string& text) {
  const long before = peak();
  const auto start = std::chrono::steady_clock::now();
  try {
    read_recipe(parse_yaml(text, "r.yaml"));
  } catch (const ConfigError&) {
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  return {passed.count(), static_cast<double>(peak() - before) / 1024};
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// Each costs gigabytes or minutes where something grows with a product of two sizes. The limits
// leave room for sanitizers.
TEST(Yaml, HostileTextCostsLittle) {
  const std::string key(256, 'k');
  std::string deep_path = "a: &a [" + repeated("x, ", 9'000) + "x]\n", indent;
  for (int i = 0; i < 60; ++i, indent += ' ') deep_path += indent + key + ":\n";
  deep_path += indent + "- *a\n";
  std::string keys, unknown = "optimizer:\n", targets = "groups:\n";
  for (int i = 0; i < 15'000; ++i) keys += fmt::format("k{}: 1\n", i);
  for (int i = 0; i < 15'000; ++i) unknown += fmt::format("  weight_deca{}: 1\n", i);
  for (int i = 0; i < 5'000; ++i) targets += "- {match: {role: nrom}, lr: x}\n";
  const std::pair<const char*, std::string> cases[] = {
      {"a long path over many items", deep_path},
      {"many keys", keys},
      {"many unknown keys", unknown},
      {"many wrong groups", targets},
      {"a long text, many times",
       "a: &a '" + std::string(500'000, 'x') + "'\nb: [" + repeated("*a, ", 10'000) + "*a]\n"},
      {"a long key, many times",
       "b: [" + repeated("{? " + std::string(1000, 'x') + " : 1}, ", 900) + "1]\n"},
      {"a map merged many times", "m: &m {" +
                                      [] {
                                        std::string all;
                                        for (int i = 0; i < 9'000; ++i)
                                          all += fmt::format("k{}: 1, ", i);
                                        return all;
                                      }() +
                                      "z: 1}\nb: {<<: [" + repeated("*m, ", 9'000) + "*m]}\n"},
      {"brackets", std::string(1'000'000, '[')},
      {"dashes", repeated("- ", 500'000)},
      {"question marks", repeated("? ", 500'000)},
      {"anchors", repeated("- &a x\n", 140'000)},
      {"a key of dots", "optimizer: {" + std::string(256, '.') + ": 1}"},
      {"ten mebibytes", std::string(10u << 20, 'k') + ": 1"},
  };
  for (const auto& [name, text] : cases) {
    const Cost cost = cost_of(text);
    EXPECT_LT(cost.seconds, 10) << name;
#ifndef __SANITIZE_ADDRESS__  // which keeps what was freed
    // The parser itself keeps 200 bytes of each bracket.
    EXPECT_LT(cost.mebibytes, name == std::string_view("brackets") ? 400 : 100) << name;
#endif
  }
}

TEST(Yaml, RefusesMoreThanARecipeHolds) {
  EXPECT_ERROR(ConfigError, parse_yaml("a: 1\n? " + std::string(257, 'k') + "\n: 1\n", "r.yaml"),
               "r.yaml:2: a key has 257 characters; the keys of a recipe have at most 256");
  EXPECT_ERROR(ConfigError, parse_yaml(std::string(2'000'000, 'k'), "r.yaml"),
               "r.yaml: it has 2000000 bytes; a recipe has at most 1048576");
  EXPECT_ERROR(ConfigError,
               parse_yaml("a: &a '" + std::string(500'000, 'x') + "'\nb: [*a,\n  *a]\n", "r.yaml"),
               "r.yaml:1: it stands for more than 1048576 bytes, aliases expanded");
}

TEST(Yaml, NumbersThatAreNoneReachTheirCheck) {
  const Json root = parse_yaml("[.nan, .NaN, .inf, -.inf]", "x").root;
  EXPECT_TRUE(std::isnan(root[0].get<double>()) && std::isnan(root[1].get<double>()));
  EXPECT_GT(root[2].get<double>(), 1e308);
  EXPECT_LT(root[3].get<double>(), -1e308);
  for (const char* text : {"nan", "inf", "-inf"}) {
    std::int64_t out = 3;
    Rules rules("s");
    const double value = parse_yaml("a: " + std::string(text[0] == '-' ? "-." : ".") +
                                        (text[0] == '-' ? text + 1 : text),
                                    "x")
                             .root["a"]
                             .get<double>();
    EXPECT_FALSE(internal::read_value(Json(value), out, "n", rules));
    EXPECT_ERROR(ConfigError, rules.enforce(),
                 std::string("s.n is the number ") + text + "; it must be a whole number");
  }
}

TEST(Yaml, RefusesTagsSecondDocumentsAndOtherEncodings) {
  EXPECT_EQ(parse_yaml("a: !!str 1\nb: !!float 1.5\nc: !!map {}", "x").root,
            Json({{"a", "1"}, {"b", 1.5}, {"c", Json::object()}}));
  for (const std::string& tag :
       std::vector<std::string>{"!!python/object/apply:os.system", "!!binary", "!mine"}) {
    const std::string full =
        tag.starts_with("!!") ? "tag:yaml.org,2002:" + tag.substr(2) : std::string(tag);
    EXPECT_ERROR(ConfigError, parse_yaml("a: 1\nb: " + tag + " 'x'\n", "r.yaml"),
                 "r.yaml:2: the tag '" + full +
                     "' is not known; a recipe holds texts, numbers, lists and maps; remove the "
                     "tag");
  }
  EXPECT_ERROR(
      ConfigError, parse_yaml("a: 1\n---\na: 2\n", "r.yaml"),
      "r.yaml: it holds more than one document; a recipe is one; the others would be passed over; "
      "remove the line '---' that begins another");
  EXPECT_EQ(parse_yaml("---\na: 1\n...\n", "x").root["a"], 1);
  EXPECT_EQ(parse_yaml("", "x").root, Json::object());
  EXPECT_ERROR(ConfigError, parse_yaml("a: \xff\n", "r.yaml"),
               "r.yaml: it is not YAML; it holds bytes that are not UTF-8; save it as UTF-8");
}

TEST(Yaml, NoTextCrashesIt) {
  const auto taken_or_refused = [](const std::string& text) {
    try {
      read_recipe(parse_yaml(text, "fuzz"));
    } catch (const Error&) {
    }
  };
  EXPECT_TRUE(rc::check(taken_or_refused));
  EXPECT_TRUE(rc::check([&] {
    taken_or_refused(*rc::gen::container<std::string>(
        rc::gen::elementOf(std::string("ab1.-:?!&*<[]{},'\"|>%@# \n\t\xc3\xa9"))));
  }));
}

}  // namespace
}  // namespace steepest
