#include "steepest/optimizers/element_rule.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/serialize/archive.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <sstream>

#include "steepest/base/error.h"
#include "steepest/optimizers/rules.h"
#include "tests/support/errors.h"
#include "tests/support/rule_cases.h"

namespace steepest {
namespace {

using test::same_bits;

constexpr StateFormat kStates[] = {
    StateFormat::kParam,   StateFormat::kFloat32,       StateFormat::kBFloat16,
    StateFormat::kFloat16, StateFormat::kFloat16Scaled, StateFormat::kFloat8,
    StateFormat::kInt8,    StateFormat::kInt8Linear,    StateFormat::kInt8Published};
constexpr MasterFormat kMasters[] = {MasterFormat::kNone, MasterFormat::kFloat32,
                                     MasterFormat::kRemainder, MasterFormat::k24Bit,
                                     MasterFormat::k32Bit};

/// A parameter with its state, and its tensors in order.
template <Rule R>
struct Updated {
  at::Tensor w;
  typename R::State state;
  std::vector<at::Tensor> all() const {
    std::vector<at::Tensor> tensors{w};
    for_each_state_tensor<typename R::State>([&](const auto& field) {
      if ((state.*(field.member)).defined()) tensors.push_back(state.*(field.member));
    });
    return tensors;
  }
};

template <Rule R>
void same(const Updated<R>& a, const Updated<R>& b, const std::string& where) {
  const auto x = a.all(), y = b.all();
  ASSERT_EQ(x.size(), y.size()) << where;
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_TRUE(same_bits(x[i], y[i])) << where << ", tensor " << i;
}

template <Rule R>
std::vector<typename R::Options> variants();
template <>
std::vector<AdamWOptions> variants<AdamWRule>() {
  return {{.lr = 0.05, .weight_decay = 0.1},
          {.lr = 0.05, .betas = {0.3, 0.9}, .amsgrad = true, .maximize = true}};
}
template <>
std::vector<AdamOptions> variants<AdamRule>() {
  return {{.lr = 0.05, .weight_decay = 0.1}, {.lr = 0.05, .amsgrad = true}};
}
template <>
std::vector<SGDOptions> variants<SGDRule>() {
  return {{.lr = 0.05, .momentum = 0.9, .dampening = 0.2, .weight_decay = 0.1},
          {.lr = 0.05, .momentum = 0.9, .nesterov = true},
          {.lr = 0.05}};
}
template <>
std::vector<LionOptions> variants<LionRule>() {
  return {{.lr = 0.05, .weight_decay = 0.1}};
}

/// Calls body(options, dtype of weights, dtype of gradients, text) for every rule variant in every
/// storage that a dtype can have.
template <Rule R, class Body>
void for_every_storage(const Body& body) {
  for (const auto& base : variants<R>())
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf})
      for (const StateFormat states : kStates)
        for (const MasterFormat masters : kMasters) {
          if (type == at::kHalf && masters == MasterFormat::kRemainder) continue;
          if (type == at::kFloat && masters != MasterFormat::kNone) continue;
          for (const bool chance : {false, true}) {
            if (chance && (type == at::kFloat || masters != MasterFormat::kNone)) continue;
            for (const at::ScalarType grads : {at::kFloat, type}) {
              auto options = base;
              options.states = states;
              options.masters = masters;
              options.stochastic_rounding = chance;
              options.seed = 5;
              body(options, type, grads,
                   fmt::format("{} {} weights, {} gradients, states {}, masters {}{}", R::kName,
                               at::toString(type), at::toString(grads), spelling(states),
                               spelling(masters), chance ? ", by chance" : ""));
            }
          }
        }
}

template <class R>
class EveryStorage : public testing::Test {};
using Rules = testing::Types<AdamWRule, AdamRule, SGDRule, LionRule>;
TYPED_TEST_SUITE(EveryStorage, Rules);

