#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

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
               "r.yaml:1: it stands for more than 100000 values, aliases expanded");
}

TEST(Yaml, NoTextCrashesIt) {
  rc::check([](const std::string& text) {
    try {
      read_recipe(parse_yaml(text, "fuzz"));
    } catch (const Error&) {
    }
  });
}

}  // namespace
}  // namespace steepest
