#include "bench/training_rows.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/randint.h>

#include <memory>
#include <utility>

#include "bench/operators.h"
#include "bench/references.h"
#include "bench/row.h"
#include "steepest/build/optimizer.h"
#include "steepest/train/model.h"

namespace steepest::bench {

Step training_step(bool ours) {
  at::manual_seed(1);
  auto model = std::make_shared<train::Gpt>(ModelConfig{}, 1);
  const at::Tensor windows =
      at::randint(train::kVocabulary, {kWindows, model->config().context + 1}, at::kLong);
  const double lr = 1e-6;
  Step update;
  if (ours) {
    std::shared_ptr<Optimizer> optimizer = build_optimizer(
        RuleConfig{.matrices = MuonOptions{.lr = lr}, .rest = AdamWOptions{.lr = lr}},
        model->params(), StepPolicy{.max_norm = 1});
    update = [optimizer] {
      optimizer->step();
      optimizer->zero_grad();
    };
  } else {
    std::vector<at::Tensor> all, matrices, rest;
    for (const Param& each : model->params()) {
      all.push_back(each.value);
      const bool hidden = each.info.role == Role::kHidden && each.value.dim() == 2;
      (hidden ? matrices : rest).push_back(each.value);
    }
    update = [muon = operators_muon(matrices), adamw = libtorch_adamw(rest),
              clip = libtorch_clip(all), all] {
      clip();
      muon();
      adamw();
      for (const at::Tensor& each : all) each.mutable_grad().reset();
    };
  }
  return [model, windows, update = std::move(update)] {
    const at::AutoGradMode with_grad(true);
    model->loss(windows).backward();
    update();
  };
}

std::vector<Row> training_rows() {
  return {
      {"train-gpt", "a whole training step of recipes/gpt.yaml's model, Muon and AdamW", [](bool) {
         return Contest{
             .contenders = {{"ours", training_step(true)}, {"libtorch", training_step(false)}},
             .tokens = static_cast<double>(kWindows * ModelConfig{}.context)};
       }}};
}

}  // namespace steepest::bench