TYPED_TEST(EveryStorage, FusedEqualsPlainBitForBit) {
  using R = TypeParam;
  int seen = 0;
  for_every_storage<R>([&](const auto& options, at::ScalarType type, at::ScalarType grads,
                           const std::string& where) {
    for (const std::int64_t n : {1, 33, 1301}) {
      at::manual_seed(n);
      const at::Tensor start = at::randn({n}).to(type);
      Updated<R> fused{start.clone(), R::make_state(start, options)};
      Updated<R> plain{start.clone(), R::make_state(start, options)};
      for (int step = 0; step < 3; ++step) {
        const at::Tensor grad = (at::randn({n}) * 0.3).to(grads);
        const std::vector<Slot<typename R::State>> a{{fused.w, grad, &fused.state, 7}};
        const std::vector<Slot<typename R::State>> b{{plain.w, grad, &plain.state, 7}};
        ASSERT_EQ(R::path(fused.w), Path::kFused);
        R::update(a, options, 0.6);
        R::update_plainly(b, options, 0.6);
      }
      same(fused, plain, where + fmt::format(", {} elements", n));
      EXPECT_FALSE(same_bits(fused.w, start)) << where;
      ++seen;
    }
  });
  EXPECT_GT(seen, 300);
}

TYPED_TEST(EveryStorage, ThreadsDoNotShow) {
  using R = TypeParam;
  const int before = at::get_num_threads();
  for_every_storage<R>([&](const auto& options, at::ScalarType type, at::ScalarType grads,
                           const std::string& where) {
    if (grads != type) return;
    at::manual_seed(1);
    const at::Tensor start = at::randn({200'001}).to(type), grad = at::randn({200'001}).to(grads);
    std::vector<Updated<R>> runs;
    for (const int threads : {1, 2}) {
      at::set_num_threads(threads);
      runs.push_back({start.clone(), R::make_state(start, options)});
      const std::vector<Slot<typename R::State>> slots{
          {runs.back().w, grad, &runs.back().state, 7}};
      R::update(slots, options, 1);
      R::update(slots, options, 1);
    }
    same(runs[0], runs[1], where);
  });
  at::set_num_threads(before);
}

TEST(Storage, BytesAParameterAreThoseOfTheTables) {
  const auto bytes = [](at::ScalarType type, StateFormat states, MasterFormat masters) {
    const at::Tensor w = at::full({1000}, 1.0, type);
    const AdamState s = AdamWRule::make_state(w, {.states = states, .masters = masters});
    std::size_t sum = w.nbytes();
    for_each_state_tensor<AdamState>([&](const auto& field) {
      const at::Tensor& each = s.*(field.member);
      if (each.defined()) sum += each.nbytes();
    });
    return sum;
  };
  constexpr std::size_t kScales = 2 * 2 * 32;  // 32 blocks of 1000 elements, twice, in fp16
  EXPECT_EQ(bytes(at::kBFloat16, StateFormat::kInt8, MasterFormat::k24Bit), 5 * 1000 + kScales);
  EXPECT_EQ(bytes(at::kBFloat16, StateFormat::kInt8, MasterFormat::k32Bit), 6 * 1000 + kScales);
  EXPECT_EQ(bytes(at::kBFloat16, StateFormat::kInt8, MasterFormat::kNone), 4 * 1000 + kScales);
  EXPECT_EQ(bytes(at::kFloat, StateFormat::kInt8, MasterFormat::k24Bit), 6 * 1000 + kScales);
  EXPECT_EQ(bytes(at::kBFloat16, StateFormat::kParam, MasterFormat::kFloat32), 14 * 1000u);
  EXPECT_EQ(bytes(at::kBFloat16, StateFormat::kFloat32, MasterFormat::kRemainder), 12 * 1000u);
  EXPECT_EQ(bytes(at::kBFloat16, StateFormat::kBFloat16, MasterFormat::kRemainder), 8 * 1000u);
  EXPECT_EQ(bytes(at::kBFloat16, StateFormat::kFloat8, MasterFormat::kFloat32), 8 * 1000 + 8u);
  EXPECT_EQ(bytes(at::kFloat, StateFormat::kParam, MasterFormat::kFloat32), 12 * 1000u);
}

