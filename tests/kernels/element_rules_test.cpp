#include "steepest/kernels/element_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/support/every_target.h"

namespace steepest::kernels {
namespace {

using test::on_every_target;

/// Five streams of one update.
struct Streams {
  explicit Streams(std::size_t n, unsigned seed = 1) : w(n), g(n), s(3, std::vector<float>(n)) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < n; ++i) {
      w[i] = normal(random);
      g[i] = normal(random);
      s[0][i] = 0.1f * normal(random);
      s[1][i] = std::abs(normal(random));
      s[2][i] = std::abs(normal(random));
    }
  }
  Tile tile(int states, std::size_t first = 0) {
    Tile t{.count = w.size() - first, .w = w.data() + first, .g = g.data() + first};
    for (int k = 0; k < states; ++k) t.s[k] = s[static_cast<std::size_t>(k)].data() + first;
    return t;
  }
  bool operator==(const Streams&) const = default;
  std::vector<float> w, g;
  std::vector<std::vector<float>> s;
};

float lerp(float a, float b, float t) {
  return t < 0.5f ? std::fma(t, b - a, a) : std::fma(t - 1.0f, b - a, b);
}

const AdamScalars kAdam{.factor = 0.7f,
                        .decay = 0.999f,
                        .one_minus_b1 = 0.1f,
                        .b2 = 0.99f,
                        .one_minus_b2 = 0.01f,
                        .sqrt_c2 = 0.3f,
                        .eps = 1e-8f,
                        .step_size = -0.01f};
const LionScalars kLion{.factor = 0.7f,
                        .decay = 0.999f,
                        .one_minus_b1 = 0.1f,
                        .one_minus_b2 = 0.6f,
                        .step_size = -0.01f};
const SgdScalars kSgd{.factor = 0.7f,
                      .l2 = 0.01f,
                      .momentum = 0.9f,
                      .one_minus_dampening = 0.8f,
                      .nesterov = true,
                      .step_size = -0.01f};

/// The formulas of the header, element by element.
void adam_by_hand(const AdamScalars& o, const Tile& t) {
  for (std::size_t i = 0; i < t.count; ++i) {
    float g = o.factor * t.g[i];
    if (o.l2 != 0) g = std::fma(o.l2, t.w[i], g);
    const float w = o.decay * t.w[i];
    const float m = lerp(t.s[0][i], g, o.one_minus_b1);
    const float v = std::fma(o.one_minus_b2 * g, g, t.s[1][i] * o.b2);
    float vv = v;
    if (t.s[2] != nullptr) vv = v > t.s[2][i] || std::isnan(v) ? v : t.s[2][i];
    t.w[i] = w + (o.step_size * m) / (std::sqrt(vv) / o.sqrt_c2 + o.eps);
    t.s[0][i] = m;
    t.s[1][i] = v;
    if (t.s[2] != nullptr) t.s[2][i] = vv;
  }
}
void lion_by_hand(const LionScalars& o, const Tile& t) {
  for (std::size_t i = 0; i < t.count; ++i) {
    const float g = o.factor * t.g[i];
    const float l = lerp(t.s[0][i], g, o.one_minus_b1);
    const float u = l > 0 ? 1.0f : l < 0 ? -1.0f : l;
    t.s[0][i] = lerp(t.s[0][i], g, o.one_minus_b2);
    t.w[i] = std::fma(o.step_size, u, o.decay * t.w[i]);
  }
}
void sgd_by_hand(const SgdScalars& o, const Tile& t) {
  for (std::size_t i = 0; i < t.count; ++i) {
    float g = o.factor * t.g[i];
    if (o.l2 != 0) g = std::fma(o.l2, t.w[i], g);
    float d = g;
    if (t.s[0] != nullptr) {
      const float buf = o.first ? g : std::fma(o.one_minus_dampening, g, o.momentum * t.s[0][i]);
      t.s[0][i] = buf;
      d = o.nesterov ? std::fma(o.momentum, buf, g) : buf;
    }
    t.w[i] = std::fma(o.step_size, d, t.w[i]);
  }
}

struct Case {
  std::string name;
  int states;
  std::function<void(const Tile&)> fast, by_hand;
};

