#include "steepest/precision/plain_codecs.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "steepest/base/random.h"
#include "steepest/kernels/codecs.h"
#include "tests/support/every_target.h"

namespace steepest::plain {
namespace {

using kernels::Draw;
using test::on_every_target;

std::size_t count(const at::Tensor& x) { return static_cast<std::size_t>(x.numel()); }
const float* floats(const at::Tensor& x) { return x.const_data_ptr<float>(); }
template <class T>
T* memory(const at::Tensor& x) {
  return static_cast<T*>(x.mutable_data_ptr());
}
at::Tensor numbers(const std::vector<std::uint32_t>& patterns) {
  at::Tensor x = at::empty({static_cast<std::int64_t>(patterns.size())}, at::kFloat);
  if (!patterns.empty()) std::memcpy(memory<float>(x), patterns.data(), 4 * patterns.size());
  return x;
}

/// Empty where both hold the same bits (or, where `nan` says so, both NaN), else the first place.
std::string difference(const at::Tensor& a, const at::Tensor& b, bool any_nan = false) {
  if (a.scalar_type() != b.scalar_type()) return "dtypes differ";
  if (a.sizes() != b.sizes()) return "shapes differ";
  const std::size_t width = a.element_size();
  // An empty tensor has no memory to compare.
  if (a.numel() == 0 || std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0)
    return {};
  for (std::size_t i = 0; i < count(a); ++i) {
    const auto* x = memory<std::byte>(a) + i * width;
    const auto* y = memory<std::byte>(b) + i * width;
    if (std::memcmp(x, y, width) == 0) continue;
    if (any_nan && std::isnan(memory<float>(a)[i]) && std::isnan(memory<float>(b)[i])) continue;
    std::string text = "element " + std::to_string(i) + ":";
    for (const auto* bytes : {x, y}) {
      std::uint32_t pattern = 0;
      std::memcpy(&pattern, bytes, width);
      text += " " + std::to_string(pattern);
    }
    return text;
  }
  return {};
}

at::Tensor like(const at::Tensor& x, at::ScalarType type) {
  return at::empty(x.sizes(), x.options().dtype(type));
}

/// One format by the loops over lanes beside the same by ATen.
struct Pair {
  const char* name;
  std::function<std::string(const at::Tensor&)> differs;
};

std::string rounding(const at::Tensor& x, at::ScalarType type) {
  const at::Tensor narrow = like(x, type), back = like(x, at::kFloat);
  auto* words = memory<std::uint16_t>(narrow);
  const bool half = type == at::kHalf;
  (half ? kernels::encode_fp16 : kernels::encode_bf16)(floats(x), words, count(x));
  (half ? kernels::decode_fp16 : kernels::decode_bf16)(words, memory<float>(back), count(x));
  return difference(narrow, round_nearest(x, type)) + difference(back, narrow.to(at::kFloat), true);
}

std::string by_chance(const at::Tensor& x, at::ScalarType type) {
  const Draw draw{.seed = 0xFEDCBA9876543210, .step = (std::uint64_t{1} << 40) + 3, .param = 99};
  const at::Tensor narrow = like(x, type);
  const std::int64_t first = (std::int64_t{1} << 36) - 5;
  (type == at::kHalf ? kernels::encode_fp16_stochastic : kernels::encode_bf16_stochastic)(
      floats(x), memory<std::uint16_t>(narrow), count(x), draw, static_cast<std::uint64_t>(first));
  return difference(narrow, round_stochastic(x, type, draw, first));
}

std::string remainder(const at::Tensor& x) {
  const Master ours{like(x, at::kBFloat16), like(x, at::kShort)};
  const at::Tensor back = like(x, at::kFloat);
  kernels::split_remainder(floats(x), memory<std::uint16_t>(ours.narrow),
                           memory<std::int16_t>(ours.beside), count(x));
  kernels::join_remainder(memory<std::uint16_t>(ours.narrow), memory<std::int16_t>(ours.beside),
                          memory<float>(back), count(x));
  const Master plain = split_remainder(x);
  return difference(ours.narrow, plain.narrow) + difference(ours.beside, plain.beside) +
         difference(back, join_remainder(ours)) + difference(back, x);
}

template <class Code, auto kEncode, auto kDecode>
std::string error_codes(const at::Tensor& x, at::ScalarType type) {
  const Master ours{like(x, type), like(x, sizeof(Code) == 1 ? at::kChar : at::kShort)};
  const at::Tensor back = like(x, at::kFloat);
  kEncode(floats(x), memory<std::uint16_t>(ours.narrow), memory<Code>(ours.beside), count(x));
  kDecode(memory<std::uint16_t>(ours.narrow), memory<Code>(ours.beside), memory<float>(back),
          count(x));
  const Master plain = encode_error(x, type, 8 * sizeof(Code));
  return difference(ours.narrow, plain.narrow) + difference(ours.beside, plain.beside) +
         difference(back, decode_error(ours), true);
}

template <class Code, class Encode, class Decode>
std::string in_blocks(const at::Tensor& x, const Encode& encode, const Decode& decode,
                      const Blocks& plain, const std::function<at::Tensor(const Blocks&)>& judge) {
  const Blocks ours{like(x, std::is_signed_v<Code> ? at::kChar : at::kByte),
                    at::empty({(x.numel() + 31) / 32}, at::kHalf)};
  const at::Tensor back = like(x, at::kFloat);
  encode(floats(x), memory<Code>(ours.codes), memory<std::uint16_t>(ours.scales), count(x));
  decode(memory<Code>(ours.codes), memory<std::uint16_t>(ours.scales), memory<float>(back),
         count(x));
  return difference(ours.codes, plain.codes) + difference(ours.scales, plain.scales) +
         difference(back, judge(ours), true);
}

std::string e4m3(const at::Tensor& x, float scale) {
  const at::Tensor stored = like(x, at::kByte), back = like(x, at::kFloat);
  kernels::encode_e4m3_scaled(floats(x), scale, memory<std::uint8_t>(stored), count(x));
  kernels::decode_e4m3_scaled(memory<std::uint8_t>(stored), scale, memory<float>(back), count(x));
  return difference(stored, encode_e4m3_scaled(x, at::tensor({scale}))) +
         difference(back, decode_e4m3_scaled(stored, at::tensor({scale})), true);
}

std::string fp16_scaled(const at::Tensor& x, float scale) {
  const at::Tensor stored = like(x, at::kHalf), back = like(x, at::kFloat);
  kernels::encode_fp16_scaled(floats(x), scale, memory<std::uint16_t>(stored), count(x));
  kernels::decode_fp16_scaled(memory<std::uint16_t>(stored), scale, memory<float>(back), count(x));
  return difference(stored, encode_fp16_scaled(x, at::tensor({scale}))) +
         difference(back, decode_fp16_scaled(stored, at::tensor({scale})), true);
}

std::string largest(const at::Tensor& x) {
  const at::Tensor ours = at::full({}, kernels::largest_magnitude(floats(x), count(x)), at::kFloat);
  return difference(ours, largest_magnitude(x), true);
}

/// Those in which an element stands alone.
const std::vector<Pair>& by_element() {
  static const std::vector<Pair> kAll = {
      {"bf16", [](const at::Tensor& x) { return rounding(x, at::kBFloat16); }},
      {"fp16", [](const at::Tensor& x) { return rounding(x, at::kHalf); }},
      {"bf16 by chance", [](const at::Tensor& x) { return by_chance(x, at::kBFloat16); }},
      {"fp16 by chance", [](const at::Tensor& x) { return by_chance(x, at::kHalf); }},
      {"remainder", remainder},
      {"bf16 error8",
       [](const at::Tensor& x) {
         return error_codes<std::int8_t, kernels::encode_bf16_error8, kernels::decode_bf16_error8>(
             x, at::kBFloat16);
       }},
      {"bf16 error16",
       [](const at::Tensor& x) {
         return error_codes<std::int16_t, kernels::encode_bf16_error16,
                            kernels::decode_bf16_error16>(x, at::kBFloat16);
       }},
      {"fp16 error8",
       [](const at::Tensor& x) {
         return error_codes<std::int8_t, kernels::encode_fp16_error8, kernels::decode_fp16_error8>(
             x, at::kHalf);
       }},
      {"fp16 error16",
       [](const at::Tensor& x) {
         return error_codes<std::int16_t, kernels::encode_fp16_error16,
                            kernels::decode_fp16_error16>(x, at::kHalf);
       }},
      {"e4m3", [](const at::Tensor& x) { return e4m3(x, 1); }},
      {"e4m3 scaled", [](const at::Tensor& x) { return e4m3(x, 3e-5f); }},
      {"e4m3 under zero", [](const at::Tensor& x) { return e4m3(x, 0); }},
      {"fp16 scaled", [](const at::Tensor& x) { return fp16_scaled(x, 0.7f); }},
  };
  return kAll;
}

const std::vector<Pair>& of_tensors() {
  static const std::vector<Pair> kAll = {
      {"softsign8",
       [](const at::Tensor& x) {
         return in_blocks<std::int8_t>(x, kernels::encode_softsign8, kernels::decode_softsign8,
                                       encode_softsign8(x), decode_softsign8);
       }},
      {"linear8",
       [](const at::Tensor& x) {
         return in_blocks<std::int8_t>(x, kernels::encode_linear8, kernels::decode_linear8,
                                       encode_linear8(x), decode_linear8);
       }},
      {"sqrt8",
       [](const at::Tensor& x) {
         const auto encode = [](const float* f, std::uint8_t* c, std::uint16_t* s, std::size_t n) {
           kernels::encode_sqrt8(f, c, s, n, /*published=*/false);
         };
         return in_blocks<std::uint8_t>(x.square(), encode, kernels::decode_sqrt8,
                                        encode_sqrt8(x.square(), false), decode_sqrt8);
       }},
      {"sqrt8 as published",
       [](const at::Tensor& x) {
         const auto encode = [](const float* f, std::uint8_t* c, std::uint16_t* s, std::size_t n) {
           kernels::encode_sqrt8(f, c, s, n, /*published=*/true);
         };
         return in_blocks<std::uint8_t>(x.square(), encode, kernels::decode_sqrt8,
                                        encode_sqrt8(x.square(), true), decode_sqrt8);
       }},
      {"largest", largest},
  };
  return kAll;
}

void compare(const std::vector<Pair>& pairs, const at::Tensor& x, const std::string& where) {
  for (const Pair& each : pairs) ASSERT_EQ(each.differs(x), "") << each.name << ", " << where;
}

/// Short operators on one thread: on a busy machine two wait for each other most of the time.
struct PlainCodecs : testing::Test {
  PlainCodecs() { at::set_num_threads(1); }
};

/// All neighbours of a rounding edge and 1.3 million other patterns on every instruction set; with
/// STEEPEST_EXHAUSTIVE=1 all 2^32 before, on the usual one, which takes half an hour.
TEST_F(PlainCodecs, EveryPatternIsRoundedAsTheLoopsOverLanesDo) {
  // Few enough that all tensors of a comparison stay in the second cache.
  std::vector<std::uint32_t> patterns(1 << 13);
  const auto all = [&](std::uint64_t number, const std::string& where, const auto& pattern) {
    for (std::uint64_t i = 0; i < number && !HasFatalFailure(); i += patterns.size()) {
      for (std::size_t k = 0; k < patterns.size(); ++k)
        patterns[k] = static_cast<std::uint32_t>(pattern(i + k));
      compare(by_element(), numbers(patterns), where + ", from " + std::to_string(i));
    }
  };
  constexpr std::uint64_t kHigh = 1 << 16;
  if (std::getenv("STEEPEST_EXHAUSTIVE") != nullptr)
    all(kHigh << 16, "every pattern", [](std::uint64_t i) { return i; });
  std::mt19937 random(11);
  on_every_target([&](const std::string& target) {
    for (const std::uint64_t low : {0, 1, 0xFFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001})
      all(kHigh, target + ", low bits " + std::to_string(low),
          [&](std::uint64_t i) { return i << 16 | low; });
    all(20 * kHigh, target + ", by chance", [&](std::uint64_t) { return random(); });
  });
}

/// Blocks of very different size inside and among each other, some of zeros and some not finite.
std::vector<float> blocks_of_all_kinds(std::size_t n) {
  std::mt19937 random(12);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t block = i / 32;
    const float size = std::ldexp(1.0f, static_cast<int>(block * 7 % 120) - 90);
    x[i] = block % 11 == 10 ? 0.0f : normal(random) * std::exp(2 * normal(random)) * size;
    if (block % 13 == 5 && i % 32 == 17) x[i] = std::numeric_limits<float>::infinity();
    if (block % 13 == 7 && i % 32 == 3) x[i] = std::nanf("");
    // What x86 makes of 0 / 0 and Inf - Inf.
    if (block % 13 == 9 && i % 32 == 31) x[i] = -std::nanf("");
  }
  return x;
}

TEST_F(PlainCodecs, BlocksAtEveryLengthAndAlignmentAreThoseOfTheLoopsOverLanes) {
  std::vector<float> all = blocks_of_all_kinds(20'011);
  on_every_target([&](const std::string& target) {
    for (std::size_t n = 0; n <= all.size(); n += n < 100 ? 1 : 4977) {
      for (const std::size_t start : {std::size_t{0}, std::size_t{3}}) {
        if (start + n > all.size()) continue;
        const at::Tensor x =
            at::from_blob(all.data() + start, {static_cast<std::int64_t>(n)}, at::kFloat);
        compare(of_tensors(), x, target + ", length " + std::to_string(n));
        compare(by_element(), x, target + ", length " + std::to_string(n));
        if (HasFatalFailure()) return;
      }
    }
  });
}

/// Values around the edge between two codes, where another order of operations shows.
TEST_F(PlainCodecs, EdgesBetweenCodesAreThoseOfTheLoopsOverLanes) {
  for (const float s : {1.0f, 0.3f, 12345.0f, 2e-5f}) {
    std::vector<float> all;
    for (int k = 0; k < 255; ++k) {
      const float y = (static_cast<float>(k) + 0.5f) / 127,
                  root = (static_cast<float>(k) + 0.5f) / 255;
      for (const float edge : {y / (2 - y) * s, y * s, root * s}) {
        if (edge > s) continue;
        float near = edge;
        for (int i = 0; i < 4; ++i) near = std::nextafter(near, 0.0f);
        for (int i = 0; i < 8; ++i, near = std::nextafter(near, 2 * s)) {
          if (all.size() % 32 == 0) all.push_back(s);
          all.push_back(i % 2 == 0 ? near : -near);
        }
      }
    }
    const at::Tensor x =
        at::from_blob(all.data(), {static_cast<std::int64_t>(all.size())}, at::kFloat);
    on_every_target([&](const std::string& target) { compare(of_tensors(), x, target); });
  }
}

TEST_F(PlainCodecs, EveryCodeComesBackFromItsValue) {
  // Scales that fp16 holds exactly, but for the smallest: there the step of fp16 is that of a code.
  for (const float s : {1.0f, 0.0062103271484375f, 1000.0f}) {
    std::vector<std::int8_t> codes;
    std::vector<std::uint8_t> roots;
    for (int c = -127; c <= 127; ++c) {
      if (codes.size() % 32 == 0) codes.push_back(127);  // so that every block has the scale s
      codes.push_back(static_cast<std::int8_t>(c));
    }
    for (int c = 0; c <= 255; ++c) {
      if (roots.size() % 32 == 0) roots.push_back(255);
      roots.push_back(static_cast<std::uint8_t>(c));
    }
    const auto given = [&](auto& list, at::ScalarType type) {
      const auto n = static_cast<std::int64_t>(list.size());
      return Blocks{at::from_blob(list.data(), {n}, type),
                    at::empty({(n + 31) / 32}, at::kHalf).fill_(s)};
    };
    const Blocks signed_codes = given(codes, at::kChar), root_codes = given(roots, at::kByte);
    const auto same = [](const Blocks& a, const Blocks& b) {
      return difference(a.codes, b.codes) + difference(a.scales, b.scales);
    };
    EXPECT_EQ(same(encode_softsign8(decode_softsign8(signed_codes)), signed_codes), "") << s;
    EXPECT_EQ(same(encode_linear8(decode_linear8(signed_codes)), signed_codes), "") << s;
    EXPECT_EQ(same(encode_sqrt8(decode_sqrt8(root_codes), false), root_codes), "") << s;
    EXPECT_EQ(same(encode_sqrt8(decode_sqrt8(root_codes), true), root_codes), "") << s;
  }
}

TEST_F(PlainCodecs, RandomBitsAreThoseOfTheGeneratorOfBase) {
  const Draw draw{.seed = 5, .step = 8, .param = 0};
  const CounterRandom random(draw.seed);
  const at::Tensor bits = random_bits(draw, 13, 40, at::kCPU);
  for (std::int64_t i = 0; i < 40; ++i) {
    const auto e = static_cast<std::uint64_t>(13 + i);
    if (e % 8 >= 4) continue;  // bits() gives the first two words of a block
    const std::uint64_t words = random.bits(draw.step, e / 8);
    EXPECT_EQ(bits[i].item<std::int32_t>(),
              static_cast<std::int32_t>(words >> (16 * (e % 4)) & 0xFFFF))
        << i;
  }
}

/// A second moment that vanishes beside a momentum that does not makes an update explode.
TEST_F(PlainCodecs, OnlyThePublishedRootLosesSmallValues) {
  const at::Tensor v = at::tensor({1.0f, 1e-6f, 1e-12f, 0.0f});
  const at::Tensor kept = decode_sqrt8(encode_sqrt8(v, false));
  const at::Tensor published = decode_sqrt8(encode_sqrt8(v, true));
  const float step = 1.0f / 255;
  EXPECT_EQ(difference(kept, at::tensor({1.0f, step * step, step * step, 0.0f})), "");
  EXPECT_EQ(difference(published, at::tensor({1.0f, 0.0f, 0.0f, 0.0f})), "");
}

TEST_F(PlainCodecs, ShapesAndStridesDoNotShow) {
  const at::Tensor x = at::arange(0, 6 * 35, at::kFloat).sin().view({6, 35});
  const at::Tensor turned = x.t().contiguous().t();
  ASSERT_FALSE(turned.is_contiguous());
  const Draw draw{.seed = 1};
  const Blocks a = encode_softsign8(x), b = encode_softsign8(turned);
  EXPECT_EQ(a.codes.sizes(), x.sizes());
  EXPECT_EQ(difference(a.codes, b.codes), "");
  EXPECT_EQ(difference(round_stochastic(x, at::kHalf, draw, 0),
                       round_stochastic(turned, at::kHalf, draw, 0)),
            "");
  const Master whole = split_remainder(x), other = split_remainder(turned);
  EXPECT_EQ(difference(whole.narrow, other.narrow) + difference(whole.beside, other.beside), "");
}

}  // namespace
}  // namespace steepest::plain
