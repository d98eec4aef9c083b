#include "steepest/train/summary.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <utility>
#include <vector>

#include "steepest/train/signals.h"

namespace steepest::train {
namespace {

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFinished:
      return "finished";
    case Outcome::kAlreadyFinished:
      return "already finished";
    case Outcome::kStopped:
      return "stopped";
  }
  return "?";
}

std::vector<std::pair<const char*, double>> rows(const PartTimes& times) {
  return {{"data", times.data},
          {"forward", times.forward},
          {"backward", times.backward},
          {"optimizer", times.optimizer},
          {"evaluation", times.evaluation},
          {"checkpoint", times.checkpoint}};
}

std::string loss_text(const std::optional<double>& loss) {
  return loss ? fmt::format("{:.4f}", *loss) : "-";
}

}  // namespace

double TrainSummary::tokens_per_second() const {
  return times.training() > 0 ? static_cast<double>(tokens_here) / times.training() : 0;
}

int TrainSummary::exit_status() const { return outcome == Outcome::kStopped ? 128 + signal : 0; }

Json TrainSummary::to_json() const {
  Json json = {{"outcome", outcome_name(outcome)}, {"folder", folder.string()},
               {"parameters", parameters},         {"step", step},
               {"max_steps", max_steps},           {"tokens", tokens}};
  if (best_val_loss) json["best_val_loss"] = *best_val_loss;
  if (best_val_loss) json["best_val_step"] = best_val_step;
  if (last_val_loss) json["last_val_loss"] = *last_val_loss;
  json["tokens_per_second"] = tokens_per_second();
  json["seconds"] = seconds;
  json["peak_memory_bytes"] = peak_memory_bytes;
  for (const auto& [name, part] : rows(times)) json["times"][name] = part;
  if (signal != 0) json["signal"] = signal_name(signal);
  if (!sample.empty()) json["sample"] = sample;
  return json;
}

std::string TrainSummary::text() const {
  std::string text;
  const auto row = [&](std::string_view label, std::string_view value) {
    text += fmt::format("{:<24}{}\n", label, value);
  };
  row("run", folder.string());
  if (outcome == Outcome::kAlreadyFinished) {
    row("steps",
        step <= max_steps
            ? fmt::format("{} of {}: finished before, nothing to do", step, max_steps)
            : fmt::format("{}, more than the {} asked for: nothing to do", step, max_steps));
    return text;
  }
  row("steps",
      fmt::format(
          "{} of {}{}", step, max_steps,
          outcome == Outcome::kStopped ? fmt::format(", stopped by {}", signal_name(signal)) : ""));
  row("parameters", fmt::format("{}", parameters));
  row("best validation loss",
      loss_text(best_val_loss) +
          (best_val_loss ? fmt::format(" nats a byte, at step {}", best_val_step) : ""));
  row("last validation loss", loss_text(last_val_loss) + (last_val_loss ? " nats a byte" : ""));
  row("tokens", fmt::format("{} ({:.0f} a second while training)", tokens, tokens_per_second()));
  const auto steps_here = times.training() > 0 ? times.training() : 1;
  for (const auto& [name, part] : rows(times)) {
    const bool in_step =
        std::string_view(name) != "evaluation" && std::string_view(name) != "checkpoint";
    row(std::string("time, ") + name,
        fmt::format("{:8.2f} s", part) +
            (in_step ? fmt::format("  {:5.1f} % of training", 100 * part / steps_here) : ""));
  }
  row("time, all", fmt::format("{:8.2f} s", seconds));
  row("peak memory",
      fmt::format("{:.0f} MiB", static_cast<double>(peak_memory_bytes) / (1024.0 * 1024.0)));
  if (!sample.empty())
    text += "\nA sample of the model:\n" + sample + (sample.ends_with('\n') ? "" : "\n");
  return text;
}

std::int64_t peak_memory_bytes() {
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace steepest::train
