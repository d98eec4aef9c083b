#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "steepest/report/replay_targets.h"

namespace steepest::testing_replay {

/// A file with a matrix w, a bias b and a four-dimensional c.
inline ReplayCase file_of(const std::string& optimizer, const std::string& groups = "") {
  ReplayCase file;
  file.optimizer = Json::parse(optimizer);
  file.params = {{"w", {4, 6}}, {"b", {6}}, {"c", {4, 3, 2, 2}}};
  if (groups.empty()) return file;
  for (const Json& each : Json::parse(groups)) {
    ReplayGroup group{.params = each.at("params").get<std::vector<std::string>>(), .options = each};
    group.options.erase("params");
    file.groups.push_back(std::move(group));
  }
  return file;
}

template <class Options>
Options only(const std::vector<ReplayTarget>& targets) {
  EXPECT_EQ(targets.size(), 1U);
  return std::get<Options>(targets.front().options);
}

inline ReplayCase matrix_only(const std::string& optimizer) {
  ReplayCase file = file_of(optimizer);
  file.params.resize(1);
  return file;
}

}  // namespace steepest::testing_replay
