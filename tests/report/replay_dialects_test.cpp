#include "steepest/report/replay_dialects.h"

#include <gtest/gtest.h>

#include <variant>

#include "steepest/base/error.h"
#include "tests/report/replay_targets_fixture.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

using testing_replay::file_of;
using testing_replay::matrix_only;
using testing_replay::only;

TEST(ReplayDialects, TorchDefaults) {
  const auto adam =
      only<AdamOptions>(replay_targets(file_of(R"({"_target_": "torch.optim.Adam"})")));
  EXPECT_EQ(adam, (AdamOptions{.lr = 1e-3, .betas = {0.9, 0.999}, .eps = 1e-8, .weight_decay = 0}));
  const auto adamw =
      only<AdamWOptions>(replay_targets(file_of(R"({"_target_": "torch.optim.AdamW"})")));
  EXPECT_EQ(adamw,
            (AdamWOptions{.lr = 1e-3, .betas = {0.9, 0.999}, .eps = 1e-8, .weight_decay = 0.01}));
  const auto sgd = only<SGDOptions>(replay_targets(file_of(R"({"_target_": "torch.optim.SGD"})")));
  EXPECT_EQ(sgd, (SGDOptions{.lr = 1e-3, .momentum = 0, .dampening = 0, .weight_decay = 0}));
}

TEST(ReplayDialects, TorchStateNames) {
  const auto targets = replay_targets(file_of(R"({"_target_": "torch.optim.AdamW"})"));
  EXPECT_EQ(targets[0].params, (std::vector<std::string>{"w", "b", "c"}));
  EXPECT_EQ(targets[0].state_names.at("exp_avg_sq"), "exp_avg_sq");
  EXPECT_EQ(targets[0].state_names.at("step"), "step");
  EXPECT_FALSE(targets[0].zero_for_missing);
}

TEST(ReplayDialects, ExecutionOnlyOptionsChangeNothing) {
  const auto plain = replay_targets(file_of(R"({"_target_": "torch.optim.AdamW", "lr": 0.5})"));
  const auto fused =
      replay_targets(file_of(R"({"_target_": "torch.optim.AdamW", "lr": 0.5, "fused": true,
      "foreach": null, "capturable": false, "differentiable": false})"));
  EXPECT_EQ(plain[0].options, fused[0].options);
}

