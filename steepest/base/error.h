#pragma once

#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace steepest {

/// One thing that is wrong: what it is, why it matters, and what the user can do about it.
/// `why` and `remedy` may be empty where `what` says it all.
struct Problem {
  std::string what = {}, why = {}, remedy = {};

  /// "what; why; remedy", without empty parts.
  std::string text() const;
  bool operator==(const Problem&) const = default;
};

/// Root of everything that a caller can react to. A broken invariant of ours is an assertion
/// instead. `what()` joins the problems, one a line.
class Error : public std::runtime_error {
 public:
  explicit Error(Problem problem);
  /// A template, so that `Error({.what = ...})` is always the constructor above.
  template <std::same_as<std::vector<Problem>> Problems>
  explicit Error(Problems problems) : Error(std::move(problems), Many{}) {}

  const std::vector<Problem>& problems() const { return problems_; }
  /// The name of the kind, for instance "ConfigError".
  virtual std::string_view kind() const { return "Error"; }
  /// The program's exit status for this kind; the one place that maps kinds to statuses:
  /// 1 a check or a run failed, 2 a recipe, an argument or an input file is wrong, 3 a peer or a
  /// link failed.
  virtual int exit_status() const { return 1; }

 private:
  struct Many {};
  Error(std::vector<Problem> problems, Many);

  std::vector<Problem> problems_;
};

/// A recipe, an option or an argument is wrong.
struct ConfigError : Error {
  using Error::Error;
  std::string_view kind() const override { return "ConfigError"; }
  int exit_status() const override { return 2; }
};

/// A tensor has the wrong number of dimensions or sizes.
struct ShapeError : Error {
  using Error::Error;
  std::string_view kind() const override { return "ShapeError"; }
};

/// A tensor has an element type, or a value a type, that does not fit (a TypeError in Python).
struct DtypeError : Error {
  using Error::Error;
  std::string_view kind() const override { return "DtypeError"; }
};

/// A tensor lies in memory in a way that cannot be updated in place (sparse, overlapping).
struct LayoutError : Error {
  using Error::Error;
  std::string_view kind() const override { return "LayoutError"; }
};

/// Optimizer state does not fit the parameters, or a call does not fit the state.
struct StateError : Error {
  using Error::Error;
  std::string_view kind() const override { return "StateError"; }
};

/// A loss or a gradient is NaN or infinite.
struct NonFiniteError : Error {
  using Error::Error;
  std::string_view kind() const override { return "NonFiniteError"; }
};

/// A peer or a link failed.
struct CommError : Error {
  using Error::Error;
  std::string_view kind() const override { return "CommError"; }
  int exit_status() const override { return 3; }
};

/// Ranks disagree about what they are doing.
struct RankMismatchError : Error {
  using Error::Error;
  std::string_view kind() const override { return "RankMismatchError"; }
  int exit_status() const override { return 3; }
};

/// A checkpoint is missing, truncated, altered or of another model.
struct CheckpointError : Error {
  using Error::Error;
  std::string_view kind() const override { return "CheckpointError"; }
  int exit_status() const override { return 2; }
};

/// A file cannot be read or written.
struct IoError : Error {
  using Error::Error;
  std::string_view kind() const override { return "IoError"; }
  int exit_status() const override { return 2; }
};

}  // namespace steepest
