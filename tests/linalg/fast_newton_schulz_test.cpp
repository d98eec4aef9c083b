#include "steepest/linalg/fast_newton_schulz.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/linalg_svd.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "steepest/kernels/packed_bf16.h"
#include "tests/support/every_target.h"

namespace steepest {
namespace {

using test::on_every_target;

NewtonSchulzOptions options(Dtype compute, CoefficientSet set = CoefficientSet::kSimple) {
  return {.coefficients = coefficient_schedule(coefficients(set), 5, false),
          .compute_dtype = compute};
}
at::Tensor exact(const at::Tensor& g, NewtonSchulzOptions o) {
  o.compute_dtype = Dtype::kFloat64;
  return newton_schulz(g.to(at::kDouble), o);
}
double error(const at::Tensor& got, const at::Tensor& want) {
  return ((got.to(at::kDouble) - want).norm() / want.norm()).item<double>();
}
at::Tensor fast(const at::Tensor& g, const NewtonSchulzOptions& o,
                NsAlgorithm way = NsAlgorithm::kAuto) {
  return FastNewtonSchulz(o, way)(g);
}
/// Singular values i^-power.
at::Tensor with_spectrum(std::int64_t rows, std::int64_t columns, double power) {
  const std::int64_t d = std::min(rows, columns);
  const at::Tensor u = std::get<0>(at::linalg_qr(at::randn({rows, d}, at::kDouble)));
  const at::Tensor v = std::get<0>(at::linalg_qr(at::randn({columns, d}, at::kDouble)));
  const at::Tensor s = at::arange(1, d + 1, at::kDouble).pow(-power);
  return (u * s).mm(v.t()).to(at::kFloat);
}

constexpr NsAlgorithm kOwn[] = {NsAlgorithm::kStandard, NsAlgorithm::kGram};
constexpr CoefficientSet kSets[] = {CoefficientSet::kSimple, CoefficientSet::kQuintic,
                                    CoefficientSet::kPolarExpress};

TEST(FastNewtonSchulz, ChoosesByTheNumberOfOperations) {
  const FastNewtonSchulz single(options(Dtype::kFloat32));
  EXPECT_EQ(single.chosen(768, 768, at::kFloat), NsAlgorithm::kStandard);
  EXPECT_EQ(single.chosen(768, 3072, at::kFloat), NsAlgorithm::kGram);
  EXPECT_EQ(single.chosen(2304, 768, at::kBFloat16), NsAlgorithm::kGram);
  EXPECT_EQ(single.chosen(900, 768, at::kFloat), NsAlgorithm::kStandard);
  EXPECT_EQ(single.chosen(768, 3072, at::kDouble), NsAlgorithm::kPlain);
  EXPECT_EQ(single.chosen(0, 3, at::kFloat), NsAlgorithm::kPlain);
  // In bf16 its rounding has a say: no list gains from a Gram form that doubles the error.
  const FastNewtonSchulz narrow(options(Dtype::kBFloat16), NsAlgorithm::kAuto);
  const FastNewtonSchulz express(options(Dtype::kBFloat16, CoefficientSet::kPolarExpress));
  if (!kernels::has_bf16_blocks()) {
    EXPECT_EQ(narrow.chosen(128, 512, at::kFloat), NsAlgorithm::kGram);
    EXPECT_EQ(express.chosen(128, 512, at::kFloat), NsAlgorithm::kStandard);
  }
  const FastNewtonSchulz gram(options(Dtype::kFloat32), NsAlgorithm::kGram);
  EXPECT_EQ(gram.chosen(768, 768, at::kFloat), NsAlgorithm::kGram);
  const FastNewtonSchulz plain(options(Dtype::kFloat32), NsAlgorithm::kPlain);
  EXPECT_EQ(plain.chosen(768, 3072, at::kFloat), NsAlgorithm::kPlain);
}

TEST(FastNewtonSchulz, LeavesWhatItDoesNotServe) {
  std::vector<NewtonSchulzOptions> others(5, options(Dtype::kFloat32));
  others[0].rounding = Rounding::kR0;
  others[1].compute_dtype = Dtype::kFloat16;
  others[2].compute_dtype = Dtype::kFloat64;
  others[3].input_dtype = Dtype::kFloat64;
  others[4].coefficients.clear();
  const at::Tensor g = at::randn({12, 40});
  for (const NewtonSchulzOptions& each : others) {
    FastNewtonSchulz f(each);
    EXPECT_EQ(f.chosen(12, 40, at::kFloat), NsAlgorithm::kPlain);
    EXPECT_TRUE(f(g).equal(newton_schulz(g, each)));
  }
  EXPECT_TRUE(fast(g, options(Dtype::kFloat32), NsAlgorithm::kPlain)
                  .equal(newton_schulz(g, options(Dtype::kFloat32))));
  // A cubic list, and one iteration: no Gram form.
  NewtonSchulzOptions cubic = options(Dtype::kFloat32);
  cubic.coefficients.assign(5, {1.5, -0.5, 0});
  EXPECT_EQ(FastNewtonSchulz(cubic, NsAlgorithm::kGram).chosen(8, 80, at::kFloat),
            NsAlgorithm::kStandard);
  EXPECT_LT(error(fast(g, cubic), exact(g, cubic)), 1e-5);
  cubic.coefficients = {{3.4445, -4.7750, 2.0315}};
  EXPECT_LT(error(fast(g, cubic), exact(g, cubic)), 1e-5);
}

// The limits for 64 rows and more (Gaussian input): 1e-5 in fp32, 0.03 in bf16.
TEST(FastNewtonSchulz, StaysWithinTheErrorOfItsType) {
  for (const auto& [m, n] : {std::pair{64, 160}, {128, 128}, {127, 300}, {300, 127}, {256, 1024}}) {
    const at::Tensor g = at::randn({m, n});
    for (const CoefficientSet set : kSets)
      for (const auto& [type, bound] :
           {std::pair{Dtype::kFloat32, 1e-5}, {Dtype::kBFloat16, 0.03}}) {
        const NewtonSchulzOptions o = options(type, set);
        const at::Tensor got = fast(g, o);
        EXPECT_EQ(got.sizes(), g.sizes());
        EXPECT_EQ(got.scalar_type(), type == Dtype::kFloat32 ? at::kFloat : at::kBFloat16);
        EXPECT_LT(error(got, exact(g, o)), bound) << m << 'x' << n << ' ' << spelling(set);
      }
  }
}

// Where the smallest singular values drown in rounding, the judge is libtorch's own sequence: its
// error, but for chance (15 %), and singular values as close.
TEST(FastNewtonSchulz, IsNoWorseThanLibtorchOnSteepSpectra) {
  for (const double power : {1.0, 2.0})
    for (const auto& [m, n] : {std::pair{128, 128}, {128, 512}, {384, 128}}) {
      const at::Tensor g = with_spectrum(m, n, power);
      for (const CoefficientSet set : kSets) {
        const NewtonSchulzOptions o = options(Dtype::kBFloat16, set);
        const at::Tensor want = exact(g, o), plain = newton_schulz(g, o), got = fast(g, o);
        EXPECT_LT(error(got, want), 1.15 * error(plain, want))
            << m << 'x' << n << ' ' << power << ' ' << spelling(set);
        const at::Tensor values = std::get<1>(at::linalg_svd(want));
        const auto off = [&](const at::Tensor& each) {
          const at::Tensor s = std::get<1>(at::linalg_svd(each.to(at::kDouble)));
          return (s - values).abs().max().item<double>();
        };
        EXPECT_LT(off(got), 1.15 * off(plain) + 0.01) << m << 'x' << n << ' ' << spelling(set);
        const NewtonSchulzOptions single = options(Dtype::kFloat32, set);
        EXPECT_LT(error(fast(g, single), want), 1e-4) << m << 'x' << n << ' ' << spelling(set);
      }
    }
}

TEST(FastNewtonSchulz, TakesAnyShape) {
  for (const auto& [m, n] :
       {std::pair{1, 1}, {1, 16}, {16, 1}, {3, 5}, {49, 47}, {50, 200}, {33, 49}, {97, 96}})
    for (const NsAlgorithm way : kOwn) {
      const at::Tensor g = at::randn({m, n});
      const NewtonSchulzOptions o = options(Dtype::kFloat32);
      EXPECT_LT(error(fast(g, o, way), exact(g, o)), 3e-5) << m << 'x' << n << ' ' << spelling(way);
      const NewtonSchulzOptions narrow = options(Dtype::kBFloat16);
      // Small matrices: up to 0.03 in this rounding, and the Gram form twice that.
      EXPECT_LT(error(fast(g, narrow, way), exact(g, narrow)), 0.06) << m << 'x' << n;
    }
}

TEST(FastNewtonSchulz, IsScaleFreeAndKeepsTheGuards) {
  const at::Tensor g = at::randn({40, 100});
  for (const Dtype type : {Dtype::kFloat32, Dtype::kBFloat16})
    for (const NsAlgorithm way : kOwn) {
      NewtonSchulzOptions o = options(type);
      const at::Tensor one = fast(g, o, way);
      for (const double c : {1e-30, 1e-12, 1e12, 1e30})
        EXPECT_LT(error(fast(g * c, o, way), one.to(at::kDouble)),
                  type == Dtype::kFloat32 ? 1e-5 : 0.03)
            << c;
      // Far below and near eps the guards show; above it they do not.
      for (const NormGuard guard : {NormGuard::kAdd, NormGuard::kClamp})
        for (const double c : {1e-12, 1e-9, 1e-3}) {
          o = options(type);
          o.guard = guard;
          o.safety = 1.02;
          const at::Tensor want = newton_schulz((g * c).to(at::kDouble), [&] {
            NewtonSchulzOptions wide = o;
            wide.compute_dtype = Dtype::kFloat64;
            return wide;
          }());
          EXPECT_LT(error(fast(g * c, o, way), want), type == Dtype::kFloat32 ? 1e-5 : 0.03)
              << spelling(guard) << ' ' << c;
        }
    }
}

// torch.optim.Muon's: input rounded to bf16, its norm rounded to bf16 too. The norm's rounding
// alone moves every value by up to 0.2 %, so that the same rounding must come closer than that.
TEST(FastNewtonSchulz, RoundsTheNormAsTensorsOfThatTypeDo) {
  NewtonSchulzOptions o = options(Dtype::kBFloat16);
  o.coefficients = {{1, 0, 0}};  // the normalized input itself
  o.guard = NormGuard::kClamp;
  o.input_dtype = Dtype::kBFloat16;
  for (const NormGuard guard : {NormGuard::kAdd, NormGuard::kClamp})
    for (const double safety : {1.0, 1.02})
      for (int seed = 0; seed < 8; ++seed) {
        o.guard = guard;
        o.safety = safety;
        const at::Tensor g = at::randn({20, 33}) * (1 + seed);
        const double away = error(fast(g, o), newton_schulz(g, o).to(at::kDouble));
        EXPECT_LT(away, 2e-4) << spelling(guard) << ' ' << safety;
      }
}

TEST(FastNewtonSchulz, ZeroGivesZeroAndRankDeficiencyStays) {
  for (const NormGuard guard : {NormGuard::kAdd, NormGuard::kClamp, NormGuard::kScaleFree}) {
    NewtonSchulzOptions o = options(Dtype::kBFloat16);
    o.guard = guard;
    EXPECT_EQ(fast(at::zeros({5, 70}), o).abs().sum().item<double>(), 0) << spelling(guard);
  }
  at::Tensor g = at::randn({60, 3}).mm(at::randn({3, 200}));
  for (const NsAlgorithm way : kOwn) {
    const at::Tensor s =
        std::get<1>(at::linalg_svd(fast(g, options(Dtype::kFloat32), way).to(at::kDouble)));
    EXPECT_GT(s[2].item<double>(), 0.6);
    EXPECT_LT(s[3].item<double>(), 1e-3);
  }
  g = at::randn({40, 90});
  g.slice(0, 10, 20).zero_();
  EXPECT_EQ(fast(g, options(Dtype::kBFloat16)).slice(0, 10, 20).abs().sum().item<double>(), 0);
}

TEST(FastNewtonSchulz, NanTurnsItsOwnMatrixIntoNanAndNoOther) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    for (const Dtype type : {Dtype::kFloat32, Dtype::kBFloat16}) {
      at::Tensor batch = at::randn({3, 20, 60});
      const at::Tensor clean = batch.clone();
      batch[1][3][4] = bad;
      FastNewtonSchulz f(options(type));
      const at::Tensor o = f(batch);
      EXPECT_TRUE(o[1].isnan().all().item<bool>());
      const at::Tensor after = f(clean);  // nothing is left behind in the scratch
      EXPECT_TRUE(after.isfinite().all().item<bool>());
      for (const int i : {0, 2}) EXPECT_TRUE(o[i].equal(after[i]));
    }
  // Coefficients that overflow leave nothing behind either.
  NewtonSchulzOptions wild = options(Dtype::kFloat32);
  wild.coefficients.assign(3, {1e30, 1e30, 1e30});
  FastNewtonSchulz f(wild);
  EXPECT_TRUE(f(at::randn({20, 20})).isnan().any().item<bool>());
}

TEST(FastNewtonSchulz, ABatchIsItsMatricesAndThreadsDoNotShow) {
  const int before = at::get_num_threads();
  for (const auto& [m, n] : {std::pair{60, 60}, {96, 320}, {320, 96}, {200, 203}})
    for (const Dtype type : {Dtype::kFloat32, Dtype::kBFloat16}) {
      const at::Tensor batch = at::randn({5, m, n});
      at::set_num_threads(1);
      FastNewtonSchulz f(options(type));
      const at::Tensor one = f(batch);
      at::set_num_threads(2);
      const at::Tensor two = f(batch), three = FastNewtonSchulz(options(type))(batch);
      EXPECT_TRUE(one.equal(two));
      EXPECT_TRUE(one.equal(three));
      for (const int i : {0, 3, 4}) EXPECT_TRUE(one[i].equal(f(batch[i])));
    }
  at::set_num_threads(before);
}

TEST(FastNewtonSchulz, ReadsViewsAndTypesAndWritesToNone) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    const at::Tensor g = at::randn({60, 24}).to(type), copy = g.clone();
    const NewtonSchulzOptions o = options(Dtype::kFloat32);
    EXPECT_TRUE(fast(g.t(), o).equal(fast(g.t().contiguous(), o)));
    EXPECT_LT(error(fast(g, o), exact(g, o)), 1e-5);
    EXPECT_TRUE(g.equal(copy));
    NewtonSchulzOptions rounded = o;
    rounded.input_dtype = Dtype::kBFloat16;
    EXPECT_TRUE(fast(g, rounded).equal(fast(g.to(at::kBFloat16), o)));
  }
  const at::Tensor stack = at::randn({2, 3, 8, 24});
  const at::Tensor all = fast(stack, options(Dtype::kFloat32));
  EXPECT_EQ(all.sizes(), stack.sizes());
  EXPECT_TRUE(all[1][2].equal(fast(stack[1][2], options(Dtype::kFloat32))));
  EXPECT_EQ(fast(at::zeros({0, 4}), options(Dtype::kFloat32)).numel(), 0);
  EXPECT_TRUE(FastNewtonSchulz(options(Dtype::kFloat32))(std::vector<at::Tensor>{}).empty());
}

