#include "steepest/report/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>

#include "steepest/checkpoint/checkpoint.h"

namespace steepest {
namespace {

std::string shape_of(const std::vector<std::int64_t>& sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

/// Empty for a whole tensor, else " at [2, 0] of [8, 4]".
std::string place_of(const PieceInfo& info) {
  const bool whole =
      info.box.extent == info.shape &&
      std::all_of(info.box.offset.begin(), info.box.offset.end(), [](auto at) { return at == 0; });
  return whole ? "" : fmt::format(" at {} of {}", shape_of(info.box.offset), shape_of(info.shape));
}

std::string groups_text(const Json& values) {
  const auto groups = values.value("/optimizer/groups"_json_pointer, Json::array());
  if (groups.empty()) return "";
  std::string text =
      fmt::format("\n{:<20}{:<12}{:>8}{:>12}{:>12}\n", "group", "rule", "params", "lr", "wd");
  for (const auto& group : groups) {
    const Json options = group.value("options", Json::object());
    text += fmt::format("{:<20}{:<12}{:>8}{:>12.4g}{:>12.4g}\n", group.value("name", "?"),
                        group.value("rule", "?"), group.value("params", Json::array()).size(),
                        options.value("lr", 0.0), options.value("weight_decay", 0.0));
  }
  return text;
}

}  // namespace

std::uint64_t InspectReport::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& piece : pieces) sum += piece.bytes;
  return sum;
}

std::string InspectReport::text() const {
  std::string text = fmt::format(
      "{}\nformat {}, step {}, {} pieces, {} bytes of values; checksums {}\n", folder.string(),
      format, step, pieces.size(), bytes(), verified ? "verified" : "not verified (--verify)");
  text += fmt::format("\n{:<28}{:>14}  {}\n", "file", "bytes", "checksum");
  for (const auto& file : files)
    text += fmt::format("{:<28}{:>14}  {}\n", file.value("file", "?"),
                        file.value("bytes", std::uint64_t{0}), file.value("checksum", "?"));
  text += groups_text(values);
  std::size_t width = 8;
  for (const auto& piece : pieces) width = std::max(width, piece.info.name.size());
  text += fmt::format("\n{:<{}}  {:<18}{:<10}{:<18}  {}\n", "name", width, "state", "dtype",
                      "checksum", "shape");
  for (const auto& [info, file, offset, size, checksum] : pieces)
    text += fmt::format("{:<{}}  {:<18}{:<10}{:<18}  {}{}\n", info.name, width, info.state,
                        name(info.dtype), checksum, shape_of(info.box.extent), place_of(info));
  return text;
}

Json InspectReport::json() const {
  Json all = Json::array();
  for (const auto& piece : pieces)
    all.push_back({{"name", piece.info.name},
                   {"state", piece.info.state},
                   {"dtype", name(piece.info.dtype)},
                   {"shape", piece.info.shape},
                   {"box", {{"offset", piece.info.box.offset}, {"extent", piece.info.box.extent}}},
                   {"file", piece.file},
                   {"offset", piece.offset},
                   {"bytes", piece.bytes},
                   {"checksum", piece.checksum}});
  return {{"folder", folder.string()}, {"format", format}, {"step", step},  {"verified", verified},
          {"bytes", bytes()},          {"files", files},   {"pieces", all}, {"values", values}};
}

InspectReport inspect(const std::filesystem::path& folder, bool verify) {
  const Checkpoint checkpoint = Checkpoint::open(folder, verify);
  const Json& manifest = checkpoint.manifest();
  InspectReport report;
  report.folder = folder;
  report.format = manifest.value("format", "");
  report.step = checkpoint.step();
  report.verified = verify;
  report.files = manifest.value("files", Json::array());
  report.values = checkpoint.values();
  // Checkpoint::open has checked the manifest: its pieces are in the order of pieces().
  const Json& described = manifest.at("pieces");
  for (std::size_t i = 0; i < checkpoint.pieces().size(); ++i)
    report.pieces.push_back({checkpoint.pieces()[i], described.at(i).value("file", ""),
                             described.at(i).value("offset", std::uint64_t{0}),
                             described.at(i).value("bytes", std::uint64_t{0}),
                             described.at(i).value("checksum", "")});
  std::ranges::stable_sort(report.pieces, [](const auto& a, const auto& b) {
    // Weights first, then the states of each parameter together.
    return std::tuple(a.info.state != "param", a.info.name, a.info.state) <
           std::tuple(b.info.state != "param", b.info.name, b.info.state);
  });
  return report;
}

}  // namespace steepest
