#include "steepest/report/replay.h"

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "steepest/base/error.h"
#include "steepest/report/replay_codec.h"
#include "steepest/report/replay_function.h"
#include "steepest/report/replay_targets.h"
#include "steepest/step/member.h"

namespace steepest {
namespace {

/// Collects comparisons and keeps the worst.
class Comparisons {
 public:
  explicit Comparisons(ReplayOutcome& outcome) : outcome_(outcome) {}

  void add(ReplayDifference found) {
    if (outcome_.compared++ == 0 || found.ratio > outcome_.worst.ratio)
      outcome_.worst = std::move(found);
  }

 private:
  ReplayOutcome& outcome_;
};

/// One target of the file, alive.
struct Running {
  ReplayTarget target;
  std::unique_ptr<Member> member;
};

/// The whole recorded run with our rules.
class Run {
 public:
  Run(const ReplayCase& file, ReplayOutcome& outcome) : file_(file), comparisons_(outcome) {
    refuse_what_no_rule_uses();
    for (const ReplayParam& param : file.params) {
      // A copy: the case can be replayed again.
      params_[param.name] = file.tensor("init/" + param.name).clone();
    }
    for (ReplayTarget& target : replay_targets(file)) {
      std::vector<MemberGroup> groups(1);
      groups[0].name = target.name;
      groups[0].options = target.options;
      groups[0].reason = "replay";
      for (const std::string& name : target.params)
        groups[0].params.push_back({name, params_.at(name)});
      auto member = make_member(std::move(groups));
      running_.push_back({std::move(target), std::move(member)});
    }
    check_state_keys("state/");
    check_state_keys("init_state/");
    for (Running& each : running_) load_initial_state(each);
  }

  void all_steps() {
    for (int step = 1; step <= file_.steps; ++step) {
      for (Running& each : running_) {
        if (!file_.lr.empty())
          for (Group* group : each.member->groups())
            group->schedule_lr(file_.lr[static_cast<std::size_t>(step) - 1]);
        for (const std::string& name : each.target.params) feed(each.target, step, name);
        each.member->update(1.0, /*zero_gradients=*/false);
      }
      for (const auto& [name, value] : params_) {
        const std::string where = fmt::format("param/{}/{}", step, name);
        comparisons_.add(compare_tensors(where, value, file_.tensor(where), file_.tolerance));
      }
    }
    for (const Running& each : running_) compare_states(each);
  }

 private:
  void refuse_what_no_rule_uses() const {
    for (const std::string_view kind : {"noise/", "master/"}) {
      const auto found = file_.tensors.lower_bound(std::string(kind));
      if (found != file_.tensors.end() && found->first.starts_with(kind))
        throw ConfigError(
            {.what = fmt::format("tensor {} is of a kind that no rule of ours has", found->first)});
    }
  }

  void feed(const ReplayTarget& target, int step, const std::string& name) {
    at::Tensor& param = params_.at(name);
    at::Tensor grad = file_.tensor(fmt::format("grad/{}/{}", step, name));
    if (!grad.defined() && target.zero_for_missing) grad = at::zeros_like(param);
    param.mutable_grad() = std::move(grad);
  }

  const Running& running_of(std::string_view param) const {
    return *std::find_if(running_.begin(), running_.end(), [&](const Running& each) {
      return std::find(each.target.params.begin(), each.target.params.end(), param) !=
             each.target.params.end();
    });
  }

  /// Every state in the file must be one of ours: what is not compared is not proven.
  void check_state_keys(const std::string& kind) const {
    for (auto it = file_.tensors.lower_bound(kind);
         it != file_.tensors.end() && it->first.starts_with(kind); ++it) {
      const auto [key, param] = key_and_param(it->first, kind);
      const Running& owner = running_of(param);
      if (!owner.target.state_names.contains(key))
        throw ConfigError({.what = fmt::format("tensor {} is a state that our {} does not have",
                                               it->first, owner.member->rule())});
    }
  }

  static std::pair<std::string, std::string> key_and_param(std::string_view name,
                                                           std::string_view kind) {
    name.remove_prefix(kind.size());
    const auto slash = name.find('/');
    return {std::string(name.substr(0, slash)), std::string(name.substr(slash + 1))};
  }

  /// States that the run starts from; the others start as constructed.
  void load_initial_state(Running& each) {
    each.member->allocate_state();
    const auto fresh = each.member->state();
    bool any = false;
    const StateSource source = [&](std::string_view param, std::string_view key) -> at::Tensor {
      for (const auto& [theirs, ours] : each.target.state_names) {
        if (ours != key) continue;
        const at::Tensor given = file_.tensor(fmt::format("init_state/{}/{}", theirs, param));
        if (given.defined()) {
          any = true;
          return given;
        }
      }
      for (const NamedState& state : fresh) {
        if (state.param != param || state.key != key) continue;
        return state.tensor.defined() ? state.tensor : at::scalar_tensor(state.step, at::kLong);
      }
      return {};
    };
    each.member->check_state(source);
    if (any) each.member->load_state(source);
  }

  void compare_states(const Running& each) {
    const std::string kind = "state/";
    const auto states = each.member->state();
    for (auto it = file_.tensors.lower_bound(kind);
         it != file_.tensors.end() && it->first.starts_with(kind); ++it) {
      const auto [key, param] = key_and_param(it->first, kind);
      if (&running_of(param) != &each) continue;
      const std::string& ours = each.target.state_names.find(key)->second;
      const auto found =
          std::find_if(states.begin(), states.end(), [&, p = &param](const NamedState& state) {
            return state.param == *p && state.key == ours;
          });
      if (found == states.end()) {
        comparisons_.add({.where = it->first,
                          .error = std::numeric_limits<double>::infinity(),
                          .ratio = std::numeric_limits<double>::infinity()});
        continue;
      }
      const auto limits = file_.state_tolerance.find(key);
      const auto how = file_.state_compare.find(key);
      if (!found->tensor.defined())
        comparisons_.add(compare_counter(it->first, static_cast<double>(found->step), it->second));
      else
        comparisons_.add(compare_tensors(
            it->first, found->tensor, it->second,
            limits == file_.state_tolerance.end() ? file_.tolerance : limits->second,
            how == file_.state_compare.end() ? StateComparison{} : how->second));
    }
  }

