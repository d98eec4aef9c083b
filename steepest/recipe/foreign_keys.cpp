#include "steepest/recipe/foreign_keys.h"

#include <fmt/format.h>

namespace steepest {
namespace {

enum class Effect {
  kNone,         ///< of any value; a warning says so
  kSupportedAs,  ///< none for the one value that is what happens here anyway; else refused
  kMissing       ///< of any value; refused
};

struct ForeignKey {
  std::string_view section, key;
  Effect effect;
  std::string_view same;  ///< kSupportedAs: that value, as JSON
  std::string_view note;  ///< after a warning's colon, or what to do instead
};

constexpr ForeignKey kForeign[] = {
    // The recipe itself.
    {"", "peft", Effect::kMissing, "", "all parameters are trained"},
    {"", "quantization", Effect::kMissing, "", "weights are float32"},
    {"", "fp8", Effect::kMissing, "", "weights are float32"},
    {"", "packed_sequence", Effect::kMissing, "", "the built-in text fills every window"},
    {"", "loss_fn", Effect::kMissing, "", "the built-in model has cross-entropy"},
    {"", "tokenizer", Effect::kMissing, "", "the built-in model reads bytes"},
    {"", "validation_dataset", Effect::kMissing, "", "dataset.validation_fraction holds text out"},
    {"", "dataloader", Effect::kMissing, "", "dataset and step_scheduler say what is read"},
    {"", "validation_dataloader", Effect::kMissing, "",
     "dataset.validation_windows says what is read"},
    {"", "rng", Effect::kMissing, "", "seed is a key of its own"},
    {"", "recipe", Effect::kNone, "", "there is one trainer"},
    {"", "dist_env", Effect::kNone, "", "this version trains in one process"},
    {"", "wandb", Effect::kNone, "", "metrics go to the run folder"},
    {"", "mlflow", Effect::kNone, "", "metrics go to the run folder"},
    {"", "comet", Effect::kNone, "", "metrics go to the run folder"},
    {"", "logger", Effect::kNone, "", "metrics go to the run folder"},
    {"", "compile", Effect::kNone, "", "nothing is compiled at run time"},
    // Sections.
    {"lr_scheduler", "use_checkpoint_opt_param_scheduler", Effect::kNone, "",
     "a run resumes with the schedule it was started with"},
    {"lr_scheduler", "override_opt_param_scheduler", Effect::kSupportedAs, "false",
     "a run resumes with the schedule it was started with"},
    {"step_scheduler", "dp_size", Effect::kSupportedAs, "1", "this version trains in one process"},
    {"step_scheduler", "start_step", Effect::kSupportedAs, "0",
     "--resume finds the step by itself"},
    {"step_scheduler", "start_epoch", Effect::kSupportedAs, "0",
     "--resume finds its place by itself"},
    {"step_scheduler", "save_checkpoint_every_epoch", Effect::kSupportedAs, "false",
     "the text has no epochs: say ckpt_every_steps"},
    {"step_scheduler", "gc_every_steps", Effect::kNone, "", "there is no garbage to collect"},
    {"step_scheduler", "log_remote_every_steps", Effect::kNone, "", "log_every_steps decides"},
    {"clip_grad_norm", "norm_type", Effect::kSupportedAs, "2", "the norm is the L2 norm"},
    {"clip_grad_norm", "foreach", Effect::kNone, "", "it steers the reference's execution only"},
    {"clip_grad_norm", "error_if_nonfinite", Effect::kSupportedAs, "true",
     "a gradient that is not finite stops the run"},
    {"checkpoint", "enabled", Effect::kSupportedAs, "true", "the last step is always saved"},
    {"checkpoint", "checkpoint_dir", Effect::kMissing, "", "--out DIR says where a run is kept"},
    {"checkpoint", "restore_from", Effect::kMissing, "", "--resume goes on from the newest one"},
    {"checkpoint", "model_save_format", Effect::kSupportedAs, "\"safetensors\"",
     "weights are saved as safetensors"},
    {"checkpoint", "save_consolidated", Effect::kNone, "", "one process saves whole tensors"},
    {"checkpoint", "is_async", Effect::kNone, "", "a checkpoint is whole before the next step"},
};

const ForeignKey* find(std::string_view section, std::string_view key) {
  for (const ForeignKey& each : kForeign)
    if (each.section == section && each.key == key) return &each;
  return nullptr;
}

}  // namespace

Json without_foreign_keys(std::string_view section, const Json& value, Rules& rules,
                          std::vector<std::string>& warnings) {
  if (!value.is_object()) return value;
  const auto refuse = [&](std::string_view key, std::string_view instead) {
    rules.fail({.what = fmt::format("{} is known in AutoModel and not supported here yet",
                                    rules.path(key)),
                .why = std::string(instead),
                .remedy = "leave it out"});
  };
  const auto warn = [&](std::string_view key, std::string_view note) {
    warnings.push_back(fmt::format("{} has no effect: {}", rules.path(key), note));
  };
  Json kept = Json::object();
  for (const auto& [key, inner] : value.items()) {
    if (section == "step_scheduler" && key == "num_epochs") {
      // AutoModel's stream of text: the number of steps decides, and must be given.
      const auto steps = value.find("max_steps");
      if (inner.is_null() || (steps != value.end() && !steps->is_null()))
        warn(key, "the text is a stream without epochs, and max_steps decides");
      else
        refuse(key, "the text is a stream without epochs: say max_steps");
      continue;
    }
    const ForeignKey* const known = find(section, key);
    if (!known) {
      kept[key] = inner;
      continue;
    }
    switch (known->effect) {
      case Effect::kNone:
        warn(key, known->note);
        break;
      case Effect::kSupportedAs:
        if (!inner.is_null() && inner != Json::parse(known->same))
          rules.fail({.what = fmt::format("{} other than {} is known in AutoModel and not "
                                          "supported here yet",
                                          rules.path(key), known->same),
                      .why = std::string(known->note),
                      .remedy = "leave it out"});
        break;
      case Effect::kMissing:
        if (!inner.is_null()) refuse(key, known->note);
        break;
    }
  }
  return kept;
}

}  // namespace steepest
