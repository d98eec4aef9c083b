#include "bench/report.h"

#include <fmt/format.h>

#include <utility>

namespace steepest::bench {
namespace {

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}

/// What a step moves or computes: "3.48 GB", "1.52 TFLOP".
std::string work(const BenchRow& row) {
  const bool moves = row.bytes > 0;
  const double amount = moves ? row.bytes : row.flops;
  if (amount <= 0) return "-";
  const auto [unit, letter] = amount >= 1e12  ? std::pair{1e12, 'T'}
                              : amount >= 1e9 ? std::pair{1e9, 'G'}
                                              : std::pair{1e6, 'M'};
  return fmt::format("{:.3g} {}{}", amount / unit, letter, moves ? "B" : "FLOP");
}

}  // namespace

Json BenchReport::json() const {
  Json all = Json::array();
  for (const BenchRow& each : rows)
    all.push_back(Json{{"name", each.name},
                       {"threads", each.threads},
                       {"ms", each.ms},
                       {"median_ms", each.median_ms},
                       {"repetitions", each.repetitions},
                       {"bytes", each.bytes},
                       {"flops", each.flops},
                       {"of_limit", number(each.of_limit)},
                       {"vs_libtorch", number(each.vs_libtorch)},
                       {"vs_aten", number(each.vs_aten)},
                       {"vs_plain", number(each.vs_plain)},
                       {"vs_fp32", number(each.vs_fp32)},
                       {"others", each.others},
                       {"disturbed", each.disturbed},
                       {"note", each.note}});
  return Json{{"cpu", cpu}, {"isa", isa}, {"quick", quick}, {"limits", limits}, {"rows", all}};
}

std::string BenchReport::text() const {
  std::string out = fmt::format("{}; {}\n", cpu, isa);
  for (const auto& [threads, values] : limits.items()) {
    out += fmt::format("limits {}:", threads);
    for (const auto& [name, value] : values.items())
      out += fmt::format("  {} {:.4g}", name, value.get<double>());
    out += "\n";
  }
  if (quick)
    out += "quick: small sizes that stay in the processor's cache; these numbers prove nothing\n";
  out +=
      fmt::format("\n{:<26}{:>3}{:>11}{:>11}{:>12}{:>10}{:>13}{:>9}{:>10}{:>9}\n", "row", "T", "ms",
                  "median", "work", "of limit", "vs libtorch", "vs ATen", "vs plain", "vs fp32");
  for (const BenchRow& each : rows) {
    std::string note = each.note;
    if (each.disturbed) note += note.empty() ? "disturbed" : ", disturbed";
    if (each.disturbed && each.others >= 0.05)
      note += fmt::format(" (other programs used {:.1f} processors)", each.others);
    out += fmt::format("{:<26}{:>3}{:>11.3f}{:>11.3f}{:>12}{:>10}{:>13}{:>9}{:>10}{:>9}{}{}\n",
                       each.name, each.threads, each.ms, each.median_ms, work(each),
                       cell(each.of_limit), cell(each.vs_libtorch), cell(each.vs_aten),
                       cell(each.vs_plain), cell(each.vs_fp32), note.empty() ? "" : "  ", note);
  }
  return out;
}

}  // namespace steepest::bench
