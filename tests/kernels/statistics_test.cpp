#include "steepest/kernels/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "steepest/kernels/codecs.h"
#include "tests/support/every_target.h"

namespace steepest::kernels {
namespace {

using test::on_every_target;

TEST(Statistics, AreTheSumsOfTheHeaderOnEveryInstructionSet) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(5000);
  for (float& each : values) each = random() % 9 == 0 ? 0.0f : normal(random) * 1e-3f;
  values[4] = -0.0f;
  for (const std::size_t n : {0, 1, 31, 32, 33, 100, 1023, 1024, 1025, 4999}) {
    double sums[32] = {}, squares = 0;
    std::int64_t zeros = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sums[i % 32] += static_cast<double>(values[i]) * values[i];
      zeros += values[i] == 0;
    }
    for (const double each : sums) squares += each;
    on_every_target([&](const std::string& target) {
      const Sums found = read_values(Format::kF32, values.data(), n);
      EXPECT_EQ(found.squares, squares) << target << ' ' << n;
      EXPECT_EQ(found.zeros, zeros) << target << ' ' << n;
      EXPECT_EQ(found.non_finite, 0);
    });
  }
}

TEST(Statistics, SixteenBitValuesCountAsTheyAre) {
  std::vector<float> values(3001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3;
  std::vector<std::uint16_t> narrow(values.size());
  for (const Format format : {Format::kBF16, Format::kF16}) {
    format == Format::kBF16 ? encode_bf16(values.data(), narrow.data(), values.size())
                            : encode_fp16(values.data(), narrow.data(), values.size());
    const Sums wide = read_values(Format::kF32, values.data(), values.size());
    const Sums found = read_values(format, narrow.data(), narrow.size());
    EXPECT_EQ(found.squares, wide.squares);
    EXPECT_EQ(found.zeros, wide.zeros);
  }
}

TEST(Statistics, NeitherOverflowNorVanish) {
  const std::vector<float> huge(64, 3e38f), tiny(64, 1e-40f);
  EXPECT_DOUBLE_EQ(read_values(Format::kF32, huge.data(), 64).squares,
                   64 * std::pow(static_cast<double>(3e38f), 2));
  EXPECT_DOUBLE_EQ(read_values(Format::kF32, tiny.data(), 64).squares,
                   64 * std::pow(static_cast<double>(1e-40f), 2));
  EXPECT_EQ(read_values(Format::kF32, tiny.data(), 64).zeros, 0);
}

TEST(Statistics, CountWhatIsNotFinite) {
  std::vector<float> values(200, 1.0f);
  values[3] = std::numeric_limits<float>::infinity();
  values[77] = std::nanf("");
  values[199] = -std::numeric_limits<float>::infinity();
  const Sums found = read_values(Format::kF32, values.data(), 200);
  EXPECT_EQ(found.non_finite, 3);
  EXPECT_FALSE(std::isfinite(found.squares));
}

}  // namespace
}  // namespace steepest::kernels
