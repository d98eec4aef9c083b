#include "steepest/report/replay_function.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "steepest/base/error.h"
#include "steepest/base/json_fields.h"

namespace steepest {
namespace {

enum class InputCast { kBFloat16First };
const auto& spellings(InputCast) {
  static constexpr Spelling<InputCast> kAll[] = {{InputCast::kBFloat16First, "bf16 first"}};
  return kAll;
}

/// Options of a function file, in its own names.
struct FunctionConfig {
  CoefficientSet set = CoefficientSet::kSimple;
  int steps = 5;
  NormGuard guard = NormGuard::kAdd;
  double eps = 1e-7;
  double safety = 1;
  InputCast input_cast = InputCast::kBFloat16First;
  Dtype iteration_dtype = Dtype::kBFloat16;

  static constexpr auto fields() {
    using O = FunctionConfig;
    return std::tuple{field("set", &O::set, ""),
                      field("steps", &O::steps, ""),
                      field("guard", &O::guard, ""),
                      field("eps", &O::eps, ""),
                      field("safety", &O::safety, ""),
                      field("input_cast", &O::input_cast, ""),
                      field("iteration_dtype", &O::iteration_dtype, "")};
  }
};

struct Function {
  std::string_view library;
  std::string_view name;  ///< what follows the library's name; a file's own words may come after it
  FunctionConfig defaults;
};

const std::vector<Function>& functions() {
  static const std::vector<Function> kAll = {
      {"torch", "", {.guard = NormGuard::kClamp}},
      {"kj", "", {}},
      {"dion", "newton-schulz", {.set = CoefficientSet::kQuintic, .eps = 1e-8}},
      {"dion",
       "polar-express",
       {.set = CoefficientSet::kPolarExpress, .eps = 1e-8, .safety = 1.02}},
      {"dion", "reference", {.eps = 1e-8}},
  };
  return kAll;
}

bool names(const Function& function, std::string_view text) {
  const auto words = [&text](std::string_view start) {
    if (!text.starts_with(start)) return false;
    text.remove_prefix(start.size());
    if (!text.empty() && text.front() != '-') return false;
    if (!text.empty()) text.remove_prefix(1);
    return true;
  };
  return words(function.library) && (function.name.empty() || words(function.name));
}

/// "coefficients": a list of [a, b, c].
std::vector<NsCoefficients> read_coefficients(const Json& value, Rules& rules) {
  std::vector<NsCoefficients> list;
  if (!value.is_array()) {
    internal::wrong_type(value, "a list of [a, b, c]", "coefficients", rules);
    return list;
  }
  for (const Json& each : value) {
    std::vector<double> tuple;
    if (!internal::read_value(each, tuple, "coefficients", rules)) continue;
    rules.require(tuple.size() == 3, "coefficients", tuple, "three numbers an iteration");
    if (tuple.size() == 3) list.push_back({tuple[0], tuple[1], tuple[2]});
  }
  return list;
}

}  // namespace

NewtonSchulzOptions replay_function_options(const ReplayCase& file) {
  const Function* found = nullptr;
  for (const Function& function : functions())
    if (names(function, file.function)) found = &function;
  if (found == nullptr)
    throw ConfigError({.what = fmt::format("{} is no function that replay has", file.function)});

  Rules rules(file.function);
  FunctionConfig config = found->defaults;
  Json options = file.function_options;
  std::optional<std::vector<NsCoefficients>> given;
  if (options.is_object() && options.contains("coefficients")) {
    given = read_coefficients(options["coefficients"], rules);
    options.erase("coefficients");
  }
  read_fields(options, config, rules);
  rules.require(config.steps >= 1 && config.steps <= 99, "steps", config.steps, "in 1 .. 99");
  rules.require(is_floating_point(config.iteration_dtype), "iteration_dtype",
                config.iteration_dtype, "a floating-point type");
  rules.enforce();

  const auto published = coefficients(config.set);
  const std::vector<NsCoefficients> list =
      given.value_or(std::vector(published.begin(), published.end()));
  Rounding rounding = file.rounding.value_or(Rounding::kR2);
  if (rounding == Rounding::kR0 && found->library == "kj") rounding = Rounding::kR0Kj;
  return {.coefficients = coefficient_schedule(list, config.steps, /*allow_partial_cycle=*/true),
          .guard = config.guard,
          .eps = config.eps,
          .safety = config.safety,
          .input_dtype = config.iteration_dtype,
          .compute_dtype = config.iteration_dtype,
          .rounding = rounding};
}

at::Tensor replay_function(const ReplayCase& file) {
  const at::Tensor input = file.tensor("input");
  if (!input.defined()) throw ConfigError({.what = "tensor input is missing"});
  return newton_schulz(input, replay_function_options(file));
}

}  // namespace steepest
