#include "steepest/step/member.h"

#include <fmt/format.h>

#include "steepest/optimizers/rules.h"
#include "steepest/step/rule_member.h"

namespace steepest {
namespace {

// A new rule adds one line here.
std::unique_ptr<Member> make(const AdamWOptions&, std::vector<MemberGroup> groups) {
  return std::make_unique<RuleMember<AdamWRule>>(std::move(groups));
}
std::unique_ptr<Member> make(const AdamOptions&, std::vector<MemberGroup> groups) {
  return std::make_unique<RuleMember<AdamRule>>(std::move(groups));
}
std::unique_ptr<Member> make(const SGDOptions&, std::vector<MemberGroup> groups) {
  return std::make_unique<RuleMember<SGDRule>>(std::move(groups));
}
std::unique_ptr<Member> make(const LionOptions&, std::vector<MemberGroup> groups) {
  return std::make_unique<RuleMember<LionRule>>(std::move(groups));
}
std::unique_ptr<Member> make(const MuonOptions&, std::vector<MemberGroup> groups) {
  return std::make_unique<RuleMember<MuonRule>>(std::move(groups));
}

}  // namespace

std::unique_ptr<Member> make_member(std::vector<MemberGroup> groups) {
  if (groups.empty()) throw ConfigError({.what = "an optimizer member needs at least one group"});
  const RuleOptions options = groups.front().options;
  for (const MemberGroup& group : groups)
    if (group.options.index() != options.index())
      throw ConfigError(
          {.what = fmt::format("group {} has the rule '{}' in a member of rule '{}'", group.name,
                               rule_name(group.options), rule_name(options))});
  return std::visit([&](const auto& each) { return make(each, std::move(groups)); }, options);
}

}  // namespace steepest
