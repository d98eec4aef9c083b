#include <ATen/ops/randn.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/limits.h"
#include "bench/operators.h"
#include "bench/references.h"
#include "bench/row.h"
#include "bench/workloads.h"
#include "steepest/linalg/fast_newton_schulz.h"
#include "steepest/optimizers/rules.h"

namespace steepest::bench {
namespace {

constexpr int kIterations = 5;
/// Of steps that take milliseconds, so that the best of them is one that nothing disturbed.
constexpr int kOfSmall = 100;

/// Of the standard form: forms that need fewer may pass the limit.
double iteration_flops(const std::vector<Shape>& shapes) {
  double flops = 0;
  for (const Shape& each : shapes) {
    const auto least = static_cast<double>(std::min(each[0], each[1]));
    const auto most = static_cast<double>(std::max(each[0], each[1]));
    flops += kIterations * (4 * least * least * most + 2 * least * least * least);
  }
  return flops;
}

Contest muon(const std::vector<Shape>& shapes, bool quick, int at_least = 0) {
  const auto params = make_params(shapes);
  auto optimizer = std::make_shared<Muon>(params, MuonOptions{.lr = 1e-6});
  const double flops = iteration_flops(shapes);
  return {.contenders = {{"ours", [optimizer] { optimizer->step(); }},
                         product_limit(/*bf16=*/true, quick),
                         {"libtorch", operators_muon(params)},
                         {"aten", batched_muon(params)}},
          .limit_share = flops / product_limit_flops(quick),
          .flops = flops,
          .at_least = quick ? 0 : at_least};
}

/// As an optimizer has it: what it allocates is there after the first.
Contest newton_schulz_of(std::int64_t rows, std::int64_t cols, bool bf16, bool quick) {
  const std::int64_t scale = quick ? 8 : 1;
  const Shape shape{rows / scale, cols / scale};
  at::manual_seed(1);
  const at::Tensor g = at::randn(shape);
  const double flops = iteration_flops({shape});
  const NewtonSchulzOptions options{.coefficients = coefficient_schedule(
                                        coefficients(CoefficientSet::kSimple), kIterations, false),
                                    .compute_dtype = bf16 ? Dtype::kBFloat16 : Dtype::kFloat32};
  auto ours = std::make_shared<FastNewtonSchulz>(options);
  return {.contenders = {{"ours", [g, ours] { (*ours)(g); }},
                         product_limit(bf16, quick),
                         {"aten", [g, bf16] { operators_newton_schulz(g, bf16); }}},
          .limit_share = flops / product_limit_flops(quick),
          .flops = flops};
}

}  // namespace

std::vector<Row> matrix_rows() {
  std::vector<Row> rows{{"muon-recipe", "Muon, the 16 hidden matrices of recipes/gpt.yaml",
                         [](bool q) { return muon(recipe_matrices(), q, kOfSmall); }},
                        {"muon-gpt2", "Muon, GPT-2 small's 48 hidden matrices",
                         [](bool q) { return muon(gpt2_matrices(q ? 8 : 1), q); }}};
  struct Case {
    std::string_view name, summary;
    std::int64_t rows, cols;
    bool bf16;
  };
  static constexpr Case kCases[] = {
      {"ns-768x768-fp32", "Newton-Schulz of a square matrix in fp32", 768, 768, false},
      {"ns-768x768-bf16", "the same in bf16", 768, 768, true},
      {"ns-2304x768-fp32", "Newton-Schulz of a tall matrix in fp32", 2304, 768, false},
      {"ns-2304x768-bf16", "the same in bf16", 2304, 768, true},
      {"ns-768x3072-fp32", "Newton-Schulz of a wide matrix in fp32", 768, 3072, false},
      {"ns-768x3072-bf16", "the same in bf16", 768, 3072, true}};
  for (const Case& each : kCases)
    rows.push_back({each.name, each.summary, [&each](bool q) {
                      return newton_schulz_of(each.rows, each.cols, each.bf16, q);
                    }});
  return rows;
}

}  // namespace steepest::bench
