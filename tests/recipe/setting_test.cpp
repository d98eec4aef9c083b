#include <gtest/gtest.h>

#include "steepest/recipe/recipe.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

Json with(std::string_view text, std::string_view setting) {
  YamlDocument document = parse_yaml(text, "x");
  apply_setting(document, setting);
  return document.root;
}

TEST(Setting, ChangesAndMakesKeys) {
  EXPECT_EQ(with("optimizer: {lr: 1}", "optimizer.lr=0.5")["optimizer"]["lr"], 0.5);
  EXPECT_EQ(with("", "a.b.c=[1, 2]")["a"]["b"]["c"], Json({1, 2}));
  EXPECT_EQ(with("groups: [{lr: 1}]", "groups.0.lr=2")["groups"][0]["lr"], 2);
  EXPECT_TRUE(with("a: 1", "a=")["a"].is_null());
  EXPECT_EQ(with("", "dataset.path=a=b")["dataset"]["path"], "a=b");
}

// The file's line would send its reader to a value that was not used.
TEST(Setting, ErrorsSayWhereAValueCameFrom) {
  YamlDocument document = parse_yaml(
      "optimizer:\n  lr: 1\n  betas: [2, 0.9]\ngroups:\n- {match: {role: norm}, lr: 1}\n",
      "r.yaml");
  apply_setting(document, "optimizer.lr=-1");
  apply_setting(document, "groups.0.match={role: x}");
  EXPECT_ERROR(ConfigError, read_recipe(document),
               "--set: optimizer.lr is -1; it must be finite and not negative\n"
               "r.yaml:3: optimizer.betas is [2, 0.9]; it must be two numbers, each in [0, 1)\n"
               "--set: groups[0].match.role is 'x'; it must be one of hidden, embedding, output, "
               "norm, bias, vector");
  apply_setting(document, "optimizer={lr: -2}");
  apply_setting(document, "groups=");
  EXPECT_ERROR(ConfigError, read_recipe(document),
               "--set: optimizer.lr is -2; it must be finite and not negative");
}

TEST(Setting, RefusesWhatLeadsNowhere) {
  EXPECT_ERROR(ConfigError, with("", "seed"),
               "--set seed cannot be applied; there is no '='; write key.path=value, for instance "
               "optimizer.lr=0.01");
  EXPECT_ERROR(ConfigError, with("", "=1"),
               "--set =1 cannot be applied; there is no key before '='; write key.path=value, for "
               "instance optimizer.lr=0.01");
  EXPECT_ERROR(ConfigError, with("", "a..b=1"),
               "--set a..b=1 cannot be applied; a part of the path is empty; write key.path=value, "
               "for instance optimizer.lr=0.01");
  EXPECT_ERROR(ConfigError, with("seed: 1", "seed.x=1"),
               "--set seed.x=1 cannot be applied; what stands before 'x' is neither a map nor a "
               "list; write key.path=value, for instance optimizer.lr=0.01");
  EXPECT_ERROR(ConfigError, with("groups: []", "groups.0.lr=1"),
               "--set groups.0.lr=1 cannot be applied; the list has 0 items; write key.path=value, "
               "for instance optimizer.lr=0.01");
  EXPECT_ERROR(ConfigError, with("groups: []", "groups.first=1"),
               "--set groups.first=1 cannot be applied; 'first' is no index of a list; write "
               "key.path=value, for instance optimizer.lr=0.01");
}

TEST(Setting, NullIsNull) {
  EXPECT_TRUE(with("a: 1", "a=null")["a"].is_null());
  EXPECT_TRUE(with("a: 1", "a=~")["a"].is_null());
  EXPECT_TRUE(with("a: 1", "a=")["a"].is_null());
  EXPECT_TRUE(with("a: 1", "a={}")["a"].is_object());
}

}  // namespace
}  // namespace steepest
