#include <fmt/format.h>
#include <gtest/gtest.h>

#include "steepest/recipe/optimizer_config.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

OptimizerConfig read(const Json& section) {
  Rules rules("optimizer");
  OptimizerConfig config = read_optimizer_config(section, rules);
  rules.enforce();
  return config;
}

TEST(OptimizerSection, NamesMeanWhatTheyMeanInTheirStack) {
  EXPECT_TRUE(std::holds_alternative<AdamWConfig>(read({{"_target_", "adamw"}})));
  EXPECT_TRUE(std::holds_alternative<AdamConfig>(read({{"name", "ADAM"}})));
  EXPECT_TRUE(std::holds_alternative<MuonConfig>(read({{"_target_", "dion.Muon"}})));
  // torch's name alone is dion's rule, as in AutoModel; an option that only torch's has makes it
  // torch's.
  EXPECT_TRUE(
      std::holds_alternative<MuonConfig>(read({{"_target_", "torch.optim.Muon"}, {"lr", 0.1}})));
  const auto torch =
      std::get<RuleConfig>(read({{"_target_", "torch.optim.Muon"}, {"momentum", 0.9}}));
  EXPECT_EQ(std::get<MuonOptions>(torch.matrices).guard, NormGuard::kClamp);
  EXPECT_EQ(std::get<MuonOptions>(torch.matrices).momentum, 0.9);
  // Without a name: torch.optim.AdamW with torch's own defaults.
  EXPECT_EQ(std::get<AdamWOptions>(std::get<RuleConfig>(read({{"lr", 0.5}})).matrices),
            (AdamWOptions{.lr = 0.5}));
}

TEST(OptimizerSection, ExecutionOnlyOptionsAreKnown) {
  EXPECT_NO_THROW(read({{"_target_", "torch.optim.AdamW"},
                        {"foreach", true},
                        {"fused", true},
                        {"capturable", false}}));
  EXPECT_ERROR(ConfigError, read({{"_target_", "steepest.AdamW"}, {"fused", true}}),
               fmt::format("optimizer.fused is not known; known here: {}",
                           fmt::join(field_names<AdamWOptions>(), ", ")));
}

TEST(OptimizerSection, OwnMuonTakesTheRestsOptions) {
  const auto config = std::get<RuleConfig>(read({{"_target_", "steepest.Muon"},
                                                 {"lr", 0.04},
                                                 {"scalar_lr", 0.004},
                                                 {"scalar_opt", "lion"},
                                                 {"scalar_betas", {0.5, 0.6}}}));
  EXPECT_EQ(std::get<MuonOptions>(config.matrices).lr, 0.04);
  EXPECT_EQ(std::get<LionOptions>(config.rest),
            (LionOptions{.lr = 0.004, .betas = {0.5, 0.6}, .weight_decay = 0}));
}

TEST(OptimizerSection, UnknownNamesAndKeysNameTheNearest) {
  try {
    read({{"_target_", "torch.optim.AdmaW"}});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'torch.optim.AdamW'?"),
              std::string::npos)
        << error.what();
  }
  EXPECT_ERROR(ConfigError, read({{"_target_", "muon"}, {"scalar_lrr", 1}}),
               "optimizer.scalar_lrr is not known; did you mean 'scalar_lr'?");
  EXPECT_ERROR(ConfigError, read(Json::array()),
               "optimizer is a list of 0; it must be a map of options");
  EXPECT_ERROR(ConfigError, read({{"_target_", 3}}),
               "optimizer._target_ is the number 3; it must be a text");
}

TEST(OptimizerSection, AnEmptySectionIsTorchsAdamW) {
  for (const Json& section : {Json(nullptr), Json::object(), Json({{"_target_", nullptr}}),
                              Json({{"_target_", "torch.optim.AdamW"}})})
    EXPECT_EQ(read(section), OptimizerConfig(RuleConfig{})) << section;
}

TEST(OptimizerSection, TwoNamesMustAgree) {
  EXPECT_TRUE(
      std::holds_alternative<MuonConfig>(read({{"_target_", "dion.Muon"}, {"name", "muon"}})));
  EXPECT_ERROR(ConfigError, read({{"_target_", "torch.optim.AdamW"}, {"name", "muon"}}),
               "optimizer.name is 'muon'; the same section names 'torch.optim.AdamW', which is "
               "another optimizer; give one of _target_ and name");
  EXPECT_ERROR(ConfigError, read({{"name", "sgd"}, {"_target_", "lion"}}),
               "optimizer._target_ is 'lion'; the same section names 'sgd', which is another "
               "optimizer; give one of _target_ and name");
}

TEST(OptimizerSection, RulesToComeAreCalledKnown) {
  EXPECT_ERROR(ConfigError, read({{"_target_", "dion.NorMuon"}}),
               "optimizer._target_ is 'dion.NorMuon'; it is known and not supported here yet; "
               "there are adamw, adam, muon, dion.Muon, torch.optim.AdamW, torch.optim.Adam, "
               "torch.optim.SGD, torch.optim.Muon, sgd, lion, "
               "emerging_optimizers.scalar_optimizers.Lion, steepest.AdamW, steepest.Adam, "
               "steepest.SGD, steepest.Lion, steepest.Muon");
}

TEST(OptimizerSection, WritesWhatItReads) {
  for (const OptimizerConfig& config :
       {OptimizerConfig(AdamWConfig{.lr = 0.3}),
        OptimizerConfig(MuonConfig{.lr = 0.1, .embed_lr = 0.2, .adjust_lr = std::nullopt}),
        OptimizerConfig(RuleConfig{.matrices = SGDOptions{.lr = 2}, .rest = SGDOptions{.lr = 2}})})
    EXPECT_EQ(read(write_optimizer_config(config)), config);
}

}  // namespace
}  // namespace steepest
