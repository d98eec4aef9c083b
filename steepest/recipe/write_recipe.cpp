// A recipe as YAML text, all defaults filled in.
#include <yaml-cpp/yaml.h>

#include "steepest/recipe/recipe.h"

namespace steepest {
namespace {

void emit(YAML::Emitter& out, const Json& value) {
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, inner] : value.items()) {
      out << YAML::Key << key << YAML::Value;
      emit(out, inner);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    out << YAML::Flow << YAML::BeginSeq;
    for (const Json& each : value) emit(out, each);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    out << YAML::DoubleQuoted << value.get<std::string>();
  } else if (value.is_number_float()) {
    // The shortest text that reads back to the same bits, with the dot that YAML 1.1 wants.
    std::string text = value.dump();
    if (text.find_first_of(".n") == std::string::npos) {
      const auto exponent = text.find('e');
      text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
    }
    out << text;
  } else if (value.is_null()) {
    out << YAML::Null;
  } else {
    out << value.dump();
  }
}

Json groups_of(const Recipe& recipe) {
  Json all = Json::array();
  for (const GroupRule& each : recipe.groups) {
    Json match = Json::object();
    if (each.role) match["role"] = std::string(spelling(*each.role));
    if (each.name_pattern) match["name"] = *each.name_pattern;
    Json group{{"match", match}};
    if (each.optional) group["optional"] = true;
    if (!each.optimizer.is_null()) group["optimizer"] = each.optimizer;
    if (each.norm_use != NormUse{}) {
      const Json use = write_fields(each.norm_use);
      for (const auto& [key, value] : use.items()) group[key] = value;
    }
    for (const auto& [key, value] : each.options.items()) group[key] = value;
    all.push_back(group);
  }
  return all;
}

}  // namespace

std::string write_recipe(const Recipe& recipe) {
  Json root{{"seed", recipe.seed},
            {"model", write_fields(recipe.model)},
            {"dataset", write_fields(recipe.dataset)},
            {"optimizer", write_optimizer_config(recipe.optimizer)}};
  if (!recipe.groups.empty()) root["groups"] = groups_of(recipe);
  if (recipe.lr_scheduler) root["lr_scheduler"] = write_fields(*recipe.lr_scheduler);
  root["step_scheduler"] = write_fields(recipe.step_scheduler);
  root["clip_grad_norm"] = write_fields(recipe.clip_grad_norm);
  root["checkpoint"] = write_fields(recipe.checkpoint);
  if (recipe.precision) root["precision"] = write_precision(*recipe.precision);
  YAML::Emitter out;
  emit(out, root);
  return std::string(out.c_str()) + "\n";
}

}  // namespace steepest
