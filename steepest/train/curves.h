#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "steepest/train/metrics.h"

namespace steepest::train {

/// The losses of one run, to be drawn.
struct Curve {
  std::string name;
  std::vector<StepMetrics> metrics;
};

/// The gnuplot program that draws training and validation losses over steps, every run in a colour
/// of its own: training thin and pale, validation strong with its last value in the legend.
/// `terminal` is "svg" or "png".
std::string curves_script(const std::vector<Curve>& curves, const std::string& terminal,
                          const std::filesystem::path& output);

/// The program of that name on PATH, if there is one.
std::optional<std::filesystem::path> find_program(const std::string& name);

/// Draws curves.svg and curves.png into `folder`. Returns what went wrong, for the log, or nothing.
std::optional<std::string> draw_curves(const std::filesystem::path& folder,
                                       const std::vector<Curve>& curves);

}  // namespace steepest::train
