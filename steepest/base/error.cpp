#include "steepest/base/error.h"

#include <utility>

namespace steepest {
namespace {

std::string joined(const std::vector<Problem>& problems) {
  std::string all;
  for (const Problem& problem : problems) {
    if (!all.empty()) all += '\n';
    all += problem.text();
  }
  return all;
}

}  // namespace

std::string Problem::text() const {
  std::string all = what;
  for (const std::string* part : {&why, &remedy}) {
    if (part->empty()) continue;
    if (!all.empty()) all += "; ";
    all += *part;
  }
  return all;
}

Error::Error(Problem problem) : Error(std::vector<Problem>{std::move(problem)}, Many{}) {}

Error::Error(std::vector<Problem> problems, Many)
    : std::runtime_error(joined(problems)), problems_(std::move(problems)) {}

}  // namespace steepest
