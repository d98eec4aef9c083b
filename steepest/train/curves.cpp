#include "steepest/train/curves.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <sstream>

namespace steepest::train {
namespace {

namespace fs = std::filesystem;

// Colours that stay apart for colour-blind readers (Okabe and Ito), strong and pale.
constexpr std::array<std::pair<const char*, const char*>, 4> kColours = {{{"#0072B2", "#99C7E0"},
                                                                          {"#D55E00", "#EEBF99"},
                                                                          {"#009E73", "#99D8C7"},
                                                                          {"#CC79A7", "#EBC9DC"}}};

/// Text in gnuplot's single quotes.
std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 2)
    text.insert(at, 1, '\'');
  return "'" + text + "'";
}

std::string data_block(const std::string& name, const std::vector<StepMetrics>& metrics,
                       std::optional<double> StepMetrics::*loss) {
  std::string block = fmt::format("${} << EOD\n", name);
  for (const auto& line : metrics)
    if (line.*loss) block += fmt::format("{} {:.6g}\n", line.step, *(line.*loss));
  return block + "EOD\n";
}

bool holds(const std::vector<StepMetrics>& metrics, std::optional<double> StepMetrics::*loss) {
  return std::any_of(metrics.begin(), metrics.end(),
                     [&](const auto& line) { return (line.*loss).has_value(); });
}

std::string last_val(const std::vector<StepMetrics>& metrics) {
  for (auto line = metrics.rbegin(); line != metrics.rend(); ++line)
    if (line->val_loss) return fmt::format(" ({:.3f})", *line->val_loss);
  return "";
}

std::int64_t last_skipped(const std::vector<StepMetrics>& metrics) {
  for (auto line = metrics.rbegin(); line != metrics.rend(); ++line)
    if (line->skipped) return *line->skipped;
  return 0;
}

/// Where the vertical axis ends: the first steps' losses would leave the rest of the picture to a
/// flat line.
std::string top_of(const std::vector<Curve>& curves) {
  double lowest = std::numeric_limits<double>::infinity(), highest = 0;
  for (const auto& curve : curves)
    for (const auto& line : curve.metrics)
      for (const auto& loss : {line.loss, line.val_loss})
        if (loss && std::isfinite(*loss)) {
          lowest = std::min(lowest, *loss);
          highest = std::max(highest, *loss);
        }
  const double top = 2.2 * lowest;
  return top < highest ? fmt::format("{:.3g}", top) : "*";
}

}  // namespace

std::string curves_script(const std::vector<Curve>& curves, const std::string& terminal,
                          const fs::path& output) {
  std::string script, plots;
  bool scaled = false;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const auto& [name, metrics] = curves[i];
    const auto& [strong, pale] = kColours[i % kColours.size()];
    const std::string train = fmt::format("train{}", i), val = fmt::format("val{}", i);
    if (holds(metrics, &StepMetrics::loss)) {
      script += data_block(train, metrics, &StepMetrics::loss);
      plots += fmt::format("{}${} using 1:2 with lines lw 1 lc rgb '{}' title {}",
                           plots.empty() ? "" : ", ", train, pale, quoted(name + " training"));
    }
    if (holds(metrics, &StepMetrics::loss_scale)) {
      const std::string scale = fmt::format("scale{}", i);
      script += data_block(scale, metrics, &StepMetrics::loss_scale);
      plots += fmt::format(
          "{}${} using 1:2 axes x1y2 with steps lw 1 dt 2 lc rgb '{}' title {}",
          plots.empty() ? "" : ", ", scale, strong,
          quoted(fmt::format("{} loss scale, {} skipped (right)", name, last_skipped(metrics))));
      scaled = true;
    }
    if (holds(metrics, &StepMetrics::val_loss)) {
      script += data_block(val, metrics, &StepMetrics::val_loss);
      plots += fmt::format("{}${} using 1:2 with linespoints lw 2 pt 7 ps 0.6 lc rgb '{}' title {}",
                           plots.empty() ? "" : ", ", val, strong,
                           quoted(name + " held out" + last_val(metrics)));
    }
  }
  if (plots.empty()) return "";
  script += terminal == "svg"
                ? "set terminal svg size 900,520 font 'sans,14' background rgb 'white' noenhanced\n"
                : "set terminal pngcairo size 1350,780 fontscale 1.4 noenhanced\n";
  script += "set output " + quoted(output.string()) + "\n";
  script +=
      "set xlabel 'step'\nset ylabel 'loss, nats a byte'\nset grid back lt 1 lw 1 lc rgb "
      "'#D0D0D0'\n"
      "set border 3\nset tics nomirror\nset key top right\n";
  script += "set yrange [*:" + top_of(curves) + "]\n";
  if (scaled) script += "set y2label 'loss scale'\nset logscale y2 2\nset y2tics\nset border 11\n";
  return script + "plot " + plots + "\n";
}

std::optional<fs::path> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder) / name;
    std::error_code error;
    if (fs::is_regular_file(candidate, error) && ::access(candidate.c_str(), X_OK) == 0)
      return candidate;
  }
  return std::nullopt;
}

std::optional<std::string> draw_curves(const fs::path& folder, const std::vector<Curve>& curves) {
  if (!find_program("gnuplot"))
    return "curves were not drawn: gnuplot is not installed (apt-get install gnuplot-nox)";
  for (const std::string terminal : {"svg", "png"}) {
    const fs::path output = folder / ("curves." + terminal);
    const std::string script = curves_script(curves, terminal, output);
    if (script.empty()) return "curves were not drawn: there is no loss yet";
    std::FILE* gnuplot = ::popen("gnuplot >/dev/null 2>&1", "w");
    if (gnuplot == nullptr) return "curves were not drawn: gnuplot cannot be started";
    std::fwrite(script.data(), 1, script.size(), gnuplot);
    std::error_code error;
    if (::pclose(gnuplot) != 0 || fs::file_size(output, error) == 0 || error)
      return fmt::format("curves were not drawn: gnuplot could not make '{}'", output.string());
  }
  return std::nullopt;
}

}  // namespace steepest::train
