#include <ATen/core/grad_mode.h>

#include <memory>
#include <string>
#include <utility>

#include "bench/operators.h"
#include "bench/references.h"
#include "bench/row.h"
#include "bench/workloads.h"
#include "steepest/optimizers/rules.h"

namespace steepest::bench {
namespace {

const AdamWOptions kAdamW{.lr = 1e-6, .weight_decay = 0.1};

template <class R>
using Ours = std::shared_ptr<RuleOptimizer<R>>;

template <class R>
Ours<R> make_ours(const std::vector<at::Tensor>& params, const typename R::Options& options) {
  return std::make_shared<RuleOptimizer<R>>(params, options);
}
template <class R>
Contender contender(std::string name, Ours<R> optimizer) {
  return {std::move(name), [optimizer = std::move(optimizer)] { optimizer->step(); }};
}

/// The plain version on the states of `optimizer`.
template <class R>
Contender plain(const std::vector<at::Tensor>& params, Ours<R> optimizer) {
  optimizer->allocate_state();
  std::vector<Slot<typename R::State>> slots;
  for (const at::Tensor& each : params)
    slots.push_back({each, each.grad(), optimizer->state_of(each)});
  return {"plain", [optimizer, slots = std::move(slots)] {
            R::update_plainly(slots, optimizer->options(), 1.0);
          }};
}

Contest adamw(const std::vector<Shape>& shapes) {
  const auto params = make_params(shapes);
  const auto optimizer = make_ours<AdamWRule>(params, kAdamW);
  return {.contenders = {contender<AdamWRule>("ours", optimizer),
                         stream_over(shapes, 4, 3),
                         {"libtorch", libtorch_adamw(params)},
                         {"aten", fused_adamw(params)},
                         plain<AdamWRule>(params, optimizer)},
          .bytes = 28.0 * static_cast<double>(elements(shapes))};
}

Contest sgd(const std::vector<Shape>& shapes) {
  const auto params = make_params(shapes);
  const auto optimizer = make_ours<SGDRule>(params, {.lr = 1e-6, .momentum = 0.9});
  return {.contenders = {contender<SGDRule>("ours", optimizer),
                         stream_over(shapes, 3, 2),
                         {"libtorch", libtorch_sgd(params)},
                         {"aten", fused_sgd(params)},
                         plain<SGDRule>(params, optimizer)},
          .bytes = 20.0 * static_cast<double>(elements(shapes))};
}

Contest lion(const std::vector<Shape>& shapes) {
  const auto params = make_params(shapes);
  const auto optimizer = make_ours<LionRule>(params, {.lr = 1e-6, .weight_decay = 0.1});
  return {.contenders = {contender<LionRule>("ours", optimizer),
                         stream_over(shapes, 3, 2),
                         {"aten", foreach_lion(params)},
                         plain<LionRule>(params, optimizer)},
          .bytes = 20.0 * static_cast<double>(elements(shapes))};
}

/// AdamW in narrow storage, `bytes` an element, against its own bytes at the speed of the fp32
/// stream and against our own fp32 update.
Contest narrow_adamw(const std::vector<Shape>& shapes, at::ScalarType type,
                     const AdamWOptions& storage, double bytes) {
  AdamWOptions options = storage;
  options.lr = kAdamW.lr;
  options.weight_decay = kAdamW.weight_decay;
  const auto narrow = make_params(shapes, type), wide = make_params(shapes);
  return {.contenders = {contender<AdamWRule>("ours", make_ours<AdamWRule>(narrow, options)),
                         stream_over(shapes, 4, 3),
                         contender<AdamWRule>("fp32", make_ours<AdamWRule>(wide, kAdamW))},
          .limit_share = bytes / 28,
          .bytes = bytes * static_cast<double>(elements(shapes))};
}

}  // namespace

// Bytes an element: read and written weights, masters and states, read gradients. A block of 32
// codes has a scale of 2 bytes.
std::vector<Row> element_rows() {
  return {
      {"adamw-fp32-large", "AdamW, one tensor of 64M fp32", [](bool q) { return adamw(large(q)); }},
      {"adamw-fp32-gpt2", "AdamW, GPT-2 small's 148 tensors",
       [](bool q) { return adamw(gpt2(q)); }},
      {"sgd-fp32-gpt2", "SGD with momentum, GPT-2 small", [](bool q) { return sgd(gpt2(q)); }},
      {"lion-fp32-gpt2", "Lion, GPT-2 small", [](bool q) { return lion(gpt2(q)); }},
      {"adamw-bf16-remainder-gpt2",
       "AdamW, bf16 weights and gradients, exact 16-bit remainders, fp32 states",
       [](bool q) {
         return narrow_adamw(gpt2(q), at::kBFloat16,
                             {.states = StateFormat::kFloat32, .masters = MasterFormat::kRemainder},
                             26);
       }},
      {"adamw-bf16-states-gpt2", "the same with bf16 states",
       [](bool q) {
         return narrow_adamw(
             gpt2(q), at::kBFloat16,
             {.states = StateFormat::kBFloat16, .masters = MasterFormat::kRemainder}, 18);
       }},
      {"adamw-8bit-gpt2", "AdamW, fp32 weights and gradients, 8-bit states",
       [](bool q) {
         return narrow_adamw(gpt2(q), at::kFloat, {.states = StateFormat::kInt8}, 16.25);
       }},
      {"adamw-flash-gpt2", "AdamW, bf16 weights and gradients, 24-bit masters, 8-bit states",
       [](bool q) {
         return narrow_adamw(gpt2(q), at::kBFloat16,
                             {.states = StateFormat::kInt8, .masters = MasterFormat::k24Bit},
                             12.25);
       }},
  };
}

}  // namespace steepest::bench
