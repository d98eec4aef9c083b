#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "steepest/base/fields.h"

namespace steepest {

/// What to do with a step whose gradients hold NaN or Inf. Under loss scaling such a step is an
/// overflow and skipped whatever the policy says.
enum class NonFinitePolicy { kError, kSkip, kIgnore };
inline const auto& spellings(NonFinitePolicy) {
  static constexpr Spelling<NonFinitePolicy> kAll[] = {{NonFinitePolicy::kError, "error"},
                                                       {NonFinitePolicy::kSkip, "skip"},
                                                       {NonFinitePolicy::kIgnore, "ignore"}};
  return kAll;
}

/// The fields by which a step is judged, for every struct `O` that has them: a recipe's
/// `clip_grad_norm` and the policy of a step driver.
template <class O>
constexpr auto norm_policy_fields() {
  return std::tuple{
      field("max_norm", &O::max_norm, at_least_zero(),
            "global L2 norm that gradients are clipped to; 0: no clipping"),
      field("norm_groups", &O::norm_groups,
            "names of norms beside the main one, each clipped to max_norm by itself; a group of "
            "parameters joins one by its norm_group"),
      field("exact_norm", &O::exact_norm,
            "add squares without rounding: the same norm however gradients are cut into parts"),
      field("non_finite", &O::non_finite, "what a NaN or Inf gradient does: error, skip or ignore"),
      field("grad_norm_skip_threshold", &O::grad_norm_skip_threshold, above_zero(),
            "a step whose main norm is larger is skipped; null: none is")};
}

/// Their names must differ and not be empty.
inline void check_norm_groups(const std::vector<std::string>& names, Rules& rules) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    bool again = false;
    for (std::size_t j = 0; j < i; ++j) again = again || names[j] == names[i];
    if (names[i].empty() || again)
      rules.require(false, "norm_groups", names, "names that differ and are not empty");
  }
}

/// How the gradients of a group of parameters take part in norms and clipping.
struct NormUse {
  std::string norm_group;  ///< the norm they count in and are clipped by; empty: the main one
  bool in_norm = true;     ///< false: they count in no norm, but are clipped by the main one
  bool clip = true;        ///< false: they are never clipped

  static constexpr auto fields() {
    using O = NormUse;
    return std::tuple{
        field(
            "norm_group", &O::norm_group,
            "one of clip_grad_norm.norm_groups: the norm these gradients count in and are clipped "
            "by; empty: the main one"),
        field("in_norm", &O::in_norm, "false: these gradients count in no norm"),
        field("clip", &O::clip, "false: these gradients are never clipped")};
  }
  static void check(const NormUse& o, Rules& rules) {
    rules.require(o.in_norm || o.norm_group.empty(), "in_norm", o.in_norm,
                  "true where norm_group is given", "leave out one of the two");
  }
  bool operator==(const NormUse&) const = default;
};

}  // namespace steepest
