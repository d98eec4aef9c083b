#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "steepest/kernels/element_run.h"

namespace steepest {

/// One parameter's update by the kernels.
struct ElementJob {
  kernels::TileRule rule;
  kernels::ElementRun run;  ///< the whole parameter
};

/// Elements a thread takes at a time: large enough that handing them out costs nothing, small
/// enough that a slowed thread takes fewer.
inline constexpr std::size_t kElementChunk = 1 << 16;

/// Runs all of them as one list of chunks over libtorch's threads. The bits do not depend on their
/// number. States under one scale a tensor are gone over twice: their largest magnitude first.
void run_jobs(std::span<ElementJob> jobs);

}  // namespace steepest
