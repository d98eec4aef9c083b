#include "steepest/linalg/coefficient_sets.h"

#include <fmt/format.h>

#include "steepest/base/error.h"

namespace steepest {
namespace {

/// K. Jordan et al., "Muon", 2024; also torch.optim.Muon.
constexpr NsCoefficients kSimple[] = {{3.4445, -4.7750, 2.0315}};

/// Tuned per iteration; microsoft/dion, also Emerging-Optimizers' "quintic".
constexpr NsCoefficients kQuintic[] = {{4.0848, -6.8946, 2.9270},
                                       {3.9505, -6.3029, 2.6377},
                                       {3.7418, -5.5913, 2.3037},
                                       {2.8769, -3.1427, 1.2046},
                                       {2.8366, -3.0525, 1.2012}};

/// N. Amsel et al., "The Polar Express", 2025, as microsoft/dion has it: safety 2e-2, cushion 2,
/// the safety folded into all tuples but the last. To be used with the norm times 1.02.
constexpr NsCoefficients kPolarExpress[] = {
    {8.156554524902461, -22.48329292557795, 15.878769915207462},
    {4.042929935166739, -2.808917465908714, 0.5000178451051316},
    {3.8916678022926607, -2.772484153217685, 0.5060648178503393},
    {3.285753657755655, -2.3681294933425376, 0.46449024233003106},
    {2.3465413258596377, -1.7097828382687081, 0.42323551169305323}};

}  // namespace

std::span<const NsCoefficients> coefficients(CoefficientSet set) {
  switch (set) {
    case CoefficientSet::kSimple:
      return kSimple;
    case CoefficientSet::kQuintic:
      return kQuintic;
    case CoefficientSet::kPolarExpress:
      return kPolarExpress;
  }
  return {};
}

std::vector<NsCoefficients> coefficient_schedule(std::span<const NsCoefficients> list, int steps,
                                                 bool allow_partial_cycle) {
  if (list.empty()) throw ConfigError({.what = "the list of Newton-Schulz coefficients is empty"});
  if (steps < 1)
    throw ConfigError(
        {.what = fmt::format("Newton-Schulz takes {} steps", steps), .why = "it needs at least 1"});
  const auto length = static_cast<int>(list.size());
  if (length > 1 && steps % length != 0 && !allow_partial_cycle)
    throw ConfigError(
        {.what = fmt::format(
             "{} Newton-Schulz steps do not go through a list of {} coefficients a whole number of "
             "times",
             steps, length),
         .why = "a restarted list maps values near 1 close to 0 or below, which can turn the "
                "update around",
         .remedy = fmt::format("take a multiple of {}, or set allow_partial_cycle", length)});
  std::vector<NsCoefficients> all;
  for (int i = 0; i < steps; ++i) all.push_back(list[static_cast<std::size_t>(i % length)]);
  return all;
}

}  // namespace steepest
