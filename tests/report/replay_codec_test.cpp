#include "steepest/report/replay_codec.h"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "steepest/base/error.h"
#include "steepest/report/replay.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

ReplayCase file_of(const std::string& options) {
  ReplayCase file;
  file.function = "codec";
  file.function_options = Json::parse(options);
  return file;
}

/// x = 0.5, -1, 0.25 under s = 1:  y = 2 n / (1 + |n|) = 2/3, -1, 0.4;  floor(127 y + 0.5) = 85,
/// -127, 51;  n = y / (2 - |y|) = 85/169, -1, 51/203.
ReplayCase softsign() {
  ReplayCase file = file_of(R"({"signed": true, "sqrt": false, "softsign": true})");
  file.tensors["input"] = at::tensor({0.5F, -1.0F, 0.25F});
  file.tensors["codes"] = at::tensor({85, -127, 51}, at::kChar);
  file.tensors["scales"] = at::tensor({1.0F}).to(at::kHalf);
  file.tensors["decoded"] = at::tensor({85.0F / 169, -1.0F, 51.0F / 203});
  file.tolerance.rtol = 1e-6;
  return file;
}

/// 1.0009765625 is a quarter of half a step of bf16 (2^-8) above 1: 32 of 127.
ReplayCase error_codes() {
  ReplayCase file = file_of(R"({"narrow_dtype": "bfloat16", "master_bits": 24})");
  file.tensors["input"] = at::tensor({1.0009765625F, -2.0F});
  file.tensors["codes"] = at::tensor({32, 0}, at::kChar);
  file.tensors["narrow"] = at::tensor({1.0F, -2.0F}).to(at::kBFloat16);
  file.tensors["decoded"] = at::tensor({1 + 32.0F / 127 / 256, -2.0F});
  file.tolerance.rtol = 1e-6;
  return file;
}

/// Names of what did not match.
std::vector<std::string> failed(const ReplayCase& file) {
  std::vector<std::string> names;
  for (const ReplayDifference& each : replay_codec(file))
    if (!each.passed()) names.push_back(each.where);
  return names;
}
using Names = std::vector<std::string>;

TEST(ReplayCodec, MatchesWhatWasWorkedByHand) {
  for (const ReplayCase& file : {softsign(), error_codes()}) {
    ASSERT_TRUE(is_codec(file));
    EXPECT_EQ(replay_codec(file).size(), 3U);
    EXPECT_EQ(failed(file), Names{});
    const ReplayOutcome outcome = replay_case(file);
    EXPECT_TRUE(outcome.passed) << outcome.why;
    EXPECT_EQ(outcome.compared, 3);
  }
  ReplayCase linear = softsign();
  linear.function_options["softsign"] = false;
  linear.tensors["codes"] = at::tensor({64, -127, 32}, at::kChar);
  linear.tensors["decoded"] = at::tensor({64.0F / 127, -1.0F, 32.0F / 127});
  EXPECT_EQ(failed(linear), Names{});

  // As published: the root of 1e-6 rounds to 0.
  ReplayCase root = file_of(R"({"signed": false, "sqrt": true, "softsign": false})");
  root.tensors["input"] = at::tensor({1.0F, 0.25F, 1e-6F});
  root.tensors["codes"] = at::tensor({255, 128, 0}, at::kByte);
  root.tensors["scales"] = at::tensor({1.0F}).to(at::kHalf);
  const float half = 128.0F / 255;
  root.tensors["decoded"] = at::tensor({1.0F, half * half, 0.0F});
  root.tolerance.rtol = 1e-6;
  EXPECT_EQ(failed(root), Names{});

  ReplayCase half_precision = error_codes();
  half_precision.function_options =
      Json::parse(R"({"narrow_dtype": "float16", "master_bits": 32})");
  half_precision.tensors["input"] = at::tensor({1.0001220703125F, -2.0F});  // 1 + 2^-13
  half_precision.tensors["codes"] = at::tensor({8192, 0}, at::kShort);      // of 2^-11
  half_precision.tensors["narrow"] = at::tensor({1.0F, -2.0F}).to(at::kHalf);
  half_precision.tensors["decoded"] = at::tensor({1.0001220703125F, -2.0F});
  EXPECT_EQ(failed(half_precision), Names{});
}

TEST(ReplayCodec, FindsEveryDifference) {
  ReplayCase file = softsign();
  file.tensors["codes"] = at::tensor({86, -127, 51}, at::kChar);
  EXPECT_EQ(failed(file), (Names{"codes", "decoded"})) << "decoded is of the file's own codes";
  file.tensors["decoded"] = at::tensor({86.0F / 168, -1.0F, 51.0F / 203});
  EXPECT_EQ(failed(file), Names{"codes"});
  EXPECT_FALSE(replay_case(file).passed);
  file.codes_tolerance = 1;
  EXPECT_EQ(failed(file), Names{});

  file = softsign();
  file.codes_tolerance = 1;
  file.tensors["scales"] = at::tensor({1.0009765625F}).to(at::kHalf);
  EXPECT_EQ(failed(file), (Names{"scales", "decoded"})) << "scales are compared exactly";

  file = error_codes();
  file.codes_tolerance = 1;
  file.tensors["narrow"] = at::tensor({1.0078125F, -2.0F}).to(at::kBFloat16);
  EXPECT_EQ(failed(file), (Names{"narrow", "decoded"}));
}

TEST(ReplayCodec, RefusesWhatWeDoNotHave) {
  const auto refused = [](const ReplayCase& file) { (void)replay_codec(file); };
  ReplayCase file = softsign();
  file.function_options = Json::parse(R"({"signed": false, "group_size": 64})");
  EXPECT_ERROR(ConfigError, refused(file),
               "codec.group_size is 64; it must be 32\n"
               "codec: signed false, sqrt false, softsign true is no format of ours; there are "
               "signed soft-sign codes, signed linear ones and unsigned ones of the square root");
  file.function_options = Json::parse(R"({"signd": true})");
  EXPECT_ERROR(ConfigError, refused(file), "codec.signd is not known; did you mean 'signed'?");

  file = softsign();
  file.tensors.erase("decoded");
  file.tensors["output"] = file.tensors["input"];
  EXPECT_ERROR(ConfigError, refused(file),
               "tensor decoded is missing\n"
               "tensor output is of a kind that no format of ours has");
  file = softsign();
  file.tensors["codes"] = at::tensor({85, -127, 51}, at::kByte);
  file.tensors["scales"] = at::tensor({1.0F, 1.0F}).to(at::kHalf);
  EXPECT_ERROR(ConfigError, refused(file),
               "tensor codes is uint8 [3], ours int8 [3]\n"
               "tensor scales is float16 [2], ours float16 [1]");

  file = error_codes();
  file.function_options = Json::parse(R"({"narrow_dtype": "float32", "master_bits": 16})");
  EXPECT_ERROR(ConfigError, refused(file),
               "codec.narrow_dtype is float32; it must be bfloat16 or float16\n"
               "codec.master_bits is 16; it must be 24 or 32");
  file = error_codes();
  file.tensors.erase("codes");
  ASSERT_TRUE(is_codec(file));
  EXPECT_ERROR(ConfigError, refused(file), "tensor codes is missing");
}

}  // namespace
}  // namespace steepest
