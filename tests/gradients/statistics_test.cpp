#include "steepest/gradients/statistics.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace steepest {
namespace {

TEST(GradientStatistics, CountsByHand) {
  const at::Tensor a = at::full({2, 2}, 3.0), b = at::zeros({3});
  const GradientStats stats =
      gradient_statistics(std::vector<at::Tensor>{a, {}, b, at::empty({0})});
  EXPECT_EQ(stats.sum_of_squares, 36);
  EXPECT_EQ(stats.norm(), 6);
  EXPECT_EQ(stats.zeros, 3);
  EXPECT_EQ(stats.count, 7);
  EXPECT_EQ(stats.non_finite, 0);
}

TEST(GradientReader, EachGradientByItself) {
  at::Tensor a = at::full({100'000}, 1.0), b = at::full({5}, 1.0);
  b[3] = std::numeric_limits<double>::quiet_NaN();
  b[4] = std::numeric_limits<double>::infinity();
  GradientReader reader;
  reader.read(std::vector<at::Tensor>{a, {}, b});
  ASSERT_EQ(reader.stats().size(), 3u);
  EXPECT_EQ(reader.stats()[0], (GradientStats{100'000, 0, 0, 100'000}));
  EXPECT_EQ(reader.stats()[1], GradientStats{});
  EXPECT_EQ(reader.stats()[2].non_finite, 2);
  EXPECT_FALSE(std::isfinite(reader.stats()[2].norm()));
  EXPECT_TRUE(reader.exact().empty());
  // A second read forgets the first.
  reader.read(std::vector<at::Tensor>{at::full({2}, 2.0)});
  ASSERT_EQ(reader.stats().size(), 1u);
  EXPECT_EQ(reader.stats()[0], (GradientStats{8, 0, 0, 2}));
}

TEST(GradientReader, WhatIsKnownIsNotRead) {
  const at::Tensor a = at::full({3}, 2.0), b = at::full({3}, 3.0);
  const GradientStats told{100, 0, 7, 9};
  ExactSquares exact;
  const std::vector<float> ten{10};
  exact.add(std::span<const float>(ten));
  const std::vector<KnownGradient> known{{&told, &exact}, {}};
  GradientReader reader;
  reader.read(std::vector<at::Tensor>{a, b}, SumForm::kExact, known);
  EXPECT_EQ(reader.stats()[0], told);
  EXPECT_EQ(reader.exact()[0].value(), 100);
  EXPECT_EQ(reader.stats()[1].sum_of_squares, 27);
}

TEST(GradientStatistics, ExactSumsDoNotDependOnTheCut) {
  // Values 2^40 apart: any other order or cut rounds differently.
  const at::Tensor g = at::randn({100'000}).mul(at::randn({100'000}).mul(14).exp());
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const at::Tensor typed = g.to(type);
    const auto sum = [](std::vector<at::Tensor> parts) {
      return gradient_statistics(parts, SumForm::kExact).sum_of_squares;
    };
    const double whole = sum({typed});
    EXPECT_EQ(sum({typed.slice(0, 0, 1), typed.slice(0, 1, 77'777), typed.slice(0, 77'777)}),
              whole);
    EXPECT_EQ(sum({typed.flip(0)}), whole);
    EXPECT_EQ(sum({typed.view({250, 400}).t()}), whole);
    EXPECT_NEAR(gradient_statistics(std::vector<at::Tensor>{typed}).sum_of_squares / whole, 1,
                1e-13);
  }
}

TEST(GradientStatistics, AnExactSumWithNonFiniteValuesIsNotFinite) {
  at::Tensor g = at::full({4}, 1.0);
  g[2] = std::nan("");
  const GradientStats stats = gradient_statistics(std::vector<at::Tensor>{g}, SumForm::kExact);
  EXPECT_EQ(stats.non_finite, 1);
  EXPECT_TRUE(std::isnan(stats.sum_of_squares));
}

TEST(GradientStatistics, DoesNotOverflowInFp32) {
  const GradientStats stats = gradient_statistics(std::vector<at::Tensor>{at::full({4}, 1e38f)});
  EXPECT_NEAR(stats.norm() / 2e38, 1, 1e-6);
  EXPECT_EQ(stats.non_finite, 0);
}

TEST(GradientStatistics, StridesTypesAndThreadsDoNotShow) {
  const at::Tensor a = at::randn({301, 517});
  const at::Tensor turned = a.t().contiguous().t();
  const auto sum = [](const at::Tensor& tensor) {
    return gradient_statistics(std::vector<at::Tensor>{tensor}).sum_of_squares;
  };
  const int threads = at::get_num_threads();
  const double two = sum(a);
  EXPECT_EQ(sum(turned), two);
  EXPECT_NEAR(sum(a.to(at::kBFloat16)) / two, 1, 1e-2);
  EXPECT_NEAR(sum(a.to(at::kDouble)) / two, 1, 1e-14);
  EXPECT_NEAR(two, a.to(at::kDouble).square().sum().item<double>(), 1e-6);
  at::set_num_threads(1);
  EXPECT_EQ(sum(a), two);
  at::set_num_threads(threads);
}

TEST(GradientStatistics, AddsUpInParts) {
  GradientStats all{16, 0, 0, 4};
  all += {9, 2, 1, 3};
  EXPECT_EQ(all, (GradientStats{25, 2, 1, 7}));
}

}  // namespace
}  // namespace steepest
