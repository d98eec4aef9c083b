#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "steepest/base/dtype.h"
#include "steepest/base/json_fields.h"
#include "steepest/optimizers/rule_options.h"
#include "steepest/precision/loss_scale_config.h"
#include "steepest/precision/storage.h"

namespace steepest {

/// The `precision` section: what weights, gradients, masters and states are kept as, and the loss
/// scale. Arithmetic of an update is fp32 whatever stands here.
struct PrecisionConfig {
  Dtype weights = Dtype::kFloat32;
  std::optional<Dtype> gradients;
  std::optional<MasterFormat> masters;
  std::optional<StateFormat> states;
  bool stochastic_rounding = false;
  LossScaleConfig loss_scale;  ///< `loss_scale: dynamic`, `none` or a number, and its fields

  static constexpr auto fields() {
    using O = PrecisionConfig;
    return std::tuple{
        field("weights", &O::weights, "float32, bfloat16 or float16"),
        field("gradients", &O::gradients, "float32 or the weights' own; unset: the weights' own"),
        field(
            "masters", &O::masters,
            "what is kept beside 16-bit weights: none, float32, remainder, 24bit or 32bit; unset: "
            "float32"),
        field("states", &O::states,
              "how element-wise rules keep their states: param, float32, bfloat16, float16, "
              "float16_scaled, float8, int8, int8_linear or int8_published; unset: as each rule's "
              "own option says"),
        field("stochastic_rounding", &O::stochastic_rounding,
              "round 16-bit weights without masters by chance, right on average")};
  }
  static void check(const PrecisionConfig& o, Rules& rules);
  bool operator==(const PrecisionConfig&) const = default;

  bool narrow_weights() const { return weights != Dtype::kFloat32; }
  Dtype gradient_dtype() const { return gradients.value_or(weights); }
  MasterFormat master_format() const;
  /// Sets a rule's storage; `seed` is of stochastic rounding.
  void apply(RuleOptions& options, std::int64_t seed) const;
};

/// Reads the section. `loss_scale` is a number (constant), "dynamic" or "none"; unset: dynamic for
/// float16 weights, none for others. The fields of a dynamic one stand beside it under
/// Megatron-Core's names.
PrecisionConfig read_precision(const Json& section, Rules& rules);
/// All defaults filled in; reading it back gives the same.
Json write_precision(const PrecisionConfig& config);

}  // namespace steepest
