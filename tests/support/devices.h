#pragma once

#include <c10/core/Device.h>
#include <torch/cuda.h>

#include <vector>

namespace steepest::test {

/// Where tests of rules run: the CPU, and a CUDA device where there is one.
inline std::vector<c10::Device> devices() {
  std::vector<c10::Device> all{c10::Device(c10::kCPU)};
  if (torch::cuda::is_available()) all.emplace_back(c10::kCUDA, 0);
  return all;
}

}  // namespace steepest::test
