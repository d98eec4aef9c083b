#include "steepest/report/replay_targets.h"

#include <gtest/gtest.h>

#include <variant>

#include "steepest/base/error.h"
#include "tests/report/replay_targets_fixture.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

using testing_replay::file_of;

TEST(ReplayTargets, WithoutGroupsEveryParameterHasTheOneRule) {
  const auto targets = replay_targets(file_of(R"({"_target_": "torch.optim.AdamW", "lr": 0.5})"));
  ASSERT_EQ(targets.size(), 1U);
  EXPECT_EQ(targets[0].name, "torch.optim.AdamW");
  EXPECT_EQ(targets[0].params, (std::vector<std::string>{"w", "b", "c"}));
  EXPECT_EQ(std::get<AdamWOptions>(targets[0].options).lr, 0.5);
}

TEST(ReplayTargets, GroupsOverrideTheOptimizer) {
  const auto targets = replay_targets(file_of(
      R"({"_target_": "torch.optim.AdamW", "lr": 0.5, "eps": 1e-6})",
      R"([{"params": ["w", "c"], "weight_decay": 0.25}, {"params": ["b"], "lr": 0.125, "betas": [0.5, 0.75]}])"));
  ASSERT_EQ(targets.size(), 2U);
  EXPECT_EQ(std::get<AdamWOptions>(targets[0].options),
            (AdamWOptions{.lr = 0.5, .eps = 1e-6, .weight_decay = 0.25}));
  EXPECT_EQ(std::get<AdamWOptions>(targets[1].options),
            (AdamWOptions{.lr = 0.125, .betas = {0.5, 0.75}, .eps = 1e-6, .weight_decay = 0.01}));
  EXPECT_EQ(targets[1].params, (std::vector<std::string>{"b"}));
}

TEST(ReplayTargets, AGroupHasItsPlaceInItsName) {
  const auto targets = replay_targets(file_of(R"({"_target_": "torch.optim.SGD"})",
                                              R"([{"params": ["c"]}, {"params": ["w", "b"]}])"));
  ASSERT_EQ(targets.size(), 2U);
  EXPECT_EQ(targets[0].name, "torch.optim.SGD groups[0]");
  EXPECT_EQ(targets[1].name, "torch.optim.SGD groups[1]");
}

TEST(ReplayTargets, RefusesAnUnknownTarget) {
  EXPECT_ERROR(ConfigError, (void)replay_targets(file_of(R"({"_target_": "torch.optim.Rprop"})")),
               "torch.optim.Rprop is no optimizer that replay has a rule for");
  EXPECT_ERROR(ConfigError, (void)replay_targets(file_of(R"({"_target_": ""})")),
               " is no optimizer that replay has a rule for");
}

TEST(ReplayTargets, SaysTheProblemsOfEveryGroupTogether) {
  try {
    (void)replay_targets(
        file_of(R"({"_target_": "torch.optim.SGD"})",
                R"([{"params": ["w", "b"], "lr": "fast"}, {"params": ["c"], "speed": 1}])"));
    ADD_FAILURE() << "accepted";
  } catch (const ConfigError& error) {
    ASSERT_EQ(error.problems().size(), 2U) << error.what();
    EXPECT_NE(error.problems()[0].what.find("groups[0].lr"), std::string::npos) << error.what();
    EXPECT_NE(error.problems()[1].what.find("groups[1].speed"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace steepest
