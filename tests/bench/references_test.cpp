#include "bench/references.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "bench/operators.h"
#include "bench/training_rows.h"
#include "bench/workloads.h"
#include "steepest/build/optimizer.h"
#include "steepest/linalg/newton_schulz.h"
#include "steepest/optimizers/rules.h"
#include "steepest/recipe/recipe.h"

namespace steepest::bench {
namespace {

const std::vector<Shape> kShapes = {{48, 16}, {16, 16}, {48, 16}, {16, 64}};

using MakeStep = std::function<Step(std::vector<at::Tensor>)>;

/// The weights' change, in units of the learning rate of all contenders, after a step for each of
/// `scales`, which the gradients are multiplied by.
std::vector<at::Tensor> moved_by(const MakeStep& make, const std::vector<double>& scales = {1, 1}) {
  const auto params = make_params(kShapes);
  std::vector<at::Tensor> grads, moved;
  for (const at::Tensor& each : params) {
    each.detach().zero_();  // fp32 weights near 0 show a change of 1e-6
    grads.push_back(each.grad().clone());
  }
  const Step step = make(params);
  for (const double scale : scales) {
    for (std::size_t i = 0; i < grads.size(); ++i) params[i].grad().copy_(grads[i] * scale);
    step();
  }
  for (const at::Tensor& each : params) moved.push_back(each.detach().to(at::kDouble) / 1e-6);
  return moved;
}

void expect_near(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b,
                 double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_GT(b[i].norm().item<double>(), 0.1);
    EXPECT_LT((a[i] - b[i]).norm().item<double>(), tolerance * b[i].norm().item<double>()) << i;
  }
}

template <class R>
MakeStep ours(const typename R::Options& options) {
  return [options](std::vector<at::Tensor> params) -> Step {
    auto optimizer = std::make_shared<RuleOptimizer<R>>(std::move(params), options);
    return [optimizer] { optimizer->step(); };
  };
}

// What is compared does the same work: it moves the weights to the same place.
TEST(References, AdamWMovesWhereOursDoes) {
  const auto want = moved_by(ours<AdamWRule>({.lr = 1e-6, .weight_decay = 0.1}));
  expect_near(moved_by(libtorch_adamw), want, 1e-4);
}

// The operator leaves counting steps to its caller: for it every step is the first.
TEST(References, FusedAdamWMovesWhereOursDoesAtFirst) {
  expect_near(moved_by(fused_adamw, {1}),
              moved_by(ours<AdamWRule>({.lr = 1e-6, .weight_decay = 0.1}), {1}), 1e-4);
}

TEST(References, SgdMovesWhereOursDoes) {
  const auto want = moved_by(ours<SGDRule>({.lr = 1e-6, .momentum = 0.9}));
  const auto check = [&](const std::vector<at::Tensor>& got) {
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_LT((got[i] - want[i]).abs().max().item<double>(), 1e-8);
  };
  check(moved_by(libtorch_sgd));
  check(moved_by(fused_sgd));
}

TEST(References, LionMovesWhereOursDoes) {
  expect_near(moved_by(foreach_lion), moved_by(ours<LionRule>({.lr = 1e-6, .weight_decay = 0.1})),
              1e-4);
}

TEST(References, BothMuonsMoveWhereOursDoes) {
  // bf16 iterations that round in other places: the update agrees to a few hundredths.
  const auto want = moved_by(ours<MuonRule>({.lr = 1e-6}));
  expect_near(moved_by(operators_muon), want, 0.04);
  expect_near(moved_by(batched_muon), want, 0.04);
}

TEST(References, NewtonSchulzIsOurs) {
  at::manual_seed(2);
  for (const Shape& shape : kShapes) {
    const at::Tensor g = make_params({shape})[0].detach();
    const at::Tensor want = newton_schulz(
        g, {.coefficients = coefficient_schedule(coefficients(CoefficientSet::kSimple), 5, false),
            .compute_dtype = Dtype::kFloat32});
    EXPECT_LT((operators_newton_schulz(g, false) - want).norm().item<float>(), 1e-4);
    EXPECT_LT((operators_newton_schulz(g, true).to(at::kFloat) - want).norm().item<float>(),
              0.04 * want.norm().item<float>());
  }
}

// Norms of some 60 and 6: clipped, both count as 1.
const std::vector<double> kNorms = {1e3, 1e2};

TEST(References, WholeStepsClip) {
  const MakeStep optimizer = [](const std::vector<at::Tensor>& params) -> Step {
    std::shared_ptr<Optimizer> all =
        build_optimizer(AdamWConfig{.lr = 1e-6, .weight_decay = 0.1}, ParamSet::from(params),
                        StepPolicy{.max_norm = 1});
    return [all] { all->step(); };
  };
  expect_near(moved_by(libtorch_whole_step, kNorms), moved_by(optimizer, kNorms), 1e-4);
  // Not clipped, the second counts for less.
  const auto clipped = moved_by(fused_whole_step, kNorms), whole = moved_by(fused_adamw, kNorms);
  for (std::size_t i = 0; i < clipped.size(); ++i)
    EXPECT_GT((clipped[i] - whole[i]).abs().max().item<double>(), 0.01);
}

TEST(References, WholeStepsClearGradients) {
  for (const auto& make : {libtorch_whole_step, fused_whole_step}) {
    const auto params = make_params(kShapes);
    make(params)();
    for (const at::Tensor& each : params) EXPECT_EQ(each.grad().abs().max().item<float>(), 0);
  }
}

TEST(References, ClipToANormOfOne) {
  const auto params = make_params({{10}});
  params[0].grad().fill_(4);
  libtorch_clip(params)();
  EXPECT_NEAR(params[0].grad().norm().item<double>(), 1, 1e-5);
}

TEST(References, TrainingStepsAreOfTheRecipe) {
  const Recipe recipe = load_recipe(std::string(STEEPEST_SOURCE_DIR) + "/recipes/gpt.yaml");
  EXPECT_EQ(recipe.model, ModelConfig{});
  EXPECT_EQ(recipe.step_scheduler.global_batch_size, kWindows);
  training_step(true)();
  training_step(false)();
}

}  // namespace
}  // namespace steepest::bench
