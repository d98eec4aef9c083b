#include "steepest/base/json_fields.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "tests/support/errors.h"

namespace steepest {
namespace {

struct Options {
  double lr = 0.1;
  Betas betas = {0.9, 0.99};
  std::int64_t steps = 3;
  int small = 1;
  std::optional<double> eps = 1.0;
  bool nesterov = false;
  std::string name = "x";
  std::vector<double> list;

  static constexpr auto fields() {
    using O = Options;
    return std::tuple{field("lr", &O::lr, ""),       field("betas", &O::betas, ""),
                      field("steps", &O::steps, ""), field("small", &O::small, ""),
                      field("eps", &O::eps, ""),     field("nesterov", &O::nesterov, ""),
                      field("name", &O::name, ""),   field("list", &O::list, "")};
  }
  bool operator==(const Options&) const = default;
};

Options read(const Json& json) {
  Options options;
  Rules rules("o");
  read_fields(json, options, rules);
  rules.enforce();
  return options;
}

TEST(JsonFields, ReadsWhatIsGivenAndLeavesTheRest) {
  Options options;
  Rules rules("o");
  const auto given = read_fields(Json{{"lr", 0.1}, {"betas", {0.5, 0.6}}}, options, rules);
  EXPECT_EQ(given, (std::set<std::string>{
                       "betas", "lr"}));  // a value equal to its default was given all the same
  EXPECT_EQ(options.betas, (Betas{0.5, 0.6}));
  EXPECT_EQ(options.steps, 3);
}

TEST(JsonFields, TakesTextThatIsANumberForTheNumber) {
  EXPECT_EQ(read({{"lr", "1e-8"}}).lr, 1e-8);
  EXPECT_EQ(read({{"steps", 1000.0}}).steps, 1000);
  EXPECT_EQ(read({{"steps", "1e3"}}).steps, 1000);
  EXPECT_EQ(read({{"betas", {"0.5", 0}}}).betas, (Betas{0.5, 0}));
}

TEST(JsonFields, NullAndNoneAreUnset) {
  EXPECT_EQ(read({{"eps", nullptr}}).eps, std::nullopt);
  EXPECT_EQ(read({{"eps", "none"}}).eps, std::nullopt);
  EXPECT_EQ(read({{"eps", 2}}).eps, 2.0);
}

TEST(JsonFields, WrongTypesSayWhatWasFoundAndWanted) {
  EXPECT_ERROR(ConfigError, read({{"lr", "fast"}}), "o.lr is the text 'fast'; it must be a number");
  EXPECT_ERROR(ConfigError, read({{"lr", true}}), "o.lr is true; it must be a number");
  EXPECT_ERROR(ConfigError, read({{"steps", 1.5}}),
               "o.steps is the number 1.5; it must be a whole number");
  EXPECT_ERROR(ConfigError, read({{"steps", 1e300}}),
               "o.steps is the number 1e+300; it must be a whole number");
  EXPECT_ERROR(ConfigError, read({{"small", 4000000000}}),
               "o.small is the number 4000000000; it must be a whole number below 2^31");
  EXPECT_ERROR(ConfigError, read({{"nesterov", 1}}),
               "o.nesterov is the number 1; it must be true or false");
  EXPECT_ERROR(ConfigError, read({{"betas", 0.9}}),
               "o.betas is the number 0.9; it must be a list of two numbers");
  EXPECT_ERROR(ConfigError, read({{"betas", {0.9}}}),
               "o.betas is a list of 1; it must be a list of two numbers");
  EXPECT_ERROR(ConfigError, read({{"name", Json::object()}}), "o.name is a map; it must be a text");
  EXPECT_ERROR(ConfigError, read({{"list", {1, "x"}}}),
               "o.list is a list of 2; it must be a list of numbers");
  EXPECT_ERROR(ConfigError, read(Json::array({1})),
               "o is a list of 1; it must be a map of options");
}

TEST(JsonFields, UnknownKeysNameTheNearest) {
  EXPECT_ERROR(ConfigError, read({{"nestrov", true}}),
               "o.nestrov is not known; did you mean 'nesterov'?");
  EXPECT_ERROR(
      ConfigError, read({{"qqqq", 1}}),
      "o.qqqq is not known; known here: lr, betas, steps, small, eps, nesterov, name, list");
}

TEST(JsonFields, ManyProblemsAreOneError) {
  try {
    read({{"lr", "a"}, {"nope1", 1}, {"steps", "b"}});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.problems().size(), 3u);
  }
}

TEST(JsonFields, WritesWhatItReads) {
  EXPECT_TRUE(rc::check([] {
    Options options;
    options.lr = *rc::gen::arbitrary<double>();
    RC_PRE(std::isfinite(options.lr));
    options.steps = *rc::gen::arbitrary<std::int64_t>();
    options.nesterov = *rc::gen::arbitrary<bool>();
    const auto list = *rc::gen::arbitrary<std::vector<int>>();
    options.list.assign(list.begin(), list.end());
    RC_ASSERT(read(Json::parse(write_fields(options).dump())) == options);
  }));
}

}  // namespace
}  // namespace steepest
