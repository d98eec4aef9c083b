#include "steepest/precision/loss_scaler.h"

#include <algorithm>

namespace steepest {
namespace {

/// What a dynamic scale has come to.
struct SavedScale {
  double scale = 1;
  std::int64_t growth_tracker = 0, hysteresis_tracker = 0;

  static constexpr auto fields() {
    using O = SavedScale;
    return std::tuple{
        field("scale", &O::scale, above_zero(), "the factor on the loss"),
        field("growth_tracker", &O::growth_tracker, count_from(0, "0 or more"),
              "good steps since it changed"),
        field("hysteresis_tracker", &O::hysteresis_tracker, "overflows left before it falls")};
  }
};

}  // namespace

LossScaler::LossScaler(const LossScaleConfig& config)
    : config_(config), hysteresis_tracker_(config.hysteresis) {
  validate(config, "loss_scale");
  if (config.mode == LossScaling::kConstant) scale_ = config.loss_scale;
  if (config.mode == LossScaling::kDynamic) scale_ = config.initial_loss_scale;
}

void LossScaler::update(bool overflow) {
  if (config_.mode != LossScaling::kDynamic) return;
  if (overflow) {
    growth_tracker_ = 0;
    --hysteresis_tracker_;
    if (hysteresis_tracker_ <= 0)
      scale_ = std::max(scale_ * config_.backoff_factor, config_.min_loss_scale);
  } else if (++growth_tracker_ >= config_.loss_scale_window) {
    growth_tracker_ = 0;
    hysteresis_tracker_ = config_.hysteresis;
    scale_ = std::min(scale_ * config_.growth_factor, config_.max_loss_scale);
  }
}

Json LossScaler::save() const {
  if (config_.mode != LossScaling::kDynamic) return Json::object();
  return write_fields(SavedScale{scale_, growth_tracker_, hysteresis_tracker_});
}

void LossScaler::load(const Json& saved, std::string_view what) {
  if (config_.mode != LossScaling::kDynamic || saved.empty()) return;
  SavedScale values;
  Rules rules(what);
  read_fields(saved, values, rules);
  check_fields(values, rules);
  rules.enforce();
  scale_ = values.scale;
  growth_tracker_ = values.growth_tracker;
  hysteresis_tracker_ = values.hysteresis_tracker;
}

}  // namespace steepest
