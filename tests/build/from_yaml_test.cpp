#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "steepest/base/error.h"
#include "steepest/build/optimizer.h"

namespace steepest {
namespace {

ParamSet one() {
  ParamSet params;
  params.add("w", at::ones({2, 2}).set_requires_grad(true), "linear");
  return params;
}

TEST(FromYaml, BuildsWhatTheSectionSays) {
  const auto optimizer = build_optimizer_from_yaml(
      "_target_: torch.optim.AdamW\nlr: 2e-5\nbetas: [0.9, 0.95]\n", one());
  EXPECT_EQ(optimizer->groups()[0]->rule(), "adamw");
  EXPECT_EQ(optimizer->groups()[0]->lr(), 2e-5);
  EXPECT_EQ(optimizer->groups()[0]->get("betas"), Json({0.9, 0.95}));
}

TEST(FromYaml, NamesTheNearestKey) {
  try {
    build_optimizer_from_yaml("_target_: adamw\nweight_decai: 0.1\n", one());
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("weight_decay"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace steepest
