// --set key.path=value.
#include <fmt/format.h>

#include "steepest/base/error.h"
#include "steepest/recipe/recipe.h"

namespace steepest {

void apply_setting(YamlDocument& document, std::string_view setting) {
  const auto refuse = [&](std::string why) {
    throw ConfigError({.what = fmt::format("--set {} cannot be applied", setting),
                       .why = std::move(why),
                       .remedy = "write key.path=value, for instance optimizer.lr=0.01"});
  };
  const auto equals = setting.find('=');
  if (equals == std::string_view::npos) refuse("there is no '='");
  const std::string path(setting.substr(0, equals));
  if (path.empty()) refuse("there is no key before '='");
  // In a map of its own: a document of nothing but null counts as an empty map.
  std::string text = "value: ";
  text += setting.substr(equals + 1);
  const Json value = parse_yaml(text, "--set " + path).root["value"];

  Json* at = &document.root;
  std::string place;  // the path as the table of lines writes it
  std::size_t start = 0;
  for (;;) {
    const auto dot = path.find('.', start);
    const std::string key = path.substr(start, dot - start);
    if (key.empty()) refuse("a part of the path is empty");
    if (at->is_array()) {
      if (key.find_first_not_of("0123456789") != std::string::npos || key.size() > 6)
        refuse(fmt::format("'{}' is no index of a list", key));
      const auto index = static_cast<std::size_t>(std::stoul(key));
      if (index >= at->size()) refuse(fmt::format("the list has {} items", at->size()));
      at = &(*at)[index];
      place += fmt::format("[{}]", index);
    } else {
      if (at->is_null()) *at = Json::object();
      if (!at->is_object())
        refuse(fmt::format("what stands before '{}' is neither a map nor a list", key));
      at = &(*at)[key];
      place += place.empty() ? key : "." + key;
    }
    if (dot == std::string::npos) break;
    start = dot + 1;
  }
  *at = value;
  // What stood there is gone, and so are its lines.
  std::erase_if(document.lines, [&](const auto& line) {
    return line.first.starts_with(place + ".") || line.first.starts_with(place + "[");
  });
  document.lines[place] = kFromSetting;
}

}  // namespace steepest
