#include "steepest/optimizers/muon_options.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace steepest {
namespace {

TEST(MuonOptions, PresetsAreTheOriginals) {
  const MuonOptions torch = MuonOptions::torch(), dion = MuonOptions::dion(),
                    kj = MuonOptions::kj();
  EXPECT_EQ(torch.lr, 1e-3);
  EXPECT_EQ(torch.weight_decay, 0.1);
  EXPECT_TRUE(torch.nesterov);
  EXPECT_EQ(torch.guard, NormGuard::kClamp);
  EXPECT_EQ(dion.lr, 0.01);
  EXPECT_EQ(dion.weight_decay, 0.01);
  EXPECT_FALSE(dion.nesterov);
  EXPECT_EQ(dion.momentum_form, MomentumForm::kHeavyBall);
  EXPECT_EQ(dion.coefficients, CoefficientSet::kPolarExpress);
  EXPECT_EQ(dion.safety, 1.02);
  EXPECT_EQ(dion.scale, ScaleMode::kUnitRmsNorm);
  EXPECT_EQ(kj.lr, 0.02);
  EXPECT_EQ(kj.weight_decay, 0);
  EXPECT_EQ(kj.missing_gradient, MissingGradient::kZero);
  for (const MuonOptions& each : {torch, dion, kj, MuonOptions{}})
    EXPECT_NO_THROW(validate(each, "muon"));
}

TEST(MuonOptions, ScaleModesHaveTheNamesOfEveryLibrary) {
  EXPECT_EQ(parse_spelling<ScaleMode>("spectral_norm"), ScaleMode::kUnitRmsNorm);
  EXPECT_EQ(parse_spelling<ScaleMode>("rms_norm"), ScaleMode::kMatchRmsAdamW);
  EXPECT_EQ(parse_spelling<ScaleMode>("original"), ScaleMode::kShapeScaling);
  EXPECT_EQ(parse_spelling<ScaleMode>("spectral"), ScaleMode::kSpectral);
}

TEST(MuonOptions, RefusesNonsense) {
  EXPECT_ERROR(ConfigError, validate(MuonOptions{.momentum = 1}, "m"),
               "m.momentum is 1; it must be in [0, 1)");
  EXPECT_ERROR(ConfigError, validate(MuonOptions{.steps = 0}, "m"),
               "m.steps is 0; it must be in 1 .. 99");
  EXPECT_ERROR(ConfigError, validate(MuonOptions{.steps = 100}, "m"),
               "m.steps is 100; it must be in 1 .. 99");
  EXPECT_ERROR(ConfigError, validate(MuonOptions{.custom_coefficients = {1, 2}}, "m"),
               "m.custom_coefficients is [1, 2]; it must be three numbers for each iteration");
  EXPECT_ERROR(ConfigError,
               validate(MuonOptions{.coefficients = CoefficientSet::kQuintic, .steps = 6}, "m"),
               "m.steps is 6; it must be a multiple of the 5 coefficients of the list; or set "
               "allow_partial_cycle: a "
               "restarted list can turn the update around");
  EXPECT_ERROR(ConfigError, validate(MuonOptions{.compute_dtype = Dtype::kInt32}, "m"),
               "m.compute_dtype is int32; it must be a floating point type");
  EXPECT_ERROR(ConfigError, validate(MuonOptions{.eps = 0}, "m"),
               "m.eps is 0; it must be finite and above 0");
  EXPECT_ERROR(ConfigError, validate(MuonOptions{.safety = 0.5}, "m"),
               "m.safety is 0.5; it must be finite and at least 1");
}

TEST(MuonOptions, RefusesRatesThatFp32CannotHold) {
  for (const double good : {0.0, 1e-45, 1e-3, 3.4e38})
    EXPECT_NO_THROW(validate(MuonOptions{.lr = good}, "o"));
  EXPECT_ERROR(ConfigError, validate(MuonOptions{.lr = 1e39}, "o"),
               "o.lr is 1e+39; it must be 0, or between 1e-45 and 3.4e38; updates multiply with it "
               "in fp32, where it would be 0 or infinite");
  EXPECT_ERROR(ConfigError, validate(MuonOptions{.lr = 1e-46}, "o"),
               "o.lr is 1e-46; it must be 0, or between 1e-45 and 3.4e38; updates multiply with it "
               "in fp32, where it would be 0 or infinite");
  EXPECT_ERROR(ConfigError, validate(MuonOptions{.lr = -1e39}, "o"),
               "o.lr is -1e+39; it must be finite and not negative");
}

}  // namespace
}  // namespace steepest
