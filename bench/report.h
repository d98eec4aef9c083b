#pragma once

#include <optional>
#include <string>
#include <vector>

#include "steepest/base/json_fields.h"

namespace steepest::bench {

/// A line of the table. Ratios are of the best repetitions; above 1, ours is faster.
struct BenchRow {
  std::string name;
  int threads = 1;
  double ms = 0;                      ///< ours, best repetition
  double median_ms = 0;               ///< ours
  int repetitions = 0;                ///< of each contender
  double bytes = 0;                   ///< that the update has to read and write; 0: not counted
  double flops = 0;                   ///< of the products in their standard form; 0: not counted
  std::optional<double> of_limit;     ///< over the machine's own for the same bytes or flops
  std::optional<double> vs_libtorch;  ///< over libtorch's classes
  std::optional<double> vs_aten;      ///< over the best of fused and foreach ATen operators
  std::optional<double> vs_plain;     ///< over our own plain version: separate ATen operators
  std::optional<double> vs_fp32;      ///< over our own update of fp32 weights and states
  double others = 0;                  ///< processors that other programs used meanwhile
  bool disturbed = false;             ///< times are not to be trusted: see Contest
  std::string note;
};

struct BenchReport {
  std::string cpu;               ///< the processor's name
  std::string isa;               ///< instruction sets of our kernels and of ATen's
  Json limits = Json::object();  ///< by number of threads ("1T"): GB/s and GFLOP/s by name
  std::vector<BenchRow> rows;
  bool quick = false;

  Json json() const;
  std::string text() const;
};

}  // namespace steepest::bench
