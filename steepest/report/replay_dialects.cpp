#include "steepest/report/replay_dialects.h"

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "steepest/optimizers/torch_muon_options.h"

namespace steepest::internal {
namespace {

/// Options that change how a library computes and not what.
Json without(Json options, std::initializer_list<std::string_view> execution_only) {
  for (const std::string_view key : execution_only) options.erase(std::string(key));
  return options;
}

Json torch_options(const Json& options) {
  return without(options, {"foreach", "fused", "capturable", "differentiable"});
}

void refuse(Rules& rules, std::string_view key, std::string_view why) {
  rules.fail({.what = fmt::format("{} is set, which no rule of ours has", rules.path(key)),
              .why = std::string(why)});
}

const std::map<std::string, std::string, std::less<>> kAdamStates = {
    {"step", "step"},
    {"exp_avg", "exp_avg"},
    {"exp_avg_sq", "exp_avg_sq"},
    {"max_exp_avg_sq", "max_exp_avg_sq"}};

/// What the file says about the reference's arithmetic, which is no option of the library.
void take_arithmetic(const ReplayCase& file, MuonOptions& o) {
  o.momentum_dtype = std::nullopt;
  o.allow_partial_cycle = true;
  if (file.rounding) o.rounding = *file.rounding;
  if (!file.float64_input) return;
  o.compute_dtype = Dtype::kFloat64;
  o.input_dtype = *file.float64_input == Dtype::kFloat32 ? std::nullopt : file.float64_input;
}

// --- dion.Muon ---

enum class DionAdjust { kSpectralNorm, kRmsNorm };
const auto& spellings(DionAdjust) {
  static constexpr Spelling<DionAdjust> kAll[] = {{DionAdjust::kSpectralNorm, "spectral_norm"},
                                                  {DionAdjust::kRmsNorm, "rms_norm"}};
  return kAll;
}
enum class DionAlgorithm { kMuon, kAdamW, kLion };
const auto& spellings(DionAlgorithm) {
  static constexpr Spelling<DionAlgorithm> kAll[] = {{DionAlgorithm::kMuon, "muon"},
                                                     {DionAlgorithm::kAdamW, "adamw"},
                                                     {DionAlgorithm::kLion, "lion"}};
  return kAll;
}

struct DionMuonConfig {
  DionAlgorithm algorithm = DionAlgorithm::kMuon;
  double lr = 0.01;
  double mu = 0.95;
  Betas betas = {0.9, 0.95};
  std::optional<double> beta1 = {}, beta2 = {};  // a group's names for betas
  double weight_decay = 0.01;
  bool cautious_wd = false;
  double epsilon = 1e-8;
  bool nesterov = false;
  std::optional<DionAdjust> adjust_lr = DionAdjust::kSpectralNorm;
  bool flatten = false;
  bool use_gram_newton_schulz = false;
  bool use_polar_express = true;
  std::optional<int> num_heads = {};
  std::optional<std::vector<double>> split_sizes = {};
  std::optional<std::string> newton_schulz_func = {};

