#include "steepest/base/fields.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/errors.h"

namespace steepest {
namespace {

enum class Colour { kRed, kBlue };
const auto& spellings(Colour) {
  static constexpr Spelling<Colour> kAll[] = {
      {Colour::kRed, "red"}, {Colour::kBlue, "blue"}, {Colour::kRed, "rouge"}};
  return kAll;
}

struct Options {
  double lr = 0.1;
  Betas betas = {0.9, 0.99};
  std::int64_t steps = 3;
  std::optional<double> eps;
  bool nesterov = false;
  Colour colour = Colour::kRed;

  static constexpr auto fields() {
    using O = Options;
    return std::tuple{field("lr", &O::lr, at_least_zero(), "step size"),
                      field("betas", &O::betas, decay_factor(), "decay"),
                      field("steps", &O::steps, count_from(1, "1 or more"), "count"),
                      field("eps", &O::eps, above_zero(), "guard"),
                      field("nesterov", &O::nesterov, "look ahead"),
                      field("colour", &O::colour, "paint")};
  }
  static void check(const Options& o, Rules& rules) {
    rules.require(!(o.nesterov && o.lr == 0), "nesterov", o.nesterov, "false where lr is 0");
  }
};

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Fields, ValidOptionsPass) { EXPECT_NO_THROW(validate(Options{}, "o")); }

TEST(Fields, EveryBrokenRuleIsInOneError) {
  EXPECT_ERROR(ConfigError,
               validate(Options{.lr = -1, .betas = {0.9, 1}, .steps = 0, .eps = 0.0}, "o"),
               "o.lr is -1; it must be finite and not negative\n"
               "o.betas is [0.9, 1]; it must be two numbers, each in [0, 1)\n"
               "o.steps is 0; it must be 1 or more\n"
               "o.eps is 0; it must be finite and above 0");
}

TEST(Fields, NanAndInfinityBreakEveryRange) {
  EXPECT_ERROR(ConfigError, validate(Options{.lr = kNan}, ""),
               "lr is nan; it must be finite and not negative");
  for (const Range& range :
       {any_number(), at_least_zero(), above_zero(), decay_factor(), fraction()}) {
    EXPECT_FALSE(range.holds(kNan));
    EXPECT_FALSE(range.holds(std::numeric_limits<double>::infinity()));
    EXPECT_FALSE(range.holds(-std::numeric_limits<double>::infinity()));
  }
}

TEST(Fields, RangesKnowTheirEnds) {
  EXPECT_TRUE(at_least_zero().holds(0));
  EXPECT_FALSE(above_zero().holds(0));
  EXPECT_TRUE(above_zero().holds(1e-300));
  EXPECT_FALSE(decay_factor().holds(1));
  EXPECT_TRUE(fraction().holds(1));
}

TEST(Fields, CombinationsAreChecked) {
  EXPECT_ERROR(ConfigError, validate(Options{.lr = 0, .nesterov = true}, "o"),
               "o.nesterov is true; it must be false where lr is 0");
}

TEST(Fields, SpellingsReadAllAndPrintTheFirst) {
  EXPECT_EQ(parse_spelling<Colour>("rouge"), Colour::kRed);
  EXPECT_EQ(spelling(Colour::kRed), "red");
  EXPECT_EQ(parse_spelling<Colour>("green"), std::nullopt);
}

TEST(Fields, ValuesPrintAsTheyAreWritten) {
  EXPECT_EQ(to_text(1e-8), "1e-08");
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(to_text(true), "true");
  EXPECT_EQ(to_text(Betas{0.9, 0.95}), "[0.9, 0.95]");
  EXPECT_EQ(to_text(std::optional<double>()), "null");
  EXPECT_EQ(to_text(Colour::kBlue), "blue");
  EXPECT_EQ(to_text(std::vector<double>{1, 2.5}), "[1, 2.5]");
}

}  // namespace
}  // namespace steepest
