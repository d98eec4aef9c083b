#include "steepest/params/param_set.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "steepest/base/error.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

at::Tensor w() { return at::ones({2, 2}).set_requires_grad(true); }

TEST(ParamSet, KeepsOrderAndNames) {
  const auto set = ParamSet::from(
      std::vector<std::pair<std::string, at::Tensor>>{{"module.a", w()}, {"b", w()}});
  ASSERT_EQ(set.size(), 2u);
  EXPECT_EQ(set[0].info.name, "a");
  EXPECT_FALSE(set.anonymous());
  EXPECT_EQ(set.find("b")->info.name, "b");
  EXPECT_EQ(set.find("c"), nullptr);
}

TEST(ParamSet, TiedParametersStandOnce) {
  const at::Tensor shared = w();
  const auto set = ParamSet::from(std::vector<std::pair<std::string, at::Tensor>>{
      {"wte.weight", shared}, {"lm_head.weight", shared}});
  ASSERT_EQ(set.size(), 1u);
  EXPECT_EQ(set[0].info.aliases, std::vector<std::string>{"lm_head.weight"});
  EXPECT_EQ(set.find("lm_head.weight"), &set[0]);
}

TEST(ParamSet, TensorsWithoutNamesGetSome) {
  const auto set = ParamSet::from(std::vector<at::Tensor>{w(), w()});
  EXPECT_TRUE(set.anonymous());
  EXPECT_EQ(set[1].info.name, "param.1");
  const at::Tensor twice = w();
  EXPECT_ERROR(
      ConfigError, ParamSet::from(std::vector<at::Tensor>{twice, twice}),
      "tensor 1 is given twice; it would be updated twice a step; give every parameter once");
}

TEST(ParamSet, RefusesBadNamesAndTensors) {
  ParamSet set;
  set.add("a", w());
  EXPECT_ERROR(ConfigError, set.add("module.a", w()),
               "two parameters have the name a; state and options are matched by name; give each "
               "its own name");
  EXPECT_ERROR(ConfigError, set.add("", w()),
               "a parameter has an empty name; name every parameter, or none");
  EXPECT_ERROR(ConfigError, set.add("b", {}), "parameter b is an undefined tensor");
  EXPECT_ERROR(
      LayoutError, set.add("b", at::ones({2, 2}).to_sparse()),
      "parameter b is sparse; an update writes every element in place; use a dense parameter");
  EXPECT_EQ(set.size(), 1u);
}

TEST(ParamSet, RolesCanBeSet) {
  ParamSet set;
  set.add("table", w());
  EXPECT_EQ(set[0].info.role, Role::kHidden);
  set.set_role("table", Role::kEmbedding);
  EXPECT_EQ(set.infos()[0].role, Role::kEmbedding);
  EXPECT_ERROR(ConfigError, set.set_role("tabel", Role::kNorm),
               "there is no parameter 'tabel'; did you mean 'table'?");
}

TEST(ParamSet, FrozenParametersAreKnownAsSuch) {
  ParamSet set;
  set.add("frozen", at::ones({2, 2}));
  EXPECT_FALSE(set[0].info.trainable);
}

}  // namespace
}  // namespace steepest
