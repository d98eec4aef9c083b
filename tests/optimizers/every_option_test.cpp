// Every option of every rule does something: another value than the default changes a run.
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <map>

#include "steepest/base/json_fields.h"
#include "tests/support/rule_cases.h"

namespace steepest {
namespace {

using test::rule_case;
using test::same_bits;
using test::stepped;

/// Where an option shows: other options it needs, and a value that is not its default.
struct Sweep {
  Json base, value;
  bool inert = false;  ///< it only decides what is accepted; the result stays the same
  at::ScalarType type = at::kFloat;
};

Json with(Json base, const std::string& name, const Json& value) {
  base[name] = value;
  return base;
}

template <Rule R>
at::Tensor run(const Json& fields, at::ScalarType type) {
  typename R::Options options;
  Rules rules("options");
  read_fields(fields, options, rules);
  check_fields(options, rules);
  rules.enforce();
  at::manual_seed(11);
  // Four dimensions, so that what becomes of them shows; one gradient is missing.
  const at::Tensor param = at::randn({4, 3, 2, 5}).to(type);
  std::vector<at::Tensor> grads;
  for (int i = 0; i < 4; ++i) grads.push_back(at::randn(param.sizes()) * (i == 1 ? 1e-4 : 0.1));
  grads[2] = at::Tensor();
  return stepped(rule_case<R>("", true, options), param, grads);
}

template <Rule R>
void sweep(std::map<std::string, Sweep> table) {
  const Json chance = {{"stochastic_rounding", true}};
  table["masters"] = {Json::object(), "float32", false, at::kBFloat16};
  table["stochastic_rounding"] = {Json::object(), true, false, at::kBFloat16};
  table["seed"] = {chance, 3, false, at::kBFloat16};
  if constexpr (requires(typename R::Options o) { o.states; })
    table.try_emplace("states", Sweep{Json::object(), "int8"});
  std::size_t seen = 0;
  for_each_field<typename R::Options>([&](const auto& each) {
    const std::string name(each.name);
    const auto entry = table.find(name);
    ASSERT_NE(entry, table.end()) << R::kName << "." << name << " is in no sweep";
    ++seen;
    const auto& [base, value, inert, type] = entry->second;
    const at::Tensor changed = run<R>(with(base, name, value), type);
    EXPECT_EQ(same_bits(run<R>(base, type), changed), inert) << R::kName << "." << name;
  });
  EXPECT_EQ(seen, table.size());
}

TEST(EveryOption, OfAdamWShows) {
  sweep<AdamWRule>({{"lr", {Json::object(), 0.01}},
                    {"betas", {Json::object(), {0.8, 0.95}}},
                    {"eps", {Json::object(), 1e-3}},
                    {"weight_decay", {Json::object(), 0.3}},
                    {"amsgrad", {{{"betas", {0.9, 0.5}}}, true}},
                    {"maximize", {Json::object(), true}}});
}

TEST(EveryOption, OfAdamShows) {
  sweep<AdamRule>({{"lr", {Json::object(), 0.01}},
                   {"betas", {Json::object(), {0.8, 0.95}}},
                   {"eps", {Json::object(), 1e-3}},
                   {"weight_decay", {Json::object(), 0.3}},
                   {"amsgrad", {{{"betas", {0.9, 0.5}}}, true}},
                   {"maximize", {Json::object(), true}},
                   {"decoupled_weight_decay", {{{"weight_decay", 0.3}}, true}}});
}

TEST(EveryOption, OfSgdShows) {
  sweep<SGDRule>({{"lr", {Json::object(), 0.01}},
                  {"momentum", {Json::object(), 0.9}},
                  {"dampening", {{{"momentum", 0.9}}, 0.5}},
                  {"weight_decay", {Json::object(), 0.3}},
                  {"nesterov", {{{"momentum", 0.9}}, true}},
                  {"maximize", {Json::object(), true}},
                  {"states", {{{"momentum", 0.9}}, "int8"}}});
}

TEST(EveryOption, OfLionShows) {
  sweep<LionRule>({{"lr", {Json::object(), 0.01}},
                   {"betas", {Json::object(), {0.2, 0.3}}},
                   {"weight_decay", {Json::object(), 0.3}},
                   // The sign of an average hardly ever shows how it is kept; element_rule_test has
                   // its bits.
                   {"states", {Json::object(), "float32", /*inert=*/true}}});
}

TEST(EveryOption, OfMuonShows) {
  const Json fp32 = {{"compute_dtype", "float32"}};
  const Json fp32_clamp = {{"compute_dtype", "float32"}, {"guard", "clamp"}};
  sweep<MuonRule>(
      {{"lr", {fp32, 0.01}},
       {"momentum", {fp32, 0.5}},
       {"nesterov", {fp32, false}},
       {"momentum_form", {fp32, "heavy_ball"}},
       {"weight_decay", {fp32, 0.3}},
       {"coefficients", {fp32, "quintic"}},
       {"custom_coefficients", {fp32, {2.0, -1.5, 0.5}}},
       {"steps", {fp32, 3}},
       {"allow_partial_cycle", {fp32, true, /*inert=*/true}},
       {"guard", {{{"compute_dtype", "float32"}, {"eps", 0.1}}, "add"}},
       {"eps", {fp32_clamp, 10.0}},
       {"safety", {fp32, 1.05}},
       {"input_dtype", {fp32, "bfloat16"}},
       {"compute_dtype", {Json::object(), "float32"}},
       {"rounding", {Json::object(), "R0"}},
       {"algorithm", {fp32, "plain"}},
       {"scale", {fp32, "match_rms_adamw"}},
       {"scale_shape", {{{"compute_dtype", "float32"}, {"scale", "spectral"}}, "last_two"}},
       {"higher_dims", {fp32, "batch"}},
       {"missing_gradient", {fp32, "zero"}},
       {"momentum_dtype", {fp32, "bfloat16"}}});
}

}  // namespace
}  // namespace steepest
