#pragma once

#include <cstdint>

#include "steepest/base/json_fields.h"
#include "steepest/precision/loss_scale_config.h"

namespace steepest {

/// The factor on the loss, and how it follows overflows:
///
///   overflow:   g = 0;  h = h - 1;  if h <= 0:  s = max(s backoff, min)
///   good step:  g = g + 1;  if g >= window:  g = 0;  h = H;  s = min(s growth, max)
class LossScaler {
 public:
  explicit LossScaler(const LossScaleConfig& config = {});

  const LossScaleConfig& config() const { return config_; }
  bool enabled() const { return config_.mode != LossScaling::kNone; }
  /// 1 without loss scaling.
  double scale() const { return scale_; }
  /// 1 / scale, rounded to fp32 once.
  double inverse() const { return static_cast<double>(static_cast<float>(1 / scale_)); }
  /// After every step that was decided on.
  void update(bool overflow);

  /// Of a dynamic scale: scale, growth_tracker, hysteresis_tracker; otherwise an empty object.
  Json save() const;
  /// ConfigError names `what` and the field; nothing is changed then. An empty object changes
  /// nothing.
  void load(const Json& saved, std::string_view what);

 private:
  LossScaleConfig config_;
  double scale_ = 1;
  std::int64_t growth_tracker_ = 0, hysteresis_tracker_ = 0;
};

}  // namespace steepest
