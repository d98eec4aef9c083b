#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "steepest/base/json_fields.h"
#include "steepest/report/replay_case.h"
#include "steepest/report/replay_compare.h"

namespace steepest {

/// What came out of one file.
struct ReplayOutcome {
  std::filesystem::path path = {};
  bool ran = false;              ///< false: could not be run, `why` says why
  bool expect_mismatch = false;  ///< passes if ours does not match
  bool passed = false;           ///< never true if it did not run
  /// The comparison nearest to its limit or furthest beyond it.
  ReplayDifference worst = {};
  int compared = 0;      ///< tensors and counters
  std::string why = {};  ///< why it did not run or did not pass; empty otherwise
};

struct ReplayReport {
  std::vector<ReplayOutcome> outcomes;  ///< in the order of the paths, a folder's files sorted

  int run_count() const;
  /// Files that did not pass, those that could not be run among them.
  int failed_count() const;
  bool passed() const { return failed_count() == 0; }
  /// A line per file with the largest error beside its tolerance, then how many were run and how
  /// many failed.
  std::string text() const;
  Json json() const;
};

/// Feeds the recorded gradients to our rule and compares parameters after every step and states
/// after the last, or the output of a single function.
ReplayOutcome replay_case(const ReplayCase& file);
/// As replay_case; a file that cannot be read becomes an outcome too.
ReplayOutcome replay_file(const std::filesystem::path& path);
/// Files as they are given; folders are searched, with their subfolders, for *.safetensors.
/// IoError: a path that does not exist; ConfigError: nothing to replay.
ReplayReport replay(const std::vector<std::filesystem::path>& paths);

}  // namespace steepest