TEST(ReplayDialects, TorchMuon) {
  const auto plain =
      only<MuonOptions>(replay_targets(matrix_only(R"({"_target_": "torch.optim.Muon"})")));
  EXPECT_EQ(plain.lr, 1e-3);
  EXPECT_EQ(plain.weight_decay, 0.1);
  EXPECT_EQ(plain.momentum_form, MomentumForm::kEma);
  EXPECT_EQ(plain.guard, NormGuard::kClamp);
  EXPECT_EQ(plain.custom_coefficients, (std::vector<double>{3.4445, -4.775, 2.0315}));
  EXPECT_EQ(plain.scale, ScaleMode::kShapeScaling);
  EXPECT_EQ(plain.momentum_dtype, std::nullopt);
  EXPECT_EQ(plain.compute_dtype, Dtype::kBFloat16);
  EXPECT_TRUE(plain.nesterov);

  const auto set = only<MuonOptions>(replay_targets(matrix_only(
      R"({"_target_": "torch.optim.Muon", "lr": 1, "weight_decay": 2, "momentum": 0.5, "nesterov": false,
          "ns_coefficients": [2, -1.5, 0.5], "eps": 0.25, "ns_steps": 8, "adjust_lr_fn": "match_rms_adamw"})")));
  EXPECT_EQ(set.lr, 1);
  EXPECT_EQ(set.weight_decay, 2);
  EXPECT_EQ(set.momentum, 0.5);
  EXPECT_FALSE(set.nesterov);
  EXPECT_EQ(set.custom_coefficients, (std::vector<double>{2, -1.5, 0.5}));
  EXPECT_EQ(set.eps, 0.25);
  EXPECT_EQ(set.steps, 8);
  EXPECT_EQ(set.scale, ScaleMode::kMatchRmsAdamW);
  const auto none = only<MuonOptions>(
      replay_targets(matrix_only(R"({"_target_": "torch.optim.Muon", "adjust_lr_fn": null})")));
  EXPECT_EQ(none.scale, ScaleMode::kShapeScaling);
}

TEST(ReplayDialects, TheFileSaysHowTheReferenceRounded) {
  ReplayCase file = matrix_only(R"({"_target_": "dion.Muon"})");
  file.rounding = Rounding::kR0;
  EXPECT_EQ(only<MuonOptions>(replay_targets(file)).rounding, Rounding::kR0);
  EXPECT_EQ(only<MuonOptions>(replay_targets(file)).compute_dtype, Dtype::kBFloat16);
  file.float64_input = Dtype::kBFloat16;
  EXPECT_EQ(only<MuonOptions>(replay_targets(file)).compute_dtype, Dtype::kFloat64);
  EXPECT_EQ(only<MuonOptions>(replay_targets(file)).input_dtype, Dtype::kBFloat16);
  file.float64_input = Dtype::kFloat32;
  EXPECT_EQ(only<MuonOptions>(replay_targets(file)).input_dtype, std::nullopt);
}

// KellerJordan's file rounds c A before it is multiplied.
TEST(ReplayDialects, KjRoundsInItsOwnOrder) {
  ReplayCase file = matrix_only(R"({"_target_": "muon.Muon"})");
  EXPECT_EQ(only<MuonOptions>(replay_targets(file)).rounding, Rounding::kR2);
  file.rounding = Rounding::kR0;
  EXPECT_EQ(only<MuonOptions>(replay_targets(file)).rounding, Rounding::kR0Kj);
}

TEST(ReplayDialects, DionMuon) {
  const auto plain = only<MuonOptions>(replay_targets(matrix_only(R"({"_target_": "dion.Muon"})")));
  EXPECT_EQ(plain.lr, 0.01);
  EXPECT_EQ(plain.weight_decay, 0.01);
  EXPECT_EQ(plain.momentum_form, MomentumForm::kHeavyBall);
  EXPECT_FALSE(plain.nesterov);
  EXPECT_EQ(plain.coefficients, CoefficientSet::kPolarExpress);
  EXPECT_EQ(plain.safety, 1.02);
  EXPECT_EQ(plain.eps, 1e-8);
  EXPECT_EQ(plain.scale, ScaleMode::kUnitRmsNorm);
  EXPECT_EQ(plain.higher_dims, HigherDims::kBatch);

  const auto set = only<MuonOptions>(replay_targets(matrix_only(
      R"({"_target_": "dion.Muon", "mu": 0.5, "use_polar_express": false, "adjust_lr": null,
                      "flatten": true, "epsilon": 0.5, "nesterov": true, "use_triton": false})")));
  EXPECT_EQ(set.momentum, 0.5);
  EXPECT_EQ(set.coefficients, CoefficientSet::kQuintic);
  EXPECT_EQ(set.safety, 1);
  EXPECT_EQ(set.scale, ScaleMode::kNone);
  EXPECT_EQ(set.higher_dims, HigherDims::kFlatten);
  EXPECT_EQ(set.eps, 0.5);
  EXPECT_TRUE(set.nesterov);
  EXPECT_EQ(only<MuonOptions>(replay_targets(matrix_only(
                                  R"({"_target_": "dion.Muon", "adjust_lr": "rms_norm"})")))
                .scale,
            ScaleMode::kMatchRmsAdamW);
}

TEST(ReplayDialects, DionScalarGroups) {
  const auto targets = replay_targets(file_of(
      R"({"_target_": "dion.Muon", "lr": 0.5, "betas": [0.25, 0.75], "weight_decay": 0.125})",
      R"([{"params": ["w"]}, {"params": ["b"], "algorithm": "adamw", "epsilon": 1e-6},
          {"params": ["c"], "algorithm": "lion", "lr": 0.25, "beta1": 0.5, "weight_decay": 0}])"));
  ASSERT_EQ(targets.size(), 3U);
  EXPECT_EQ(std::get<AdamWOptions>(targets[1].options),
            (AdamWOptions{.lr = 0.5, .betas = {0.25, 0.75}, .eps = 1e-6, .weight_decay = 0.125}));
  EXPECT_EQ(targets[1].state_names.at("momentum"), "exp_avg");
  EXPECT_EQ(targets[1].state_names.at("variance"), "exp_avg_sq");
  EXPECT_EQ(targets[1].state_names.at("step_dev"), "step");
  EXPECT_EQ(std::get<LionOptions>(targets[2].options),
            (LionOptions{.lr = 0.25, .betas = {0.5, 0.75}, .weight_decay = 0}));
  EXPECT_EQ(targets[0].state_names.at("momentum"), "momentum_buffer");
}

TEST(ReplayDialects, KjMuon) {
  ReplayCase file = file_of(R"({"_target_": "muon.SingleDeviceMuon", "momentum": 0.5})");
  const auto targets = replay_targets(file);
  ASSERT_EQ(targets.size(), 1U);
  const auto& muon = std::get<MuonOptions>(targets[0].options);
  EXPECT_EQ(muon.lr, 0.02);
  EXPECT_EQ(muon.momentum, 0.5);
  EXPECT_EQ(muon.weight_decay, 0);
  EXPECT_TRUE(muon.nesterov);
  EXPECT_EQ(muon.guard, NormGuard::kAdd);
  EXPECT_EQ(muon.scale_shape, ScaleShape::kLastTwo);
  EXPECT_EQ(muon.higher_dims, HigherDims::kFlattenConv);
  EXPECT_TRUE(targets[0].zero_for_missing);
}

TEST(ReplayDialects, KjWithAuxAdam) {
  const auto targets = replay_targets(file_of(R"({"_target_": "muon.MuonWithAuxAdam"})",
                                              R"([{"params": ["w"], "use_muon": true, "lr": 0.5},
                                                  {"params": ["b", "c"], "use_muon": false}])"));
  ASSERT_EQ(targets.size(), 2U);
  EXPECT_EQ(std::get<MuonOptions>(targets[0].options).lr, 0.5);
  EXPECT_EQ(std::get<AdamWOptions>(targets[1].options),
            (AdamWOptions{.lr = 3e-4, .betas = {0.9, 0.95}, .eps = 1e-10, .weight_decay = 0}));
  EXPECT_TRUE(targets[1].zero_for_missing);
}

TEST(ReplayDialects, EoLion) {
  const auto lion = only<LionOptions>(replay_targets(file_of(
      R"({"_target_": "emerging_optimizers.scalar_optimizers.Lion", "weight_decay_method": "decoupled"})")));
  EXPECT_EQ(lion, (LionOptions{.lr = 1e-4, .betas = {0.9, 0.99}, .weight_decay = 0.01}));
}

TEST(ReplayDialects, RefusesWhatWeHaveNoRuleFor) {
  const auto refused = [](const ReplayCase& file) { (void)replay_targets(file); };
  EXPECT_ERROR(ConfigError,
               refused(matrix_only(R"({"_target_": "dion.Muon", "cautious_wd": true})")),
               "dion.Muon.cautious_wd is set, which no rule of ours has; weights decay there only "
               "where the update "
               "agrees with their sign");
  EXPECT_ERROR(ConfigError,
               refused(matrix_only(R"({"_target_": "dion.Muon", "use_gram_newton_schulz": true})")),
               "dion.Muon.use_gram_newton_schulz is set, which no rule of ours has; the Gram form "
               "rounds otherwise");
  EXPECT_ERROR(ConfigError,
               refused(file_of(R"({"_target_": "dion.Muon"})",
                               R"([{"params": ["w"], "num_heads": 2}, {"params": ["c"]}])")),
               "dion.Muon groups[0].num_heads is set, which no rule of ours has; each head is "
               "orthogonalized by itself "
               "there");
  EXPECT_ERROR(ConfigError,
               refused(matrix_only(R"({"_target_": "dion.Muon", "split_sizes": [2, 2]})")),
               "dion.Muon.split_sizes is set, which no rule of ours has; each part is "
               "orthogonalized by itself there");
  EXPECT_ERROR(ConfigError,
               refused(matrix_only(R"({"_target_": "dion.Muon", "newton_schulz_func": "f"})")),
               "dion.Muon.newton_schulz_func is set, which no rule of ours has; a function of the "
               "user's own");
  EXPECT_ERROR(
      ConfigError,
      refused(file_of(
          R"({"_target_": "emerging_optimizers.scalar_optimizers.Lion", "weight_decay_method": "palm"})")),
      "emerging_optimizers.scalar_optimizers.Lion.weight_decay_method is set, which no rule of "
      "ours has; our Lion "
      "decays decoupled alone");
  EXPECT_ERROR(
      ConfigError,
      refused(file_of(R"({"_target_": "muon.MuonWithAuxAdam"})", R"([{"params": ["w"]}])")),
      "muon.MuonWithAuxAdam groups[0].use_muon is missing; it says which rule the group has");
  EXPECT_ERROR(
      ConfigError,
      refused(matrix_only(R"({"_target_": "torch.optim.Muon", "ns_coefficients": [1, 2]})")),
      "torch.optim.Muon.ns_coefficients is [1, 2]; it must be three numbers");
}

struct Refused {
  std::string optimizer;
  std::string named;  ///< what the error must speak of
};

TEST(ReplayDialects, RefusesUnknownAndMistypedOptions) {
  const Refused all[] = {
      {R"({"_target_": "torch.optim.AdamW", "learning_rate": 1})", "learning_rate"},
      {R"({"_target_": "torch.optim.SGD", "betas": [0, 0]})", "betas"},
      {R"({"_target_": "torch.optim.Adam", "lr": null})", "torch.optim.Adam.lr"},
      {R"({"_target_": "torch.optim.Muon", "adjust_lr_fn": "rms"})", "adjust_lr_fn"},
      {R"({"_target_": "dion.Muon", "adjust_lr": "original"})", "adjust_lr"},
      {R"({"_target_": "dion.Muon", "algorithm": "adam"})", "algorithm"},
      {R"({"_target_": "muon.Muon", "nesterov": false})", "nesterov"},
  };
  for (const Refused& each : all) {
    try {
      (void)replay_targets(file_of(each.optimizer));
      ADD_FAILURE() << each.optimizer << " was accepted";
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.problems().size(), 1U) << error.what();
      EXPECT_NE(std::string(error.what()).find(each.named), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace steepest
