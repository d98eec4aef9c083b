#include "bench/contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace steepest::bench {
namespace {

struct Column {
  std::string_view contender;
  std::optional<double> BenchRow::*ratio;
};
constexpr Column kColumns[] = {{"limit", &BenchRow::of_limit},
                               {"libtorch", &BenchRow::vs_libtorch},
                               {"aten", &BenchRow::vs_aten},
                               {"plain", &BenchRow::vs_plain},
                               {"fp32", &BenchRow::vs_fp32}};

}  // namespace

BenchRow hold(std::string_view name, int threads, const Contest& contest, const Effort& effort,
              const Clocks& clocks) {
  const double start = clocks.wall(), others_before = clocks.others();
  const auto timings = interleaved(contest.contenders, effort.seconds,
                                   std::max(effort.at_least, contest.at_least), clocks.wall);
  const double took = clocks.wall() - start;
  const double others = took > 0 ? (clocks.others() - others_before) / took : 0;
  const Timing& ours = timings[0];
  BenchRow row{.name = std::string(name),
               .threads = threads,
               .ms = 1e3 * ours.best,
               .median_ms = 1e3 * ours.median,
               .repetitions = ours.repetitions,
               .bytes = contest.bytes,
               .flops = contest.flops,
               .others = std::max(0.0, others),
               .note = contest.note};
  if (contest.tokens > 0)
    row.note +=
        fmt::format("{}{:.0f} tokens/s", row.note.empty() ? "" : ", ", contest.tokens / ours.best);
  row.disturbed = others > std::max(kOthersOfOne, kOthersOfAll * clocks.processors);
  for (std::size_t i = 0; i < timings.size(); ++i) {
    row.disturbed |= timings[i].median > kDisturbed * timings[i].best;
    const std::string& role = contest.contenders[i].name;
    for (const Column& column : kColumns)
      if (column.contender == role) row.*column.ratio = timings[i].best / ours.best;
    if (contest.tokens > 0 && role == "libtorch")
      row.note += fmt::format("; libtorch {:.0f}", contest.tokens / timings[i].best);
  }
  if (row.of_limit) *row.of_limit *= contest.limit_share;
  return row;
}

}  // namespace steepest::bench
