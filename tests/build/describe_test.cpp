#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "steepest/build/optimizer.h"

namespace steepest {
namespace {

TEST(Describe, GivesALineForEveryParameter) {
  ParamSet params;
  params.add("up.weight", at::ones({8, 4}).set_requires_grad(true), "linear");
  params.add("norm.weight", at::ones({4}).set_requires_grad(true), "norm");
  params.add("frozen.weight", at::ones({4, 4}), "linear");
  const std::string text =
      build_optimizer(MuonConfig{.lr = 0.02, .scalar_lr = 0.003}, params)->describe();
  const auto line = [&](const std::string& name) {
    const auto start = text.find(name);
    return text.substr(start, text.find('\n', start) - start);
  };
  EXPECT_NE(line("up.weight").find("muon"), std::string::npos) << text;
  EXPECT_NE(line("up.weight").find("0.02"), std::string::npos) << text;
  EXPECT_NE(line("norm.weight").find("adamw"), std::string::npos) << text;
  EXPECT_NE(line("norm.weight").find("0.003"), std::string::npos) << text;
  EXPECT_NE(line("frozen.weight").find("not trainable"), std::string::npos) << text;
}

// Lookups by name must not walk all names: with 20,000 parameters that is minutes under a checker,
// here at once.
TEST(Describe, TakesManyParameters) {
  constexpr std::int64_t kMany = 20'000;
  const at::Tensor all = at::ones({kMany, 1});
  ParamSet params;
  for (std::int64_t i = 0; i < kMany; ++i)
    params.add("layers." + std::to_string(i) + ".norm.weight",
               all[i].clone().set_requires_grad(true), "norm");
  EXPECT_EQ(params.find("layers.19999.norm.weight"), &params[kMany - 1]);
  EXPECT_EQ(params.find("layers.20000.norm.weight"), nullptr);
  const std::string text = build_optimizer(AdamWConfig{}, params)->describe();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), kMany + 1);
  EXPECT_NE(text.find("layers.19999.norm.weight"), std::string::npos);
}

}  // namespace
}  // namespace steepest