std::vector<Case> cases() {
  AdamScalars l2 = kAdam;
  l2.l2 = 0.01f;
  l2.decay = 1;
  l2.one_minus_b1 = 0.75f;  // the other branch of lerp
  SgdScalars first = kSgd, heavy = kSgd;
  first.first = true;
  heavy.nesterov = false;
  heavy.l2 = 0;
  const auto of_adam = [](const std::string& name, int states, const AdamScalars& o) {
    return Case{name, states, [o](const Tile& t) { adam(o, t); },
                [o](const Tile& t) { adam_by_hand(o, t); }};
  };
  const auto of_sgd = [](const std::string& name, int states, const SgdScalars& o) {
    return Case{name, states, [o](const Tile& t) { sgd(o, t); },
                [o](const Tile& t) { sgd_by_hand(o, t); }};
  };
  return {of_adam("adamw", 2, kAdam),
          of_adam("adamw amsgrad", 3, kAdam),
          of_adam("adam L2", 2, l2),
          of_adam("adam L2 amsgrad", 3, l2),
          {"lion", 1, [](const Tile& t) { lion(kLion, t); },
           [](const Tile& t) { lion_by_hand(kLion, t); }},
          of_sgd("sgd nesterov", 1, kSgd),
          of_sgd("sgd first step", 1, first),
          of_sgd("sgd heavy ball", 1, heavy),
          of_sgd("sgd without momentum", 0, kSgd)};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

TEST(ElementRules, EqualTheFormulasBitForBitOnEveryInstructionSet) {
  for (const Case& each : cases())
    on_every_target([&](const std::string& target) {
      for (const std::size_t n : {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 70, 257}) {
        Streams fast(n), slow(n);
        for (int step = 0; step < 3; ++step) {
          each.fast(fast.tile(each.states));
          each.by_hand(slow.tile(each.states));
        }
        EXPECT_TRUE(same_bits(fast.w, slow.w)) << each.name << " on " << target << ", n " << n;
        for (std::size_t k = 0; k < 3; ++k)
          EXPECT_TRUE(same_bits(fast.s[k], slow.s[k]))
              << each.name << " on " << target << ", state " << k;
      }
    });
}

TEST(ElementRules, NeitherPlaceNorAlignmentNorPrefetchShows) {
  for (const Case& each : cases()) {
    Streams whole(200);
    each.fast(whole.tile(each.states));
    for (std::size_t first = 1; first < 20; ++first) {
      Streams cut(200);
      Tile head = cut.tile(each.states), tail = cut.tile(each.states, first);
      head.count = first;
      tail.prefetch = 1024;
      each.fast(head);
      each.fast(tail);
      EXPECT_TRUE(cut == whole) << each.name << ", cut at " << first;
    }
  }
}

TEST(ElementRules, ClearTheGradientWhenAskedAndOnlyThen) {
  for (const Case& each : cases()) {
    Streams kept(37), cleared(37);
    each.fast(kept.tile(each.states));
    Tile tile = cleared.tile(each.states);
    tile.cleared = cleared.g.data();
    each.fast(tile);
    EXPECT_EQ(cleared.g, std::vector<float>(37, 0.0f)) << each.name;
    EXPECT_EQ(kept.g, Streams(37).g) << each.name;
    EXPECT_TRUE(same_bits(kept.w, cleared.w)) << each.name;
  }
}

TEST(ElementRules, NaNStaysInItsElement) {
  for (const Case& each : cases()) {
    Streams clean(40), dirty(40);
    dirty.g[21] = std::numeric_limits<float>::quiet_NaN();
    each.fast(clean.tile(each.states));
    each.fast(dirty.tile(each.states));
    EXPECT_TRUE(std::isnan(dirty.w[21])) << each.name;
    dirty.w[21] = clean.w[21];
    EXPECT_TRUE(same_bits(clean.w, dirty.w)) << each.name;
  }
}

TEST(ElementRules, LionDoesNotMoveWhereTheAverageIsZero) {
  Streams x(5);
  for (float& each : x.g) each = 0;
  for (float& each : x.s[0]) each = 0;
  const std::vector<float> before = x.w;
  LionScalars o = kLion;
  o.decay = 1;
  lion(o, x.tile(1));
  EXPECT_TRUE(same_bits(before, x.w));
}

}  // namespace
}  // namespace steepest::kernels
