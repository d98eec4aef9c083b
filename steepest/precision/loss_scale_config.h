#pragma once

#include <cstdint>

#include "steepest/base/fields.h"

namespace steepest {

/// Whether the loss is multiplied before backward, so that fp16 gradients do not vanish.
enum class LossScaling { kNone, kConstant, kDynamic };
inline const auto& spellings(LossScaling) {
  static constexpr Spelling<LossScaling> kAll[] = {{LossScaling::kNone, "none"},
                                                   {LossScaling::kConstant, "constant"},
                                                   {LossScaling::kDynamic, "dynamic"}};
  return kAll;
}

/// Names and defaults are Megatron-Core's, but for max_loss_scale, which it does not have.
struct LossScaleConfig {
  LossScaling mode = LossScaling::kNone;
  double loss_scale = 1;                   ///< of the constant one
  double initial_loss_scale = 4294967296;  ///< 2^32
  double min_loss_scale = 1;
  double max_loss_scale = 4294967296;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  std::int64_t loss_scale_window = 1000;
  std::int64_t hysteresis = 2;

  static constexpr auto fields() {
    using O = LossScaleConfig;
    return std::tuple{
        field("mode", &O::mode, "none, constant or dynamic"),
        field("loss_scale", &O::loss_scale, above_zero(), "of a constant loss scale"),
        field("initial_loss_scale", &O::initial_loss_scale, above_zero(),
              "a dynamic loss scale starts with it"),
        field("min_loss_scale", &O::min_loss_scale, above_zero(),
              "a dynamic loss scale never falls below it"),
        field("max_loss_scale", &O::max_loss_scale, above_zero(),
              "a dynamic loss scale never grows above it"),
        field("growth_factor", &O::growth_factor,
              Range{.low = 1, .low_open = true, .text = "finite and above 1"},
              "on the scale after loss_scale_window good steps"),
        field("backoff_factor", &O::backoff_factor,
              Range{.low = 0,
                    .high = 1,
                    .low_open = true,
                    .high_open = true,
                    .text = "above 0 and below 1"},
              "on the scale after an overflow, once hysteresis is used up"),
        field("loss_scale_window", &O::loss_scale_window, count_from(1, "1 or more"),
              "good steps in a row before the scale grows"),
        field("hysteresis", &O::hysteresis, count_from(1, "1 or more"),
              "overflows before the scale falls; restored by a whole window of good steps")};
  }
  static void check(const LossScaleConfig& o, Rules& rules) {
    rules.require(!(o.min_loss_scale > o.initial_loss_scale), "min_loss_scale", o.min_loss_scale,
                  "at most initial_loss_scale");
    rules.require(!(o.max_loss_scale < o.initial_loss_scale), "max_loss_scale", o.max_loss_scale,
                  "at least initial_loss_scale");
  }
  bool operator==(const LossScaleConfig&) const = default;
};

}  // namespace steepest
