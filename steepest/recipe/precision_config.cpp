#include "steepest/recipe/precision_config.h"

#include <fmt/format.h>

#include <algorithm>

namespace steepest {
namespace {

/// Fields of a loss scale that a recipe gives under their own names.
bool is_scale_field(std::string_view name) {
  const auto names = field_names<LossScaleConfig>();
  return name != "mode" && name != "loss_scale" && std::ranges::find(names, name) != names.end();
}

void read_loss_scale(const Json& value, LossScaleConfig& config, Rules& rules) {
  if (value.is_string()) {
    const auto mode = parse_spelling<LossScaling>(value.get<std::string>());
    if (mode && *mode != LossScaling::kConstant) {
      config.mode = *mode;
      return;
    }
  }
  if (!internal::read_value(value, config.loss_scale, "loss_scale", rules)) return;
  config.mode = LossScaling::kConstant;
}

}  // namespace

MasterFormat PrecisionConfig::master_format() const {
  if (!narrow_weights()) return MasterFormat::kNone;
  return masters.value_or(stochastic_rounding ? MasterFormat::kNone : MasterFormat::kFloat32);
}

void PrecisionConfig::check(const PrecisionConfig& o, Rules& rules) {
  const auto narrow = [](Dtype dtype) {
    return dtype == Dtype::kBFloat16 || dtype == Dtype::kFloat16;
  };
  rules.require(o.weights == Dtype::kFloat32 || narrow(o.weights), "weights", o.weights,
                "float32, bfloat16 or float16");
  rules.require(!o.gradients || *o.gradients == o.weights || *o.gradients == Dtype::kFloat32,
                "gradients", o.gradients, "float32 or what the weights are");
  const MasterFormat masters = o.masters.value_or(MasterFormat::kNone);
  rules.require(masters == MasterFormat::kNone || o.narrow_weights(), "masters", o.masters,
                "none for float32 weights, which are their own masters");
  rules.require(masters != MasterFormat::kRemainder || o.weights != Dtype::kFloat16, "masters",
                o.masters, "float32, 24bit or 32bit for float16 weights",
                "a remainder is the low half of an fp32 number whose high half is bfloat16");
  rules.require(!o.stochastic_rounding || (o.narrow_weights() && masters == MasterFormat::kNone),
                "stochastic_rounding", o.stochastic_rounding,
                "false unless weights are 16 bits wide and have no masters");
  check_fields(o.loss_scale, rules);
}

void PrecisionConfig::apply(RuleOptions& options, std::int64_t seed) const {
  std::visit(
      [&](auto& o) {
        if (narrow_weights()) {
          o.masters = master_format();
          o.stochastic_rounding = stochastic_rounding;
          o.seed = seed;
        }
        if constexpr (requires { o.states; })
          if (states) o.states = *states;
      },
      options);
}

PrecisionConfig read_precision(const Json& section, Rules& rules) {
  PrecisionConfig config;
  if (section.is_null()) return config;
  if (!section.is_object()) {
    internal::wrong_type(section, "a map of options", "", rules);
    return config;
  }
  Json own = Json::object(), scale = Json::object();
  std::vector<std::string_view> known = field_names<PrecisionConfig>();
  known.push_back("loss_scale");
  for (const std::string_view name : field_names<LossScaleConfig>())
    if (is_scale_field(name)) known.push_back(name);
  for (const auto& [key, value] : section.items()) {
    if (is_scale_field(key))
      scale[key] = value;
    else if (std::ranges::find(known, key) == known.end())
      internal::unknown_key(key, known, rules);
    else if (key != "loss_scale")
      own[key] = value;
  }
  read_fields(own, config, rules);
  // "none" is a format here, and not the absence of one.
  if (own.contains("masters") && own["masters"] == "none") config.masters = MasterFormat::kNone;
  if (config.weights == Dtype::kFloat16) config.loss_scale.mode = LossScaling::kDynamic;
  if (section.contains("loss_scale") && !section["loss_scale"].is_null())
    read_loss_scale(section["loss_scale"], config.loss_scale, rules);
  read_fields(scale, config.loss_scale, rules);
  check_fields(config, rules);
  return config;
}

Json write_precision(const PrecisionConfig& config) {
  Json section = write_fields(config);
  section["masters"] = internal::to_json_value(config.master_format());
  const LossScaleConfig& scale = config.loss_scale;
  section["loss_scale"] = scale.mode == LossScaling::kConstant
                              ? Json(scale.loss_scale)
                              : Json(std::string(spelling(scale.mode)));
  if (scale.mode == LossScaling::kDynamic) {
    const Json fields = write_fields(scale);
    for (const auto& [key, value] : fields.items())
      if (is_scale_field(key)) section[key] = value;
  }
  return section;
}

}  // namespace steepest
