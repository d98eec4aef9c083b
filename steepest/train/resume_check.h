#pragma once

#include <vector>

#include "steepest/base/error.h"
#include "steepest/base/json_fields.h"
#include "steepest/recipe/recipe.h"

namespace steepest::train {

/// A recipe with all defaults as neutral values: what a checkpoint keeps of it.
Json recipe_json(const Recipe& recipe);

/// What differs between the recipe a run was saved with and the one it is to go on with, and would
/// change its result: one problem a key. Free to change: intervals of evaluations, checkpoints and
/// lines, how many checkpoints are kept, where the text lies (its content is compared instead), and
/// max_steps where the schedule up to here does not depend on it.
std::vector<Problem> resume_differences(const Json& saved, const Recipe& now);

}  // namespace steepest::train
