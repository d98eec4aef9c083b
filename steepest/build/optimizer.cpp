#include "steepest/build/optimizer.h"

#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "steepest/base/nearest.h"
#include "steepest/tensor/bridge.h"

namespace steepest {
namespace {

/// Every parameter is in one group, once; all that are in more are told at once.
void require_each_once(const ParamSet& params, const std::vector<GroupPlan>& plans) {
  std::vector<const GroupPlan*> owner(params.size(), nullptr);
  std::vector<Problem> problems;
  for (const GroupPlan& plan : plans)
    for (const std::size_t index : plan.params) {
      const GroupPlan*& first = owner.at(index);
      if (first)
        problems.push_back({.what = fmt::format("parameter {} is in two groups, {} and {}",
                                                params[index].info.name, first->name, plan.name),
                            .why = "it would be updated twice a step",
                            .remedy = "let the groups' rules exclude each other"});
      first = &plan;
    }
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

std::vector<std::unique_ptr<Member>> make_members(const ParamSet& params,
                                                  std::vector<GroupPlan> plans) {
  require_each_once(params, plans);
  // Groups of one rule share a member, so that a matrix rule sees all its equal shapes at once.
  std::vector<std::vector<MemberGroup>> by_rule;
  for (GroupPlan& plan : plans) {
    MemberGroup group{plan.name, plan.options, {}, plan.reason, plan.norm_use};
    for (const std::size_t index : plan.params)
      group.params.push_back({params[index].info.name, params[index].value});
    auto same = by_rule.begin();
    while (same != by_rule.end() && same->front().options.index() != group.options.index()) ++same;
    if (same == by_rule.end()) same = by_rule.insert(same, std::vector<MemberGroup>{});
    same->push_back(std::move(group));
  }
  std::vector<std::unique_ptr<Member>> members;
  for (auto& groups : by_rule) members.push_back(make_member(std::move(groups)));
  return members;
}

}  // namespace

Optimizer::Optimizer(ParamSet params, std::vector<GroupPlan> plans, StepPolicy policy)
    : params_(std::move(params)), driver_(make_members(params_, std::move(plans)), policy) {}

const StepResult& Optimizer::step() { return driver_.step(); }

bool Optimizer::prepare_grads() { return driver_.prepare_grads(); }
const StepResult& Optimizer::step_with_ready_grads() { return driver_.step_with_ready_grads(); }
double Optimizer::loss_scale() const { return driver_.scaler().scale(); }
at::Tensor Optimizer::scaled(const at::Tensor& loss) const {
  return loss_scale() == 1 ? loss : loss * loss_scale();
}
void Optimizer::reload_model_params() {
  for (const auto& member : driver_.members()) member->reload_masters();
}

void Optimizer::zero_grad(bool set_to_none) {
  for (const auto& member : driver_.members()) member->zero_grad(set_to_none);
}

std::vector<Group*> Optimizer::groups() {
  std::vector<Group*> all;
  for (const auto& member : driver_.members())
    for (Group* each : member->groups()) all.push_back(each);
  return all;
}

Group& Optimizer::group(std::string_view name) {
  const auto all = groups();
  std::vector<std::string_view> names;
  for (Group* each : all) {
    if (each->name() == name) return *each;
    names.push_back(each->name());
  }
  const auto near = nearest(name, names);
  throw ConfigError({.what = fmt::format("there is no group '{}'", name),
                     .remedy = near ? fmt::format("did you mean '{}'?", *near)
                                    : fmt::format("the groups are {}", fmt::join(names, ", "))});
}

void Optimizer::set(std::string_view field, const Json& value) {
  std::vector<Group*> with_field;
  std::set<std::string> rules;
  for (Group* each : groups()) {
    rules.insert(std::string(each->rule()));
    const bool has = std::visit(
        [&](const auto& options) {
          bool found = false;
          for_each_field<std::decay_t<decltype(options)>>(
              [&](const auto& known) { found |= known.name == field; });
          return found;
        },
        each->options());
    if (has) with_field.push_back(each);
  }
  if (with_field.empty())
    throw ConfigError({.what = fmt::format("no group has an option '{}'", field),
                       .remedy = fmt::format("the rules here are {}", fmt::join(rules, ", "))});
  // All are checked on copies first, so that a refused value changes none.
  for (Group* each : with_field) Group(*each).set(field, value);
  for (Group* each : with_field) {
    each->set(field, value);
    if (field == "lr") each->schedule_lr(each->base_lr() * lr_factor_);
  }
  if (field == "weight_decay" && weight_decay_) schedule_weight_decay(*weight_decay_);
}

Group& Optimizer::add_group(std::string name, RuleOptions options, const ParamSet& params,
                            NormUse norm_use) {
  for (Group* each : groups())
    if (each->name() == name)
      throw ConfigError({.what = fmt::format("there is a group '{}' already", name),
                         .remedy = "choose another name"});
  ParamSet all = params_;
  MemberGroup group{std::move(name), std::move(options), {}, "added later", std::move(norm_use)};
  std::set<std::string> grouped;
  std::set<const void*> tensors;
  for (Group* each : groups())
    for (const std::string& param : each->params()) {
      grouped.insert(param);
      tensors.insert(params_.find(param)->value.unsafeGetTensorImpl());
    }
  for (const Param& param : params) {
    if (grouped.contains(param.info.name) || tensors.contains(param.value.unsafeGetTensorImpl()))
      throw ConfigError(
          {.what = fmt::format("parameter {} is in the optimizer already", param.info.name),
           .why = "it would be updated twice a step"});
    if (!all.find(param.info.name)) all.add(param.info.name, param.value, param.info.module);
    group.params.push_back({param.info.name, param.value});
  }
  if (group.params.empty())
    throw ConfigError({.what = fmt::format("group {} holds no parameter", group.name)});
  driver_.add(make_member([&] {
    std::vector<MemberGroup> one;
    one.push_back(std::move(group));
    return one;
  }()));
  params_ = std::move(all);
  Group& added = *groups().back();
  added.schedule_lr(added.base_lr() * lr_factor_);
  if (weight_decay_) schedule_weight_decay(*weight_decay_);
  return added;
}

const StepPolicy& Optimizer::policy() const { return driver_.policy(); }
void Optimizer::set_policy(const StepPolicy& policy) { driver_.set_policy(policy); }
std::int64_t Optimizer::applied() const { return driver_.applied(); }
std::int64_t Optimizer::skipped() const { return driver_.skipped(); }

void Optimizer::allocate_state() {
  for (const auto& member : driver_.members()) member->allocate_state();
}

std::vector<NamedState> Optimizer::state() const {
  std::vector<NamedState> all;
  for (const auto& member : driver_.members())
    for (NamedState& each : member->state()) all.push_back(std::move(each));
  return all;
}

void Optimizer::schedule_lr_factor(double factor) {
  for (Group* each : groups()) each->schedule_lr(each->base_lr() * factor);
  lr_factor_ = factor;
}

void Optimizer::schedule_weight_decay(double value) {
  // As in AutoModel the first group's base is the unit, and where it is zero every group gets the
  // value itself.
  const double unit = groups().front()->base_weight_decay();
  for (Group* each : groups())
    each->schedule_weight_decay(unit > 0 ? value * (each->base_weight_decay() / unit) : value);
  weight_decay_ = value;
}

std::unique_ptr<Optimizer> build_optimizer(const OptimizerConfig& config, const ParamSet& params,
                                           const StepPolicy& policy,
                                           const std::vector<GroupRule>& groups) {
  validate(config, "optimizer");
  const auto infos = params.infos();
  return std::make_unique<Optimizer>(params, plan_groups(config, groups, infos), policy);
}

std::unique_ptr<Optimizer> build_optimizer(const OptimizerConfig& config, const ParamSet& params,
                                           StepPolicy policy, const std::vector<GroupRule>& groups,
                                           const PrecisionConfig& precision, std::int64_t seed) {
  validate(config, "optimizer");
  validate(precision, "precision");
  for (const Param& each : params)
    if (each.info.trainable && to_dtype(each.value.scalar_type()) != precision.weights)
      throw DtypeError(
          {.what = fmt::format("parameter {} is {}, and precision.weights is {}", each.info.name,
                               name(to_dtype(each.value.scalar_type())), name(precision.weights)),
           .why = "masters and rounding depend on it",
           .remedy = "convert the model, or say what it is"});
  const auto infos = params.infos();
  std::vector<GroupPlan> plans = plan_groups(config, groups, infos);
  for (GroupPlan& each : plans) precision.apply(each.options, seed);
  policy.loss_scale = precision.loss_scale;
  return std::make_unique<Optimizer>(params, std::move(plans), policy);
}

}  // namespace steepest
