#include "steepest/optimizers/torch_muon_options.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace steepest {
namespace {

// The defaults are the dialect's preset, the published coefficients given by their numbers.
TEST(TorchMuonOptions, DefaultsAreTheDialect) {
  MuonOptions want = MuonOptions::torch();
  want.custom_coefficients = {3.4445, -4.775, 2.0315};
  EXPECT_EQ(muon_options({}), want);
}

TEST(TorchMuonOptions, EveryOptionArrives) {
  const MuonOptions got = muon_options({.lr = 0.1,
                                        .weight_decay = 0.2,
                                        .momentum = 0.3,
                                        .nesterov = false,
                                        .ns_coefficients = {1, 2, 3},
                                        .eps = 0.4,
                                        .ns_steps = 7,
                                        .adjust_lr_fn = TorchAdjustLr::kMatchRmsAdamW});
  EXPECT_EQ(got.lr, 0.1);
  EXPECT_EQ(got.weight_decay, 0.2);
  EXPECT_EQ(got.momentum, 0.3);
  EXPECT_FALSE(got.nesterov);
  EXPECT_EQ(got.custom_coefficients, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(got.eps, 0.4);
  EXPECT_EQ(got.steps, 7);
  EXPECT_EQ(got.scale, ScaleMode::kMatchRmsAdamW);
}

TEST(TorchMuonOptions, RefusesWhatTorchRefuses) {
  EXPECT_ERROR(ConfigError, validate(TorchMuonOptions{.ns_coefficients = {1, 2}}, "o"),
               "o.ns_coefficients is [1, 2]; it must be three numbers");
  EXPECT_ERROR(ConfigError, validate(TorchMuonOptions{.ns_steps = 100}, "o"),
               "o.ns_steps is 100; it must be in 1 .. 99");
  EXPECT_EQ(parse_spelling<TorchAdjustLr>("spectral"), std::nullopt);
}

}  // namespace
}  // namespace steepest
