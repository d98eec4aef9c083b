#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "steepest/base/json_fields.h"

namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace steepest {

/// The state of one parameter as torch::save keeps it.
struct ArchivedState {
  bool present = false;
  std::int64_t step = 0;
  std::vector<std::pair<std::string, at::Tensor>> tensors;
};

/// A group: its options as JSON text, its parameters' states in order.
struct ArchivedGroup {
  std::string options;
  std::vector<ArchivedState> states;
};

/// What torch::save and torch::load of a rule's optimizer write and read: groups by position,
/// states by position inside them, as torch does. For state by parameter name use
/// steepest::Optimizer.
void write_archive(torch::serialize::OutputArchive& archive, const std::string& rule,
                   const std::vector<ArchivedGroup>& groups);
/// StateError: another rule, another number of groups or of parameters in one.
std::vector<ArchivedGroup> read_archive(torch::serialize::InputArchive& archive,
                                        const std::string& rule,
                                        const std::vector<std::size_t>& sizes);

/// One set of options as JSON text: what OptimizerOptions::serialize writes and reads.
void write_options(torch::serialize::OutputArchive& archive, const std::string& options);
std::string read_options(torch::serialize::InputArchive& archive);

}  // namespace steepest
