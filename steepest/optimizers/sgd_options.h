#pragma once

#include "steepest/base/fields.h"
#include "steepest/precision/storage.h"

namespace steepest {

/// SGD of torch.optim. Weight decay is L2.
struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;
  StateFormat states = StateFormat::kParam;
  MasterFormat masters = MasterFormat::kNone;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;

  static constexpr auto fields() {
    using O = SGDOptions;
    return std::tuple_cat(
        std::tuple{
            field("lr", &O::lr, rate(), "step size; a schedule sets it every step"),
            field("momentum", &O::momentum, at_least_zero(),
                  "factor of the velocity; 0 keeps no velocity"),
            field("dampening", &O::dampening, any_number(),
                  "the gradient enters the velocity times 1 - dampening"),
            field("weight_decay", &O::weight_decay, at_least_zero(),
                  "L2: wd * w is added to the gradient"),
            field("nesterov", &O::nesterov, "look ahead: needs momentum > 0 and dampening 0"),
            field("maximize", &O::maximize, "climb instead of descend")},
        storage_fields<O>());
  }
  static void check(const SGDOptions& o, Rules& rules);
  bool operator==(const SGDOptions&) const = default;
};

}  // namespace steepest
