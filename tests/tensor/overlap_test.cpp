#include "steepest/tensor/overlap.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace steepest {
namespace {

using Found = std::optional<std::pair<std::size_t, std::size_t>>;

Found find(std::vector<at::Tensor> tensors) { return find_overlap(tensors); }

TEST(Overlap, TensorsOfTheirOwnDoNot) {
  EXPECT_EQ(find({}), Found());
  EXPECT_EQ(find({at::ones({3}), at::ones({4, 5}), at::ones({}), at::ones({2, 2}).t()}), Found());
}

TEST(Overlap, WhatHasNoMemoryDoesNot) {
  const at::Tensor none = at::empty({0, 3});
  EXPECT_EQ(find({none, none, at::Tensor(), at::ones({2, 2}).to_sparse()}), Found());
  const at::Tensor meta = at::empty({3}, at::TensorOptions().device(at::kMeta));
  EXPECT_EQ(find({meta, meta}), Found());
}

TEST(Overlap, PartsOfOneStorageMayStandSideBySide) {
  const at::Tensor flat = at::ones({100});
  EXPECT_EQ(find({flat.slice(0, 60, 100), flat.slice(0, 0, 30), flat.slice(0, 30, 60)}), Found());
  EXPECT_EQ(find({flat.slice(0, 60, 100), flat.slice(0, 0, 31), flat.slice(0, 30, 60)}),
            Found({1, 2}));
  // One byte of the first lies in the second's last element.
  const at::Tensor bytes = at::empty({64}, at::kByte);
  EXPECT_EQ(find({bytes.slice(0, 15, 20), bytes.slice(0, 0, 16).view(at::kFloat)}), Found({0, 1}));
  EXPECT_EQ(find({bytes.slice(0, 16, 20), bytes.slice(0, 0, 16).view(at::kFloat)}), Found());
}

TEST(Overlap, PartsThatInterleaveAreToldFromThoseThatOverlap) {
  const at::Tensor matrix = at::ones({8, 10});
  EXPECT_EQ(find({matrix.slice(1, 0, 4), matrix.slice(1, 4, 10)}), Found());
  EXPECT_EQ(find({matrix.slice(1, 0, 5), matrix.slice(1, 4, 10)}), Found({0, 1}));
  EXPECT_EQ(find({matrix.slice(1, 0, 10, 2), matrix.slice(1, 1, 10, 2)}), Found());
  EXPECT_EQ(find({matrix.slice(1, 0, 10, 2), matrix.slice(1, 1, 10, 2), matrix[3]}), Found({0, 2}));
}

TEST(Overlap, AViewOfTheWholeOverlapsIt) {
  const at::Tensor matrix = at::ones({8, 10}), other = at::ones({2});
  EXPECT_EQ(find({other, matrix, matrix.t()}), Found({1, 2}));
  EXPECT_EQ(find({matrix.detach(), other, matrix.view({80})}), Found({0, 2}));
}

TEST(Overlap, ATensorMayOverlapItself) {
  const at::Tensor flat = at::ones({10});
  EXPECT_EQ(find({at::ones({3}), flat.unfold(0, 4, 2)}), Found({1, 1}));
  EXPECT_EQ(find({at::ones({1, 3}).expand({2, 3})}), Found({0, 0}));
  // Not nested, but each element is its own: offsets 0 3 6 and 2 5 8.
  EXPECT_EQ(find({flat.as_strided({2, 3}, {2, 3})}), Found());
}

// Against the addresses of all elements, for views of one small storage.
TEST(Overlap, AgreesWithASearchOverAllElements) {
  std::mt19937 random(11);
  const auto number = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const at::Tensor storage = at::arange(64, at::kFloat);
  int found = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<at::Tensor> tensors;
    std::set<float> seen;
    bool overlap = false;
    for (int i = number(1, 4); i > 0; --i) {
      const std::int64_t rows = number(1, 3), cols = number(1, 4);
      tensors.push_back(
          storage.as_strided({rows, cols}, {number(0, 9), number(0, 4)}, number(0, 30)));
      const at::Tensor values = tensors.back().contiguous().view({-1});
      for (std::int64_t k = 0; k < values.numel(); ++k)
        overlap |= !seen.insert(values[k].item<float>()).second;
    }
    EXPECT_EQ(find_overlap(tensors).has_value(), overlap) << "round " << round;
    found += overlap;
  }
  EXPECT_GT(found, 200);
  EXPECT_LT(found, 1900);
}

}  // namespace
}  // namespace steepest
