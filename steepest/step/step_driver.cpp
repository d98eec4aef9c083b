#include "steepest/step/step_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "steepest/base/error.h"
#include "steepest/base/nearest.h"
#include "steepest/gradients/clip.h"

namespace steepest {
namespace {

/// Every group's norm must be one that the policy has.
void require_norms(const Member& member, const StepPolicy& policy) {
  std::vector<Problem> problems;
  for (const Group* each : member.groups()) {
    const std::string& wanted = each->norm_use().norm_group;
    if (wanted.empty() || std::ranges::find(policy.norm_groups, wanted) != policy.norm_groups.end())
      continue;
    const std::vector<std::string_view> known(policy.norm_groups.begin(), policy.norm_groups.end());
    const auto near = nearest(wanted, known);
    problems.push_back(
        {.what = fmt::format("group {} has the norm_group '{}', which is none of norm_groups",
                             each->name(), wanted),
         .why = "a misspelt name would silently clip these gradients by a norm of their own",
         .remedy = near ? fmt::format("did you mean '{}'?", *near)
                        : fmt::format("add '{}' to norm_groups", wanted)});
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

}  // namespace

void StepPolicy::check(const StepPolicy& o, Rules& rules) {
  check_fields(o.loss_scale, rules);
  check_norm_groups(o.norm_groups, rules);
}

StepDriver::StepDriver(std::vector<std::unique_ptr<Member>> members, StepPolicy policy)
    : members_(std::move(members)) {
  set_policy(policy);
}

void StepDriver::add(std::unique_ptr<Member> member) {
  require_norms(*member, policy_);
  ready_.reset();  // its gradients were not read
  members_.push_back(std::move(member));
}

void StepDriver::set_policy(const StepPolicy& policy) {
  validate(policy, "policy");
  for (const auto& member : members_) require_norms(*member, policy);
  if (!(policy.loss_scale == scaler_.config())) scaler_ = LossScaler(policy.loss_scale);
  if (policy.norm_groups != policy_.norm_groups) ready_.reset();  // other norms were read
  policy_ = policy;
}

void StepDriver::restore_counters(std::int64_t applied, std::int64_t skipped) {
  applied_ = applied;
  skipped_ = skipped;
}

const StepResult& StepDriver::step() {
  prepare_grads();
  return step_with_ready_grads();
}

void StepDriver::collect_gradients() {
  gradients_.clear();
  owners_.clear();
  for (const auto& member : members_) member->gradients(gradients_, owners_);
}

bool StepDriver::not_finite(const Ready& ready) const {
  return ready.non_finite > 0 ||
         std::ranges::any_of(squares_, [](double each) { return !std::isfinite(each); });
}

void StepDriver::add_squares() {
  const std::size_t norms = 1 + policy_.norm_groups.size();
  squares_.assign(norms, 0);
  const bool exactly = policy_.exact_norm;
  exact_.resize(exactly ? norms : 0);
  for (ExactSquares& each : exact_) each.clear();
  const Group* group = nullptr;
  std::optional<std::size_t> norm;  // of that group
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    if (owners_[i].group != group) {
      group = owners_[i].group;
      const NormUse& use = group->norm_use();
      const auto named = std::ranges::find(policy_.norm_groups, use.norm_group);
      norm = !use.in_norm ? std::nullopt
             : named == policy_.norm_groups.end()
                 ? std::optional<std::size_t>(0)
                 : std::optional(1 + static_cast<std::size_t>(named - policy_.norm_groups.begin()));
    }
    if (!norm) continue;
    squares_[*norm] += reader_.stats()[i].sum_of_squares;
    if (exactly) exact_[*norm].add(reader_.exact()[i]);
  }
  // What is not finite is in no exact sum: there the rounded one tells.
  for (std::size_t n = 0; n < exact_.size(); ++n)
    if (std::isfinite(squares_[n])) squares_[n] = exact_[n].value();
}

bool StepDriver::prepare_grads() {
  collect_gradients();
  reader_.read(gradients_, policy_.exact_norm ? SumForm::kExact : SumForm::kOrdered);
  gradients_.clear();
  add_squares();
  Ready ready{0, 0, squares_[0], {}, scaler_.scale(), scaler_.inverse()};
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    const GradientStats& stats = reader_.stats()[i];
    ready.non_finite += stats.non_finite;
    ready.zeros += stats.zeros;
    if (stats.non_finite > 0 && !ready.first_non_finite)
      ready.first_non_finite = std::string(owners_[i].param);
  }
  const bool found = not_finite(ready);
  if (scaler_.enabled()) scaler_.update(found);
  ready_ = std::move(ready);
  return found && (scaler_.enabled() || policy_.non_finite != NonFinitePolicy::kIgnore);
}

void StepDriver::take_rates() {
  std::size_t at = 0;
  for (const auto& member : members_)
    for (const Group* group : member->groups()) {
      if (at == result_.rates.size()) result_.rates.emplace_back();
      GroupRates& rates = result_.rates[at++];
      rates.group = group->name();
      rates.lr = group->lr();
      rates.weight_decay = group->weight_decay();
    }
  result_.rates.resize(at);
}

// norm = sqrt(sum g^2) / s;  factor = min(1, max_norm / (norm + 1e-6)) / s
const StepResult& StepDriver::step_with_ready_grads() {
  if (!ready_)
    throw StateError({.what = "step_with_ready_grads was called without prepare_grads before it",
                      .why = "nothing is known of the gradients",
                      .remedy = "call prepare_grads, or step, which does both"});
  const Ready ready = *std::exchange(ready_, std::nullopt);
  collect_gradients();  // what was put in their place since must fit as well
  gradients_.clear();

  StepResult& result = result_;
  result.applied = false;
  result.reason = SkipReason::kNone;
  result.grad_norm = std::sqrt(ready.main_squares) * ready.inverse;
  result.max_norm = policy_.max_norm;
  result.clip_factor = 1;
  result.loss_scale = ready.loss_scale;
  result.zeros = ready.zeros;
  result.step = applied_;
  result.skipped = skipped_;
  result.first_non_finite = ready.first_non_finite;
  result.group_norms.resize(policy_.norm_groups.size());
  for (std::size_t n = 0; n < result.group_norms.size(); ++n) {
    GroupNorm& each = result.group_norms[n];
    each.name = policy_.norm_groups[n];
    each.grad_norm = std::sqrt(squares_[n + 1]) * ready.inverse;
    each.clip_factor = 1;
  }
  take_rates();
  result.paths.clear();

  if (not_finite(ready)) {
    if (scaler_.enabled()) {
      result.reason = SkipReason::kOverflow;
    } else if (policy_.non_finite == NonFinitePolicy::kError) {
      throw NonFiniteError(
          {.what = fmt::format("the gradient of {} is not finite at step {} ({} NaN or Inf values "
                               "in all gradients)",
                               result.first_non_finite.value_or("every parameter, by its norm,"),
                               applied_ + 1, ready.non_finite),
           .why = "such a step would ruin the weights; none of them, and no optimizer state, was "
                  "changed",
           .remedy =
               "lower the learning rate, clip gradients, or set the policy to skip such steps"});
    } else if (policy_.non_finite == NonFinitePolicy::kSkip) {
      result.reason = SkipReason::kNonFinite;
    }
  } else if (policy_.grad_norm_skip_threshold &&
             result.grad_norm > *policy_.grad_norm_skip_threshold) {
    result.reason = SkipReason::kNormAboveThreshold;
  }
  if (result.reason != SkipReason::kNone) {
    result.skipped = ++skipped_;
    return result;
  }

  // A norm that is not finite clips nothing: policy ignore lets the values through as they are.
  const auto factor = [&](double norm) {
    return std::isfinite(norm) ? clip_factor(norm, policy_.max_norm) : 1;
  };
  result.clip_factor = factor(result.grad_norm);
  for (GroupNorm& each : result.group_norms) each.clip_factor = factor(each.grad_norm);
  const StepFactors factors{ready.inverse, result.clip_factor, result.group_norms};
  for (const auto& member : members_)
    result.paths.push_back(member->apply(factors, policy_.zero_gradients));
  result.applied = true;
  result.step = ++applied_;
  return result;
}

}  // namespace steepest
