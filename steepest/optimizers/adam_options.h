#pragma once

#include "steepest/base/fields.h"
#include "steepest/precision/storage.h"

namespace steepest {

/// Adam of torch.optim: weight decay is L2, added to the gradient, unless decoupled_weight_decay.
struct AdamOptions {
  double lr = 1e-3;
  Betas betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;
  bool maximize = false;
  bool decoupled_weight_decay = false;
  StateFormat states = StateFormat::kParam;
  MasterFormat masters = MasterFormat::kNone;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;

  static constexpr auto fields() {
    using O = AdamOptions;
    return std::tuple_cat(
        std::tuple{field("lr", &O::lr, rate(), "step size; a schedule sets it every step"),
                   field("betas", &O::betas, decay_factor(),
                         "decay of the gradient average and of its square"),
                   field("eps", &O::eps, at_least_zero(), "added outside the square root"),
                   field("weight_decay", &O::weight_decay, at_least_zero(),
                         "L2: wd * w is added to the gradient"),
                   field("amsgrad", &O::amsgrad, "divide by the largest second moment so far"),
                   field("maximize", &O::maximize, "climb instead of descend"),
                   field("decoupled_weight_decay", &O::decoupled_weight_decay,
                         "decay the weight beside the step instead, as AdamW does")},
        storage_fields<O>());
  }
  bool operator==(const AdamOptions&) const = default;
};

/// AdamW of torch.optim: weight decay is decoupled, w shrinks by lr * wd a step.
struct AdamWOptions {
  double lr = 1e-3;
  Betas betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool amsgrad = false;
  bool maximize = false;
  StateFormat states = StateFormat::kParam;
  MasterFormat masters = MasterFormat::kNone;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;

  static constexpr auto fields() {
    using O = AdamWOptions;
    return std::tuple_cat(
        std::tuple{field("lr", &O::lr, rate(), "step size; a schedule sets it every step"),
                   field("betas", &O::betas, decay_factor(),
                         "decay of the gradient average and of its square"),
                   field("eps", &O::eps, at_least_zero(), "added outside the square root"),
                   field("weight_decay", &O::weight_decay, at_least_zero(),
                         "decoupled: w shrinks by lr * weight_decay a step"),
                   field("amsgrad", &O::amsgrad, "divide by the largest second moment so far"),
                   field("maximize", &O::maximize, "climb instead of descend")},
        storage_fields<O>());
  }
  bool operator==(const AdamWOptions&) const = default;
};

}  // namespace steepest