TEST(Storage, RemaindersHoldTheFp32WeightsBitForBit) {
  at::manual_seed(2);
  const AdamWOptions wide{.lr = 0.01, .weight_decay = 0.1};
  AdamWOptions narrow = wide;
  narrow.states = StateFormat::kFloat32;
  narrow.masters = MasterFormat::kRemainder;
  const at::Tensor start = at::randn({5000}).to(at::kBFloat16);
  Updated<AdamWRule> bf16{start.clone(), AdamWRule::make_state(start, narrow)};
  const at::Tensor start32 = start.to(at::kFloat);
  Updated<AdamWRule> fp32{start32.clone(), AdamWRule::make_state(start32, wide)};
  for (int step = 0; step < 1000; ++step) {
    const at::Tensor grad = at::randn({5000});
    const std::vector<Slot<AdamState>> a{{bf16.w, grad, &bf16.state, 0}};
    const std::vector<Slot<AdamState>> b{{fp32.w, grad, &fp32.state, 0}};
    AdamWRule::update(a, narrow, 1);
    AdamWRule::update(b, wide, 1);
  }
  EXPECT_TRUE(same_bits(load_weight(bf16.w, bf16.state.master, weight_storage(narrow)), fp32.w));
  EXPECT_TRUE(same_bits(bf16.state.exp_avg_sq, fp32.state.exp_avg_sq));
}

