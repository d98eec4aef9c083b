#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "steepest/base/json_fields.h"

namespace steepest {

/// A copy of a recipe's section without the keys that AutoModel's section of this name has and ours
/// does not. A key whose value asks for nothing else than what is done here is passed over; one
/// that has no effect here becomes a warning; any other is a problem in `rules` that calls it
/// known, so that nobody looks for a misspelling. `section` is "" for the recipe itself. What is
/// not a map comes back as it is.
Json without_foreign_keys(std::string_view section, const Json& value, Rules& rules,
                          std::vector<std::string>& warnings);

}  // namespace steepest
