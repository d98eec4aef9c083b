#pragma once

#include <vector>

#include "steepest/report/replay_case.h"
#include "steepest/report/replay_compare.h"

namespace steepest {

/// Whether the file is of a storage format: it holds `codes` or `decoded`.
bool is_codec(const ReplayCase& file);

/// Stores the file's `input` as a step would and compares codes, and scales or 16-bit weights, with
/// the file's; then reads the file's own ones back and compares with its `decoded`. Which format it
/// is, the tensors and the options say. ConfigError: a format or an option that we do not have, or
/// a tensor that is missing or too many.
std::vector<ReplayDifference> replay_codec(const ReplayCase& file);

}  // namespace steepest
