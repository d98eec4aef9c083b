#pragma once

#include <string_view>

namespace steepest {

/// What can be said of a JSON text in one pass, without building its value.
struct JsonText {
  bool valid = false;  ///< JSON from its first to its last byte
  bool deep = false;   ///< maps or lists nested more than `deepest`; nothing behind was looked at
  bool repeated = false;  ///< a map has a key twice
};
JsonText look_at_json(std::string_view text, int deepest);

}  // namespace steepest
