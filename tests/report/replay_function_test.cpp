#include "steepest/report/replay_function.h"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <utility>

#include "steepest/base/error.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

ReplayCase file_of(std::string function, const std::string& options = "{}") {
  ReplayCase file;
  file.function = std::move(function);
  file.function_options = Json::parse(options);
  return file;
}

TEST(ReplayFunction, EachLibraryHasItsOwnDefaults) {
  const auto torch = replay_function_options(file_of("torch-of-any-name"));
  EXPECT_EQ(torch.guard, NormGuard::kClamp);
  EXPECT_EQ(torch.eps, 1e-7);
  EXPECT_EQ(torch.coefficients, std::vector<NsCoefficients>(5, {3.4445, -4.775, 2.0315}));
  EXPECT_EQ(torch.input_dtype, Dtype::kBFloat16);
  EXPECT_EQ(torch.compute_dtype, Dtype::kBFloat16);
  EXPECT_EQ(torch.rounding, Rounding::kR2);

  const auto kj = replay_function_options(file_of("kj"));
  EXPECT_EQ(kj.guard, NormGuard::kAdd);
  EXPECT_EQ(kj.eps, 1e-7);
  EXPECT_EQ(kj.coefficients.size(), 5U);
  ReplayCase rounded = file_of("kj-16x16");
  rounded.rounding = Rounding::kR0;
  EXPECT_EQ(replay_function_options(rounded).rounding, Rounding::kR0Kj);
  rounded.function = "dion-reference";
  EXPECT_EQ(replay_function_options(rounded).rounding, Rounding::kR0);

  const auto quintic = replay_function_options(file_of("dion-newton-schulz"));
  EXPECT_EQ(quintic.coefficients.front(), (NsCoefficients{4.0848, -6.8946, 2.9270}));
  EXPECT_EQ(quintic.eps, 1e-8);
  EXPECT_EQ(quintic.safety, 1);

  const auto polar = replay_function_options(file_of("dion-polar-express-eps"));
  EXPECT_EQ(polar.coefficients.front()[0], 8.156554524902461);
  EXPECT_EQ(polar.safety, 1.02);

  EXPECT_EQ(replay_function_options(file_of("dion-reference")).coefficients.front()[0], 3.4445);
}

TEST(ReplayFunction, OptionsWinOverTheName) {
  ReplayCase file =
      file_of("torch-bf16", R"({"coefficients": [[2, -1.5, 0.5], [1, 0, 0]], "steps": 3, "eps": 0.5,
      "guard": "add", "safety": 1.5, "input_cast": "bf16 first", "iteration_dtype": "float32"})");
  file.rounding = Rounding::kR1;
  const auto o = replay_function_options(file);
  EXPECT_EQ(o.coefficients,
            (std::vector<NsCoefficients>{{2, -1.5, 0.5}, {1, 0, 0}, {2, -1.5, 0.5}}));
  EXPECT_EQ(o.eps, 0.5);
  EXPECT_EQ(o.guard, NormGuard::kAdd);
  EXPECT_EQ(o.safety, 1.5);
  EXPECT_EQ(o.compute_dtype, Dtype::kFloat32);
  EXPECT_EQ(o.rounding, Rounding::kR1);
  EXPECT_EQ(replay_function_options(file_of("dion-reference", R"({"set": "quintic"})"))
                .coefficients.front()[0],
            4.0848);
}

// diag(3, 4) is diag(0.6, 0.8) after normalization; algorithm's polynomial of
// `quintic`: 1.018629, 1.005632.
TEST(ReplayFunction, ComputesInTheDtypeOfTheOptions) {
  ReplayCase file =
      file_of("dion-newton-schulz", R"({"iteration_dtype": "float64", "eps": 1e-12})");
  file.tensors["input"] = at::tensor({3.0, 0.0, 0.0, 4.0}, at::kDouble).view({2, 2});
  const at::Tensor out = replay_function(file).to(at::kDouble);
  EXPECT_NEAR(out[0][0].item<double>(), 1.018629, 1e-6);
  EXPECT_NEAR(out[1][1].item<double>(), 1.005632, 1e-6);
  EXPECT_EQ(out[0][1].item<double>(), 0);
}

TEST(ReplayFunction, RefusesWhatWeDoNotHave) {
  const auto refused = [](const ReplayCase& file) { (void)replay_function_options(file); };
  for (const char* name :
       {"eo-polar-express", "gram-standard", "codec-momentum", "dion-aol", "torchx", "dion"})
    EXPECT_ERROR(ConfigError, refused(file_of(name)),
                 std::string(name) + " is no function that replay has");
  EXPECT_ERROR(ConfigError, refused(file_of("torch", R"({"coefficients": [[1, 2]]})")),
               "torch.coefficients is [1, 2]; it must be three numbers an iteration");
  EXPECT_ERROR(ConfigError, refused(file_of("kj", R"({"steps": 0})")),
               "kj.steps is 0; it must be in 1 .. 99");
  EXPECT_ERROR(ConfigError, refused(file_of("kj", R"({"resets": [1]})")),
               "kj.resets is not known; did you mean 'set'?");
  EXPECT_ERROR(ConfigError, refused(file_of("kj", R"({"guard": "none"})")),
               "kj.guard is 'none'; it must be one of add, clamp, scale_free");
  EXPECT_ERROR(ConfigError, refused(file_of("kj", R"({"coefficients": 3})")),
               "kj.coefficients is the number 3; it must be a list of [a, b, c]");
  EXPECT_ERROR(ConfigError, refused(file_of("kj", R"([1])")),
               "kj is a list of 1; it must be a map of options");
  EXPECT_ERROR(ConfigError, refused(file_of("kj", R"({"iteration_dtype": "int8"})")),
               "kj.iteration_dtype is int8; it must be a floating-point type");
  EXPECT_ERROR(ConfigError, (void)replay_function(file_of("kj")), "tensor input is missing");
}

}  // namespace
}  // namespace steepest
