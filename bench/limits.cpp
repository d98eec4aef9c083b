#include "bench/limits.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "bench/workloads.h"

namespace steepest::bench {
namespace {

std::int64_t side(bool quick) { return quick ? 128 : 2048; }

}  // namespace

Contender product_limit(bool bf16, bool quick) {
  const auto type = bf16 ? at::kBFloat16 : at::kFloat;
  const at::Tensor a = at::randn({side(quick), side(quick)}).to(type);
  const at::Tensor b = at::randn({side(quick), side(quick)}).to(type);
  return {"limit", [a, b] { at::mm(a, b); }};
}

double product_limit_flops(bool quick) { return 2 * std::pow(side(quick), 3); }

Json machine_limits(const std::vector<int>& threads, bool quick) {
  Json limits = Json::object();
  const std::vector<Shape> shapes = large(quick);
  const double gigabytes = 4.0 * static_cast<double>(elements(shapes)) / 1e9;
  const double gigaflops = product_limit_flops(quick) / 1e9;
  const std::vector<Contender> all{stream_over(shapes, 1, 0), stream_over(shapes, 3, 2),
                                   stream_over(shapes, 4, 3), product_limit(false, quick),
                                   product_limit(true, quick)};
  for (const int count : threads) {
    at::set_num_threads(count);
    const auto timings = interleaved(all, quick ? 0.02 : 4, 3, now);
    limits[fmt::format("{}T", count)] = Json{{"read_gb_s", gigabytes / timings[0].best},
                                             {"r3w2_gb_s", 5 * gigabytes / timings[1].best},
                                             {"r4w3_gb_s", 7 * gigabytes / timings[2].best},
                                             {"mm_fp32_gflop_s", gigaflops / timings[3].best},
                                             {"mm_bf16_gflop_s", gigaflops / timings[4].best}};
  }
  return limits;
}

}  // namespace steepest::bench
