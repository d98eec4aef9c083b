#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>

#include <memory>
#include <utility>

#include "bench/operators.h"
#include "bench/references.h"
#include "bench/row.h"
#include "bench/streams.h"
#include "bench/workloads.h"
#include "steepest/build/optimizer.h"
#include "steepest/gradients/statistics.h"

namespace steepest::bench {
namespace {

Contest norm(const std::vector<Shape>& shapes) {
  const auto params = make_params(shapes);
  auto grads = std::make_shared<std::vector<at::Tensor>>(grads_of(params));
  return {.contenders = {{"ours", [grads] { gradient_statistics(*grads); }},
                         stream_over(shapes, 1, 0),
                         {"aten", foreach_norm(params)}},
          .bytes = 4.0 * static_cast<double>(elements(shapes))};
}

/// Puts gradients back as they were: a whole step sets them to zero.
Step refill(const std::vector<at::Tensor>& params) {
  auto grads = std::make_shared<std::vector<at::Tensor>>(grads_of(params));
  auto saved = std::make_shared<std::vector<at::Tensor>>();
  for (const at::Tensor& each : *grads) saved->push_back(each.clone());
  return [grads, saved] { at::_foreach_copy_(*grads, *saved); };
}

/// Norm, clip, AdamW, gradients to zero. `known`: the norm was taken before, as where gradients are
/// accumulated; what is timed then is the update alone, for us.
// Limit: gradients read once for the norm; then weights, gradients and both states read and
// written.
Contest whole_step(const std::vector<Shape>& shapes, bool known) {
  const auto params = make_params(shapes);
  const Step fill = refill(params);
  std::shared_ptr<Optimizer> optimizer =
      build_optimizer(AdamWConfig{.lr = 1e-6, .weight_decay = 0.1}, ParamSet::from(params),
                      StepPolicy{.max_norm = 1.0, .zero_gradients = true});
  const Contender ours =
      known ? Contender{"ours", [optimizer] { optimizer->step_with_ready_grads(); },
                        [optimizer, fill] {
                          fill();
                          optimizer->prepare_grads();
                        }}
            : Contender{"ours", [optimizer] { optimizer->step(); }, fill};
  const Contender read = stream_over(shapes, 1, 0), update = stream_over(shapes, 4, 4);
  const Step limit = [read, update, known] {
    if (!known) read.run();
    update.run();
  };
  return {.contenders = {ours,
                         {"limit", limit},
                         {"libtorch", libtorch_whole_step(params), fill},
                         {"aten", fused_whole_step(params), fill}},
          .bytes = (known ? 32.0 : 36.0) * static_cast<double>(elements(shapes))};
}

}  // namespace

std::vector<Row> step_rows() {
  return {{"norm-gpt2", "norm, finite check and zero count of GPT-2 small's gradients",
           [](bool q) { return norm(gpt2(q)); }},
          {"step-gpt2", "norm, clip, AdamW, gradients to zero: GPT-2 small",
           [](bool q) { return whole_step(gpt2(q), false); }},
          {"step-known-norm-gpt2", "the same where the norm was taken while gradients gathered",
           [](bool q) { return whole_step(gpt2(q), true); }}};
}

}  // namespace steepest::bench
