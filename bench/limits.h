#pragma once

#include <vector>

#include "bench/harness.h"
#include "steepest/base/json_fields.h"

namespace steepest::bench {

/// What the machine gives, by number of threads ("1T"): memory in GB/s (reads and writes counted)
/// to a read-only pass and to in-place passes of 3 arrays read, 2 written, and 4 read, 3 written,
/// of 256 MB each; at::mm in GFLOP/s, fp32 and bf16, of 2048 x 2048. `quick`: small sizes.
Json machine_limits(const std::vector<int>& threads, bool quick);

/// One at::mm of the size above, and its operations: what rows of matrix products compare with.
Contender product_limit(bool bf16, bool quick);
double product_limit_flops(bool quick);

}  // namespace steepest::bench
