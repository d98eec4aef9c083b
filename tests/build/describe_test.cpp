#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace steepest
