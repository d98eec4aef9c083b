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
  EXPECT_FALSE(stats.first_non_finite.has_value());
}

TEST(GradientStatistics, NamesTheFirstThatIsNotFinite) {
  at::Tensor a = at::full({100'000}, 1.0), b = at::full({5}, 1.0);
  b[3] = std::numeric_limits<double>::quiet_NaN();
  b[4] = std::numeric_limits<double>::infinity();
  const GradientStats stats = gradient_statistics(std::vector<at::Tensor>{a, b, b});
  EXPECT_EQ(stats.non_finite, 4);
  EXPECT_EQ(stats.first_non_finite, 1u);
  EXPECT_FALSE(std::isfinite(stats.norm()));
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
  at::Tensor bad = at::full({2}, 1.0);
  bad[0] = std::nan("");
  GradientStats all = gradient_statistics(std::vector<at::Tensor>{at::full({4}, 2.0)});
  all.add(gradient_statistics(std::vector<at::Tensor>{at::zeros({1}), bad}), 1);
  EXPECT_EQ(all.zeros, 1);
  EXPECT_EQ(all.count, 7);
  EXPECT_EQ(all.first_non_finite, 2u);
}

}  // namespace
}  // namespace steepest
