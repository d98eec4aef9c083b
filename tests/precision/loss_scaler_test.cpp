#include "steepest/precision/loss_scaler.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "tests/support/errors.h"

namespace steepest {
namespace {

LossScaleConfig small() {
  return {.mode = LossScaling::kDynamic,
          .initial_loss_scale = 16,
          .min_loss_scale = 1,
          .loss_scale_window = 3,
          .hysteresis = 2};
}

std::vector<double> scales(LossScaler& scaler, const std::vector<int>& overflows) {
  std::vector<double> all;
  for (const int each : overflows) {
    scaler.update(each != 0);
    all.push_back(scaler.scale());
  }
  return all;
}

TEST(LossScaler, FollowsTheWorkedTrace) {
  LossScaler scaler(small());
  EXPECT_EQ(scales(scaler, {1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1}),
            (std::vector<double>{16, 16, 8, 4, 4, 4, 2, 2, 2, 4, 4, 2}));
}

TEST(LossScaler, CountsHysteresisAsTheTraceDoes) {
  LossScaler scaler(small());
  std::vector<int> left;
  for (const int overflow : {1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1}) {
    scaler.update(overflow != 0);
    left.push_back(scaler.save()["hysteresis_tracker"].get<int>());
  }
  EXPECT_EQ(left, (std::vector<int>{1, 1, 0, -1, -1, -1, -2, -2, -2, 2, 1, 0}));
}

TEST(LossScaler, StaysAtItsMinimumAndGrowsFromThere) {
  LossScaleConfig config = small();
  config.initial_loss_scale = 4;
  LossScaler scaler(config);
  EXPECT_EQ(scales(scaler, {1, 1, 1, 1, 1, 1, 0, 0, 0}),
            (std::vector<double>{4, 2, 1, 1, 1, 1, 1, 1, 2}));
}

TEST(LossScaler, SeventeenOverflowsBringTheDefaultDownToAHundredThousandth) {
  LossScaler scaler({.mode = LossScaling::kDynamic});
  for (int i = 0; i < 17; ++i) scaler.update(true);
  EXPECT_EQ(scaler.scale(), 65536);
}

TEST(LossScaler, NeverGrowsAboveItsMaximum) {
  LossScaleConfig config = small();
  config.max_loss_scale = 32;
  LossScaler scaler(config);
  for (int i = 0; i < 30; ++i) scaler.update(false);
  EXPECT_EQ(scaler.scale(), 32);
}

TEST(LossScaler, GoesOnAfterLoadingAsIfNeverStopped) {
  LossScaler whole(small()), first(small()), second(small());
  scales(whole, {1, 0, 1, 1, 0, 0, 1});
  scales(first, {1, 0, 1, 1, 0, 0, 1});
  second.load(first.save(), "saved");
  EXPECT_EQ(scales(second, {0, 0, 0, 1, 1}), scales(whole, {0, 0, 0, 1, 1}));
}

TEST(LossScaler, TheInverseIsRoundedToFp32Once) {
  const LossScaler scaler({.mode = LossScaling::kConstant, .loss_scale = 3});
  EXPECT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(scaler.inverse())), 0x3EAAAAABu);
}

TEST(LossScaler, AConstantOneStaysAndSavesNothing) {
  LossScaler scaler({.mode = LossScaling::kConstant, .loss_scale = 128});
  for (int i = 0; i < 5; ++i) scaler.update(true);
  EXPECT_EQ(scaler.scale(), 128);
  EXPECT_TRUE(scaler.save().empty());
  scaler.load(Json{{"scale", 7}}, "saved");
  EXPECT_EQ(scaler.scale(), 128);
  EXPECT_FALSE(LossScaler().enabled());
  EXPECT_EQ(LossScaler().scale(), 1);
}

TEST(LossScaler, RefusesNonsense) {
  const auto with = [](auto set) {
    LossScaleConfig config = small();
    set(config);
    return config;
  };
  EXPECT_ERROR(ConfigError, LossScaler(with([](auto& c) { c.min_loss_scale = 32; })),
               "loss_scale.min_loss_scale is 32; it must be at most initial_loss_scale");
  EXPECT_ERROR(ConfigError, LossScaler(with([](auto& c) { c.max_loss_scale = 8; })),
               "loss_scale.max_loss_scale is 8; it must be at least initial_loss_scale");
  EXPECT_ERROR(ConfigError, LossScaler(with([](auto& c) { c.growth_factor = 1; })),
               "loss_scale.growth_factor is 1; it must be finite and above 1");
  EXPECT_ERROR(ConfigError, LossScaler(with([](auto& c) { c.backoff_factor = 1; })),
               "loss_scale.backoff_factor is 1; it must be above 0 and below 1");
  EXPECT_ERROR(ConfigError, LossScaler(with([](auto& c) { c.loss_scale_window = 0; })),
               "loss_scale.loss_scale_window is 0; it must be 1 or more");
  EXPECT_ERROR(ConfigError, LossScaler(with([](auto& c) { c.hysteresis = 0; })),
               "loss_scale.hysteresis is 0; it must be 1 or more");
  EXPECT_ERROR(ConfigError, LossScaler({.mode = LossScaling::kConstant, .loss_scale = 0}),
               "loss_scale.loss_scale is 0; it must be finite and above 0");
  LossScaler scaler(small());
  EXPECT_ERROR(ConfigError, scaler.load(Json{{"scale", -1}}, "saved"),
               "saved.scale is -1; it must be finite and above 0");
  EXPECT_EQ(scaler.scale(), 16);
}

}  // namespace
}  // namespace steepest
