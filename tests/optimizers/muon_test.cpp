#include "steepest/optimizers/muon.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "steepest/base/error.h"
#include "tests/support/errors.h"
#include "tests/support/worked_examples.h"

namespace steepest {
namespace {

MuonOptions exact(MuonOptions o) {
  o.compute_dtype = Dtype::kFloat64;
  o.input_dtype = std::nullopt;
  return o;
}

struct Two {
  at::Tensor w;
  MuonState s;
};
Two two_steps(std::int64_t rows, std::int64_t cols, const MuonOptions& o) {
  Two run{worked_matrix(rows, cols, 100).clone(), {}};
  run.s = MuonRule::make_state(run.w, o);
  for (int t = 1; t <= 2; ++t) {
    const std::vector<Slot<MuonState>> slots{{run.w, worked_matrix(rows, cols, t), &run.s}};
    MuonRule::update(slots, o, 1);
  }
  return run;
}
void expect_corners(const at::Tensor& w, double first, double last, double norm) {
  EXPECT_NEAR(w[0][0].item<double>(), first, 1e-8);
  EXPECT_NEAR(w[w.size(0) - 1][w.size(1) - 1].item<double>(), last, 1e-8);
  EXPECT_NEAR(w.norm().item<double>(), norm, 1e-8);
}

TEST(Muon, GivesTheWorkedValuesOfEveryDialect) {
  const Two dion = two_steps(4, 6, exact(MuonOptions::dion()));
  expect_corners(dion.w, 0.19910515, -0.09387838, 1.42137027);
  EXPECT_NEAR(dion.s.momentum_buffer.norm().item<double>(), 2.12154879, 1e-8);
  MuonOptions nesterov = MuonOptions::dion();
  nesterov.nesterov = true;
  expect_corners(two_steps(4, 6, exact(nesterov)).w, 0.19969660, -0.09340193, 1.42220171);
  const Two torch = two_steps(4, 6, exact(MuonOptions::torch()));
  expect_corners(torch.w, 0.19799261, -0.09340622, 1.42272818);
  EXPECT_NEAR(torch.s.momentum_buffer.norm().item<double>(), 0.10607744, 1e-8);
  expect_corners(two_steps(4, 6, exact(MuonOptions::kj())).w, 0.20068979, -0.09179705, 1.42139290);
  expect_corners(two_steps(6, 4, exact(MuonOptions::dion())).w, 0.19758739, -0.09564401,
                 1.41104680);
  expect_corners(two_steps(6, 4, exact(MuonOptions::torch())).w, 0.19808736, -0.10040919,
                 1.40899679);
}

at::Tensor update_of(const at::Tensor& g, const MuonOptions& o) {
  at::Tensor w = at::zeros(g.sizes(), g.options());
  MuonState s = MuonRule::make_state(w, o);
  const std::vector<Slot<MuonState>> slots{{w, g, &s}};
  MuonRule::update(slots, o, 1);
  return w.neg();
}

// The factor comes from the flattened matrix: 0.2 sqrt(max(64, 288)), not from the first two
// dimensions.
TEST(Muon, ConvolutionsScaleByTheFlattenedShape) {
  MuonOptions o = exact({.lr = 1, .weight_decay = 0, .scale = ScaleMode::kMatchRmsAdamW});
  const at::Tensor g = at::randn({64, 32, 3, 3}, at::kDouble);
  const at::Tensor flat = update_of(g.reshape({64, 288}), o);
  EXPECT_LT((update_of(g, o).reshape({64, 288}) - flat).norm().item<double>(), 1e-9);
  o.scale = ScaleMode::kNone;
  EXPECT_NEAR((flat / update_of(g.reshape({64, 288}), o)).median().item<double>(), 3.394, 1e-3);
}

// One row has one singular value, which the polynomial maps from 1 to 0.696.
TEST(Muon, ARowMovesAlongItsGradient) {
  const at::Tensor g = at::randn({1, 16}, at::kDouble);
  const at::Tensor u = update_of(
      g, exact({.lr = 1, .nesterov = false, .weight_decay = 0, .scale = ScaleMode::kNone}));
  EXPECT_NEAR(u.norm().item<double>(), 0.696, 0.007);
  EXPECT_NEAR((u * g).sum().item<double>() / (u.norm() * g.norm()).item<double>(), 1, 1e-9);
}

TEST(Muon, BatchesOfExpertsAreTheirSlices) {
  MuonOptions o = exact(MuonOptions::dion());
  const at::Tensor g = at::randn({3, 4, 6}, at::kDouble), all = update_of(g, o);
  for (std::int64_t i = 0; i < 3; ++i)
    EXPECT_LT((all[i] - update_of(g[i], o)).norm().item<double>(), 1e-12);
}

TEST(Muon, EqualShapesInOneStepAreTheSameAsAlone) {
  const MuonOptions o{.lr = 0.1};
  const at::Tensor ga = at::randn({8, 16}), gb = at::randn({8, 16});
  at::Tensor a = at::zeros({8, 16}), b = at::zeros({8, 16});
  MuonState sa = MuonRule::make_state(a, o), sb = MuonRule::make_state(b, o);
  const std::vector<Slot<MuonState>> slots{{a, ga, &sa}, {b, gb, &sb}};
  MuonRule::update(slots, o, 1);
  EXPECT_TRUE(a.equal(update_of(ga, o).neg()));
  EXPECT_TRUE(b.equal(update_of(gb, o).neg()));
}

// 16-bit weights with fp32 gradients of any size: the same update.
TEST(Muon, GradientsOfAnySizeGiveTheSameUpdate) {
  const at::Tensor g = at::randn({16, 24});
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const auto run = [&](double scale) {
      at::Tensor w = at::zeros({16, 24}, type);
      const MuonOptions o{.lr = 1};
      MuonState s = MuonRule::make_state(w, o);
      const std::vector<Slot<MuonState>> slots{{w, g * scale, &s}};
      MuonRule::update(slots, o, 1);
      return w.to(at::kFloat);
    };
    const at::Tensor one = run(1);
    for (const double scale : {1e-12, 1e4, 1e8, 1e15}) {
      EXPECT_TRUE(run(scale).isfinite().all().item<bool>());
      EXPECT_LT(((run(scale) - one).norm() / one.norm()).item<double>(), 0.02) << scale;
    }
  }
}

// The momentum is never changed by its orthogonalization, not even where types would let it be done
// in place.
TEST(Muon, OrthogonalizingLeavesTheMomentumAlone) {
  MuonOptions o = MuonOptions::torch();
  o.nesterov = false;
  at::Tensor w = at::zeros({6, 4}, at::kBFloat16), g = at::full({6, 4}, 2.0, at::kBFloat16);
  MuonState s = MuonRule::make_state(w, o);
  const std::vector<Slot<MuonState>> slots{{w, g, &s}};
  MuonRule::update(slots, o, 1);
  EXPECT_NEAR(s.momentum_buffer[0][0].item<double>(), 0.1, 1e-3);
}

TEST(Muon, AZeroGradientDecaysAndNothingElse) {
  at::Tensor w = at::full({3, 3}, 1.0, at::kDouble);
  const MuonOptions o{.lr = 0.1, .weight_decay = 0.5};
  MuonState s = MuonRule::make_state(w, o);
  const std::vector<Slot<MuonState>> slots{{w, at::zeros({3, 3}, at::kDouble), &s}};
  MuonRule::update(slots, o, 1);
  EXPECT_NEAR(w[1][2].item<double>(), 0.95, 1e-12);
}

TEST(Muon, RefusesVectors) {
  EXPECT_ERROR(ShapeError, MuonRule::require(at::zeros({4}), {}, "norm.weight"),
               "parameter norm.weight of shape [4] was given to muon; muon orthogonalizes "
               "matrices; a vector has no singular "
               "values to even out; put it into a group of adamw, as build_optimizer does");
  EXPECT_ERROR(
      ShapeError, MuonRule::require(at::zeros({}), {}, "scale"),
      "parameter scale of shape [] was given to muon; muon orthogonalizes matrices; a vector has "
      "no singular values to even out; put it into a group of adamw, as build_optimizer does");
}

// A scaled gradient may be beyond fp32 until the factor is on it.
TEST(Muon, NarrowsAnFp64GradientAfterTheFactor) {
  const at::Tensor g = at::randn({6, 4}, at::kDouble);
  const MuonOptions o{.lr = 0.1, .compute_dtype = Dtype::kFloat32};
  const auto updated = [&](const at::Tensor& grad, double factor) {
    at::Tensor w = at::zeros({6, 4});
    MuonState s = MuonRule::make_state(w, o);
    const std::vector<Slot<MuonState>> slots{{w, grad, &s}};
    MuonRule::update(slots, o, factor);
    return w;
  };
  const at::Tensor want = updated(g, 1);
  for (const double scale : {0x1p200, 0x1p-200}) {
    EXPECT_TRUE(updated(g * scale, 1 / scale).equal(want)) << scale;
  }
}

// Gradients may be views whose values are not in memory as they read.
TEST(Muon, TakesNegatedAndExpandedGradients) {
  const at::Tensor g = at::randn({6, 4}), row = at::randn({1, 4});
  for (const MuonOptions& o : {MuonOptions{}, MuonOptions::torch(), MuonOptions::dion()}) {
    const auto updated = [&](const at::Tensor& grad) {
      at::Tensor w = at::zeros({6, 4});
      MuonState s = MuonRule::make_state(w, o);
      const std::vector<Slot<MuonState>> slots{{w, grad, &s}};
      MuonRule::update(slots, o, 1);
      MuonRule::update(slots, o, 0.5);
      return w;
    };
    EXPECT_TRUE(updated(at::_neg_view(g)).equal(updated(g.neg())));
    EXPECT_TRUE(updated(row.expand({6, 4})).equal(updated(row.expand({6, 4}).clone())));
  }
}

}  // namespace
}  // namespace steepest