  static constexpr auto fields() {
    using O = DionMuonConfig;
    return std::tuple{field("algorithm", &O::algorithm, ""),
                      field("lr", &O::lr, ""),
                      field("mu", &O::mu, ""),
                      field("betas", &O::betas, ""),
                      field("beta1", &O::beta1, ""),
                      field("beta2", &O::beta2, ""),
                      field("weight_decay", &O::weight_decay, ""),
                      field("cautious_wd", &O::cautious_wd, ""),
                      field("epsilon", &O::epsilon, ""),
                      field("nesterov", &O::nesterov, ""),
                      field("adjust_lr", &O::adjust_lr, ""),
                      field("flatten", &O::flatten, ""),
                      field("use_gram_newton_schulz", &O::use_gram_newton_schulz, ""),
                      field("use_polar_express", &O::use_polar_express, ""),
                      field("num_heads", &O::num_heads, ""),
                      field("split_sizes", &O::split_sizes, ""),
                      field("newton_schulz_func", &O::newton_schulz_func, "")};
  }
};

ScaleMode scale_of(const std::optional<DionAdjust>& adjust) {
  if (!adjust) return ScaleMode::kNone;
  return *adjust == DionAdjust::kRmsNorm ? ScaleMode::kMatchRmsAdamW : ScaleMode::kUnitRmsNorm;
}

MuonOptions dion_matrices(const DionMuonConfig& c, const ReplayCase& file) {
  MuonOptions o = MuonOptions::dion();
  o.lr = c.lr;
  o.momentum = c.mu;
  o.nesterov = c.nesterov;
  o.weight_decay = c.weight_decay;
  o.eps = c.epsilon;
  o.scale = scale_of(c.adjust_lr);
  o.higher_dims = c.flatten ? HigherDims::kFlatten : HigherDims::kBatch;
  if (!c.use_polar_express) {
    o.coefficients = CoefficientSet::kQuintic;
    o.safety = 1;
  }
  take_arithmetic(file, o);
  return o;
}

// --- KellerJordan/Muon ---

struct KjMuonConfig {
  double lr = 0.02;
  double momentum = 0.95;
  double weight_decay = 0;

  static constexpr auto fields() {
    using O = KjMuonConfig;
    return std::tuple{field("lr", &O::lr, ""), field("momentum", &O::momentum, ""),
                      field("weight_decay", &O::weight_decay, "")};
  }
};

struct KjAdamConfig {
  double lr = 3e-4;
  Betas betas = {0.9, 0.95};
  double eps = 1e-10;
  double weight_decay = 0;

  static constexpr auto fields() {
    using O = KjAdamConfig;
    return std::tuple{field("lr", &O::lr, ""), field("betas", &O::betas, ""),
                      field("eps", &O::eps, ""), field("weight_decay", &O::weight_decay, "")};
  }
};

// --- Emerging-Optimizers ---

enum class EoDecay { kDecoupled, kIndependent, kL2, kPalm };
const auto& spellings(EoDecay) {
  static constexpr Spelling<EoDecay> kAll[] = {{EoDecay::kDecoupled, "decoupled"},
                                               {EoDecay::kIndependent, "independent"},
                                               {EoDecay::kL2, "l2"},
                                               {EoDecay::kPalm, "palm"}};
  return kAll;
}

struct EoLionConfig {
  double lr = 1e-4;
  Betas betas = {0.9, 0.99};
  double weight_decay = 0.01;
  EoDecay weight_decay_method = EoDecay::kDecoupled;
  std::optional<std::string> weight_update_hook = {};

