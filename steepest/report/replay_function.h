#pragma once

#include <ATen/core/Tensor.h>

#include "steepest/linalg/newton_schulz.h"
#include "steepest/report/replay_case.h"

namespace steepest {

/// The orthogonalization that a file of a single function names: the library before the first dash,
/// then the function; all else stands in its options, and what is absent there has the library's
/// own value. ConfigError: a function or an option that we do not have.
NewtonSchulzOptions replay_function_options(const ReplayCase& file);

/// Our result for the file's `input`. ConfigError if it has none.
at::Tensor replay_function(const ReplayCase& file);

}  // namespace steepest
