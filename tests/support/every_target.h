#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <functional>
#include <string>

namespace steepest::test {

/// Runs `body` once on every instruction set that this processor has, then the usual one again.
inline void on_every_target(const std::function<void(const std::string&)>& body) {
  for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    const std::int64_t one = left & -left;
    hwy::SetSupportedTargetsForTest(one);
    body(hwy::TargetName(one));
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace steepest::test