  static constexpr auto fields() {
    using O = EoLionConfig;
    return std::tuple{field("lr", &O::lr, ""), field("betas", &O::betas, ""),
                      field("weight_decay", &O::weight_decay, ""),
                      field("weight_decay_method", &O::weight_decay_method, ""),
                      field("weight_update_hook", &O::weight_update_hook, "")};
  }
};

}  // namespace

// Our element-wise rules follow torch.optim: the same names, the same defaults.
Translated torch_adam(const DialectInput& input, Rules& rules) {
  AdamOptions o;
  read_fields(torch_options(input.options), o, rules);
  return {.options = o, .state_names = kAdamStates};
}

Translated torch_adamw(const DialectInput& input, Rules& rules) {
  AdamWOptions o;
  read_fields(torch_options(input.options), o, rules);
  return {.options = o, .state_names = kAdamStates};
}

Translated torch_sgd(const DialectInput& input, Rules& rules) {
  SGDOptions o;
  read_fields(torch_options(input.options), o, rules);
  return {.options = o, .state_names = {{"momentum_buffer", "momentum_buffer"}}};
}

Translated torch_muon(const DialectInput& input, Rules& rules) {
  TorchMuonOptions c;
  read_fields(torch_options(input.options), c, rules);
  check_fields(c, rules);
  MuonOptions o = muon_options(c);
  take_arithmetic(input.file, o);
  return {.options = std::move(o), .state_names = {{"momentum_buffer", "momentum_buffer"}}};
}

Translated dion_muon(const DialectInput& input, Rules& rules) {
  DionMuonConfig c;
  read_fields(without(input.options, {"use_triton", "distributed_mesh"}), c, rules);
  const Betas betas = {c.beta1.value_or(c.betas.first), c.beta2.value_or(c.betas.second)};
  if (c.cautious_wd)
    refuse(rules, "cautious_wd",
           "weights decay there only where the update agrees with their sign");
  if (c.algorithm == DionAlgorithm::kMuon) {
    if (c.use_gram_newton_schulz)
      refuse(rules, "use_gram_newton_schulz", "the Gram form rounds otherwise");
    if (c.num_heads) refuse(rules, "num_heads", "each head is orthogonalized by itself there");
    if (c.split_sizes) refuse(rules, "split_sizes", "each part is orthogonalized by itself there");
    if (c.newton_schulz_func) refuse(rules, "newton_schulz_func", "a function of the user's own");
  }
  switch (c.algorithm) {
    case DionAlgorithm::kMuon:
      return {.options = dion_matrices(c, input.file),
              .state_names = {{"momentum", "momentum_buffer"}}};
    case DionAlgorithm::kAdamW:
      return {.options =
                  AdamWOptions{
                      .lr = c.lr, .betas = betas, .eps = c.epsilon, .weight_decay = c.weight_decay},
              .state_names = {
                  {"momentum", "exp_avg"}, {"variance", "exp_avg_sq"}, {"step_dev", "step"}}};
    case DionAlgorithm::kLion:
      return {.options = LionOptions{.lr = c.lr, .betas = betas, .weight_decay = c.weight_decay},
              .state_names = {{"momentum", "exp_avg"}}};
  }
  return {};
}

Translated kj_muon(const DialectInput& input, Rules& rules) {
  KjMuonConfig c;
  read_fields(input.options, c, rules);
  MuonOptions o = MuonOptions::kj();
  o.lr = c.lr;
  o.momentum = c.momentum;
  o.weight_decay = c.weight_decay;
  take_arithmetic(input.file, o);
  if (o.rounding == Rounding::kR0) o.rounding = Rounding::kR0Kj;
  return {.options = std::move(o),
          .zero_for_missing = true,
          .state_names = {{"momentum_buffer", "momentum_buffer"}}};
}

Translated kj_with_aux_adam(const DialectInput& input, Rules& rules) {
  const Json rest = without(input.options, {"use_muon"});
  bool use_muon = false;
  if (const auto found = input.options.find("use_muon"); found != input.options.end())
    read_value(*found, use_muon, "use_muon", rules);
  else
    rules.fail({.what = rules.path("use_muon") + " is missing",
                .why = "it says which rule the group has"});
  if (use_muon) return kj_muon({.options = rest, .file = input.file}, rules);
  KjAdamConfig c;
  read_fields(rest, c, rules);
  return {
      .options =
          AdamWOptions{.lr = c.lr, .betas = c.betas, .eps = c.eps, .weight_decay = c.weight_decay},
      .zero_for_missing = true,
      .state_names = kAdamStates};
}

Translated eo_lion(const DialectInput& input, Rules& rules) {
  EoLionConfig c;
  read_fields(input.options, c, rules);
  if (c.weight_decay_method != EoDecay::kDecoupled)
    refuse(rules, "weight_decay_method", "our Lion decays decoupled alone");
  if (c.weight_update_hook) refuse(rules, "weight_update_hook", "our Lion has no hooks");
  return {.options = LionOptions{.lr = c.lr, .betas = c.betas, .weight_decay = c.weight_decay},
          .state_names = {{"exp_avg", "exp_avg"}, {"step", "step"}}};
}

}  // namespace steepest::internal
