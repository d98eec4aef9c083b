#include "steepest/checkpoint/json_text.h"

#include <gtest/gtest.h>

#include <string>

namespace steepest {
namespace {

TEST(JsonText, TellsWhatIsJson) {
  for (const char* text : {"{}", "1", " [1, -2.5e3, \"\\u00e9\", null, true] "}) {
    const JsonText found = look_at_json(text, 4);
    EXPECT_TRUE(found.valid && !found.deep && !found.repeated) << text;
  }
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[1,]"), std::string("{} x"),
        std::string("{}\0", 3), std::string("\"\xff\""), std::string("NaN"), std::string("1e999")})
    EXPECT_FALSE(look_at_json(text, 4).valid) << text;
}

TEST(JsonText, TellsKeysThatStandTwiceInOneMap) {
  EXPECT_TRUE(look_at_json(R"({"a":1,"b":[{"c":1,"c":1}]})", 4).repeated);
  EXPECT_TRUE(look_at_json(R"({"a":{"a":1},"b":2,"a":1})", 4).repeated);
  EXPECT_FALSE(look_at_json(R"({"a":{"a":1},"b":[{"a":1},{"a":1}]})", 4).repeated);
}

TEST(JsonText, TellsWhatIsNestedTooDeeply) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_FALSE(look_at_json(nested(4), 4).deep);
  EXPECT_TRUE(look_at_json(nested(4), 4).valid);
  EXPECT_TRUE(look_at_json(nested(5), 4).deep);
  EXPECT_TRUE(look_at_json(nested(5'000'000), 4).deep);
  EXPECT_TRUE(look_at_json(std::string(5'000'000, '['), 256).deep);
}

}  // namespace
}  // namespace steepest