  const ReplayCase& file_;
  Comparisons comparisons_;
  std::map<std::string, at::Tensor> params_;
  std::vector<Running> running_;
};

void run_function(const ReplayCase& file, ReplayOutcome& outcome) {
  Comparisons comparisons(outcome);
  if (is_codec(file)) {
    for (ReplayDifference& found : replay_codec(file)) comparisons.add(std::move(found));
    return;
  }
  const at::Tensor output = file.tensor("output");
  if (!output.defined()) throw ConfigError({.what = "tensor output is missing"});
  for (const auto& [name, tensor] : file.tensors)
    if (name != "input" && name != "output")
      throw ConfigError(
          {.what = fmt::format("tensor {} is of a kind that no function of ours has", name)});
  comparisons.add(compare_tensors("output", replay_function(file), output, file.tolerance));
}

/// The first line: libtorch's errors carry a backtrace after it.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

/// Several problems in one line.
std::string one_line(std::string text) {
  for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n'))
    text.replace(at, 1, "; ");
  return text;
}

std::string number(double value) { return fmt::format("{:.2e}", value); }

}  // namespace

ReplayOutcome replay_case(const ReplayCase& file) {
  ReplayOutcome outcome;
  outcome.path = file.path;
  outcome.expect_mismatch = file.expect_mismatch;
  try {
    if (file.function.empty())
      Run(file, outcome).all_steps();
    else
      run_function(file, outcome);
  } catch (const Error& error) {
    outcome.why = error.what();
    return outcome;
  } catch (const std::exception& error) {
    outcome.why = first_line(error.what());
    return outcome;
  }
  outcome.ran = true;
  const bool matched = outcome.worst.passed();
  outcome.passed = matched != file.expect_mismatch;
  if (!outcome.passed)
    outcome.why = matched ? "matches a run that shows a defect of the reference"
                          : "the error is above the tolerance";
  return outcome;
}

ReplayOutcome replay_file(const std::filesystem::path& path) {
  try {
    return replay_case(read_replay_case(path));
  } catch (const std::exception& error) {
    ReplayOutcome outcome;
    outcome.path = path;
    outcome.why = error.what();
    return outcome;
  }
}

ReplayReport replay(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::filesystem::path> files;
  for (const auto& path : paths) {
    if (!std::filesystem::exists(path))
      throw IoError({.what = fmt::format("{} does not exist", path.string())});
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    const auto first = static_cast<std::ptrdiff_t>(files.size());
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file() && entry.path().extension() == ".safetensors")
        files.push_back(entry.path());
    std::sort(files.begin() + first, files.end());
  }
  if (files.empty())
    throw ConfigError({.what = "there is nothing to replay",
                       .why = "no file was given and no folder holds a .safetensors file"});
  ReplayReport report;
  for (const auto& file : files) report.outcomes.push_back(replay_file(file));
  return report;
}

int ReplayReport::run_count() const {
  return static_cast<int>(
      std::count_if(outcomes.begin(), outcomes.end(), [](const auto& each) { return each.ran; }));
}

int ReplayReport::failed_count() const {
  return static_cast<int>(std::count_if(outcomes.begin(), outcomes.end(),
                                        [](const auto& each) { return !each.passed; }));
}

std::string ReplayReport::text() const {
  std::size_t width = 4;
  for (const ReplayOutcome& each : outcomes) width = std::max(width, each.path.string().size());
  std::string out = fmt::format("{:<{}}  {:<7}  {:>9}  {:>9}  {:<9}  {}\n", "file", width, "result",
                                "error", "tolerance", "measure", "where");
  for (const ReplayOutcome& each : outcomes) {
    if (!each.ran) {
      out += fmt::format("{:<{}}  {:<7}  {}\n", each.path.string(), width, "NOT RUN",
                         one_line(each.why));
      continue;
    }
    std::string note;
    if (each.expect_mismatch)
      note = each.passed ? "  (must not match)" : "  (must not match, but does)";
    out +=
        fmt::format("{:<{}}  {:<7}  {:>9}  {:>9}  {:<9}  {}{}\n", each.path.string(), width,
                    each.passed ? "ok" : "FAILED", number(each.worst.error),
                    number(each.worst.tolerance), name(each.worst.measure), each.worst.where, note);
  }
  out += fmt::format("{} files: {} run, {} failed\n", outcomes.size(), run_count(), failed_count());
  return out;
}

Json ReplayReport::json() const {
  Json files = Json::array();
  for (const ReplayOutcome& each : outcomes) {
    Json file = {{"path", each.path.string()}, {"ran", each.ran}, {"passed", each.passed}};
    if (each.expect_mismatch) file["expect"] = "mismatch";
    if (each.ran) {
      file["error"] = each.worst.error;
      file["tolerance"] = each.worst.tolerance;
      file["measure"] = std::string(name(each.worst.measure));
      file["where"] = each.worst.where;
      file["compared"] = each.compared;
    }
    if (!each.why.empty()) file["why"] = each.why;
    files.push_back(std::move(file));
  }
  return {{"files", std::move(files)},
          {"count", outcomes.size()},
          {"run", run_count()},
          {"failed", failed_count()}};
}

}  // namespace steepest