TEST(Storage, SmallUpdatesAddUpWithMastersAndByChanceAlone) {
  // 1 - 1e-4 is below half a bf16 step of 1: without masters nothing moves.
  const auto after = [](MasterFormat masters, bool chance) {
    const SGDOptions o{.lr = 1e-4, .masters = masters, .stochastic_rounding = chance};
    Updated<SGDRule> run{at::full({10'000}, 1.0, at::kBFloat16), {}};
    run.state = SGDRule::make_state(run.w, o);
    const at::Tensor grad = at::full({10'000}, 1.0, at::kBFloat16);
    const std::vector<Slot<SGDState>> slots{{run.w, grad, &run.state, 3}};
    for (int step = 0; step < 1000; ++step) SGDRule::update(slots, o, 1);
    return run.w.to(at::kDouble).mean().item<double>();
  };
  EXPECT_EQ(after(MasterFormat::kNone, false), 1.0);
  EXPECT_NEAR(after(MasterFormat::kFloat32, false), 0.9, 0.004);
  EXPECT_NEAR(after(MasterFormat::kRemainder, false), 0.9, 0.004);
  // Its own step at 1 is 1.5e-5, a seventh of the update.
  EXPECT_NEAR(after(MasterFormat::k24Bit, false), 0.9, 0.006);
  EXPECT_NEAR(after(MasterFormat::kNone, true), 0.9, 0.001);
}

/// The largest single move of a weight in 100 steps, in learning rates, where gradients inside a
/// block differ widely.
double largest_move(StateFormat states) {
  at::manual_seed(4);
  const AdamWOptions o{.lr = 1e-3, .weight_decay = 0, .states = states};
  const at::Tensor spread = at::pow(10, at::randn({3200}));
  Updated<AdamWRule> run{at::randn({3200}), {}};
  run.state = AdamWRule::make_state(run.w, o);
  double most = 0;
  for (int step = 0; step < 100; ++step) {
    const at::Tensor before = run.w.clone();
    const std::vector<Slot<AdamState>> slots{{run.w, at::randn({3200}) * spread, &run.state, 0}};
    AdamWRule::update(slots, o, 1);
    most = std::max(most, (run.w - before).abs().max().item<double>() / o.lr);
  }
  return most;
}

TEST(Storage, SecondMomentsKeptAtOneDoNotExplodeAsPublishedOnesDo) {
  EXPECT_LT(largest_move(StateFormat::kFloat32), 1.3);
  EXPECT_LT(largest_move(StateFormat::kInt8), 4);
  EXPECT_GT(largest_move(StateFormat::kInt8Published), 100);
}

TEST(Storage, RefusesWhatCannotBe) {
  EXPECT_ERROR(
      DtypeError,
      AdamW({at::full({2}, 1.0, at::kDouble).set_requires_grad(true)},
            {.states = StateFormat::kInt8}),
      "parameter 0 of group 0 is float64 and its storage is to be narrower (states int8, masters "
      "none); float64 parameters keep float64 states and need no masters; say states: param and "
      "masters: none for them");
  EXPECT_ERROR(
      DtypeError,
      AdamW({at::full({2}, 1.0, at::kHalf).set_requires_grad(true)},
            {.masters = MasterFormat::kRemainder}),
      "parameter 0 of group 0 is float16 and masters are remainders; a remainder is the low half "
      "of an fp32 number whose high half is bf16; say masters: float32, 24bit or 32bit");
}

TEST(Storage, CodedStatesAreNotTakenForOthers) {
  const at::Tensor w = at::full({4}, 1.0).set_requires_grad(true);
  std::stringstream bytes;
  {
    AdamW coded({w}, {.states = StateFormat::kInt8});
    w.mutable_grad() = at::full({4}, 0.5);
    coded.step();
    torch::serialize::OutputArchive archive;
    coded.save(archive);
    archive.save_to(bytes);
  }
  AdamW again({w}, {.states = StateFormat::kInt8});
  torch::serialize::InputArchive archive;
  archive.load_from(bytes);
  again.load(archive);
  EXPECT_EQ(again.state_of(w)->exp_avg.scalar_type(), at::kChar);
  EXPECT_TRUE(again.state_of(w)->exp_avg_scales.defined());
  EXPECT_EQ(again.state_of(w)->step, 1);
}

TEST(Storage, ANaNShowsInCodedStates) {
  for (const StateFormat states : kStates) {
    const AdamWOptions o{.states = states};
    Updated<AdamWRule> run{at::full({64}, 1.0), {}};
    run.state = AdamWRule::make_state(run.w, o);
    at::Tensor grad = at::full({64}, 0.1);
    grad[5] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<Slot<AdamState>> slots{{run.w, grad, &run.state, 0}};
    AdamWRule::update(slots, o, 1);
    EXPECT_TRUE(run.w[5].isnan().item<bool>()) << spelling(states);
    AdamWRule::update(slots, o, 1);
    EXPECT_TRUE(run.w[5].isnan().item<bool>()) << spelling(states);
  }
}

TEST(Storage, ANegatedViewKeepsItsSign) {
  // Autograd may hand out gradients whose sign is a flag, not in memory.
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const at::Tensor start = at::randn({70}).to(type), grad = at::randn({70}).to(type);
    const SGDOptions o{.lr = 0.1};
    Updated<SGDRule> viewed{start.clone(), {}}, plain{start.clone(), {}};
    const std::vector<Slot<SGDState>> a{{viewed.w, at::_neg_view(grad), &viewed.state, 0}};
    const std::vector<Slot<SGDState>> b{{plain.w, grad.neg(), &plain.state, 0}};
    SGDRule::update(a, o, 1);
    SGDRule::update(b, o, 1);
    EXPECT_TRUE(same_bits(viewed.w, plain.w)) << at::toString(type);
  }
}

TEST(ElementJobs, TwoThreadsTakePart) {
  // at::parallel_for without OpenMP runs on one thread and says nothing.
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  std::atomic<int> seen = 0;
  at::parallel_for(0, 2, 1, [&](std::int64_t, std::int64_t) {
    ++seen;
    const auto start = std::chrono::steady_clock::now();
    while (seen < 2 && std::chrono::steady_clock::now() - start < std::chrono::seconds(10)) {
    }
  });
  at::set_num_threads(before);
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace steepest
