#pragma once

#include "steepest/base/fields.h"
#include "steepest/precision/storage.h"

namespace steepest {

/// Lion: the sign of an average of gradients. Weight decay is decoupled.
/// Source: X. Chen et al., "Symbolic discovery of optimization algorithms", 2023.
struct LionOptions {
  double lr = 1e-4;
  Betas betas = {0.9, 0.99};
  double weight_decay = 0.01;
  StateFormat states = StateFormat::kParam;
  MasterFormat masters = MasterFormat::kNone;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;

  static constexpr auto fields() {
    using O = LionOptions;
    return std::tuple_cat(
        std::tuple{field("lr", &O::lr, rate(),
                         "size of every weight's step; a schedule sets it every step"),
                   field("betas", &O::betas, decay_factor(),
                         "share of the average in the update, and decay of the average itself"),
                   field("weight_decay", &O::weight_decay, at_least_zero(),
                         "decoupled: w shrinks by lr * weight_decay a step")},
        storage_fields<O>());
  }
  bool operator==(const LionOptions&) const = default;
};

}  // namespace steepest