TEST(FastNewtonSchulz, EveryInstructionSetStaysWithinTheError) {
  const at::Tensor g = at::randn({70, 180}), h = at::randn({72, 72});
  for (const auto& [type, bound] : {std::pair{Dtype::kFloat32, 1e-5}, {Dtype::kBFloat16, 0.03}}) {
    const NewtonSchulzOptions o = options(type);
    on_every_target([&, type = type, bound = bound](const std::string& target) {
      EXPECT_LT(error(fast(g, o), exact(g, o)), bound) << target;
      EXPECT_LT(error(fast(h, o), exact(h, o)), bound) << target;
    });
  }
}

// What a view says is not in its memory: a sign that is a flag, an extent of stride 0.
TEST(FastNewtonSchulz, ReadsNegatedAndExpandedViewsAsTheirValues) {
  const at::Tensor g = at::randn({24, 60}), row = at::randn({1, 60}), column = at::randn({24, 1});
  for (const NsAlgorithm way : {NsAlgorithm::kPlain, NsAlgorithm::kStandard, NsAlgorithm::kGram}) {
    const NewtonSchulzOptions o = options(Dtype::kFloat32);
    for (const at::Tensor& view :
         {at::_neg_view(g), at::_neg_view(g).slice(1, 3, 50), row.expand({24, 60}),
          column.expand({24, 60}), at::_neg_view(row).expand({24, 60})}) {
      EXPECT_TRUE(fast(view, o, way).equal(fast(view.clone().resolve_neg(), o, way)))
          << spelling(way);
      EXPECT_TRUE(fast(view.t(), o, way).equal(fast(view.t().clone().resolve_neg(), o, way)))
          << spelling(way);
    }
  }
}

}  // namespace
}  // namespace steepest
