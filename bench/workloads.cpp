#include "bench/workloads.h"

#include <ATen/Context.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>

#include <memory>

#include "bench/streams.h"

namespace steepest::bench {

std::vector<Shape> large(bool quick) { return {{quick ? 1 << 18 : 64 << 20}}; }
std::vector<Shape> gpt2(bool quick) { return gpt2_small(quick ? 8 : 1); }

std::int64_t elements(const std::vector<Shape>& shapes) {
  std::int64_t sum = 0;
  for (const Shape& each : shapes) {
    std::int64_t n = 1;
    for (const std::int64_t side : each) n *= side;
    sum += n;
  }
  return sum;
}

std::vector<at::Tensor> make_params(const std::vector<Shape>& shapes, at::ScalarType type) {
  at::manual_seed(1);
  std::vector<at::Tensor> params;
  for (const Shape& each : shapes) {
    at::Tensor param = at::randn(each).to(type);
    param.set_requires_grad(true);
    param.mutable_grad() = at::randn(each).mul_(1e-3).to(type);
    params.push_back(param);
  }
  return params;
}

std::vector<at::Tensor> grads_of(const std::vector<at::Tensor>& params) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& each : params) all.push_back(each.grad());
  return all;
}

Contender stream_over(const std::vector<Shape>& shapes, int reads, int writes) {
  auto arrays = std::make_shared<std::vector<at::Tensor>>();
  auto pieces = std::make_shared<std::vector<Piece>>();
  for (const Shape& shape : shapes) {
    Piece piece;
    piece.count = static_cast<std::size_t>(elements({shape}));
    for (int k = 0; k < reads; ++k) {
      arrays->push_back(at::rand(shape));
      piece.arrays[k] = arrays->back().mutable_data_ptr<float>();
    }
    pieces->push_back(piece);
  }
  return {"limit", [arrays, pieces, reads, writes] { stream(*pieces, reads, writes); }};
}

}  // namespace steepest::bench
