#include "steepest/checkpoint/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "steepest/base/error.h"
#include "steepest/base/hash.h"
#include "steepest/checkpoint/json_text.h"

namespace steepest {
namespace {

constexpr std::string_view kFormat = "steepest-checkpoint-1";
/// JSON is printed and copied by recursion, which must not take the stack.
constexpr int kDeepest = 256;

[[noreturn]] void refuse(const std::string& what, std::string why) {
  throw CheckpointError({.what = what, .why = std::move(why), .remedy = "take another checkpoint"});
}

/// The checksum covers the text without the key `checksum`, as it is dumped.
std::string own_checksum(const Json& json) { return checksum(json.dump()); }

std::string dumped(const Json& json) { return json.dump(1) + "\n"; }

/// Reads fields of one JSON map and refuses wrong types by name.
class Reader {
 public:
  Reader(const Json& json, const std::string& what) : json_(json), what_(what) {
    if (!json.is_object()) refuse(what, "an entry is not a map");
  }
  const Json& at(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) refuse(what_, fmt::format("'{}' is missing", key));
    return *found;
  }
  std::string text(const char* key) const {
    if (!at(key).is_string()) refuse(what_, fmt::format("'{}' is not a text", key));
    return at(key).get<std::string>();
  }
  std::uint64_t count(const char* key) const {
    if (!at(key).is_number_unsigned()) refuse(what_, fmt::format("'{}' is not a count", key));
    return at(key).get<std::uint64_t>();
  }
  std::vector<std::int64_t> sizes(const char* key) const {
    std::vector<std::int64_t> all;
    if (!at(key).is_array()) refuse(what_, fmt::format("'{}' is not a list", key));
    for (const Json& each : at(key)) {
      if (!each.is_number_unsigned() || each.get<std::uint64_t>() > (std::uint64_t{1} << 62))
        refuse(what_, fmt::format("'{}' is not a list of sizes", key));
      all.push_back(each.get<std::int64_t>());
    }
    return all;
  }
  std::string file(const char* key) const {
    std::string name = text(key);
    if (name.find('\0') != std::string::npos)
      refuse(what_, fmt::format("'{}' holds a zero byte", key));
    if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.'))
      refuse(what_, fmt::format("'{}' is no name of a file in the folder", name));
    return name;
  }

 private:
  const Json& json_;
  const std::string& what_;
};

}  // namespace

bool lies_within(const Box& box, const std::vector<std::int64_t>& shape) {
  if (box.offset.size() != shape.size() || box.extent.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (box.offset[i] < 0 || box.extent[i] < 0 || box.extent[i] > shape[i] ||
        box.offset[i] > shape[i] - box.extent[i])
      return false;
  return true;
}

std::string write_manifest(const Manifest& manifest) try {
  Json pieces = Json::array(), files = Json::array();
  for (const ManifestPiece& each : manifest.pieces)
    pieces.push_back({{"name", each.info.name},
                      {"state", each.info.state},
                      {"dtype", std::string(name(each.info.dtype))},
                      {"shape", each.info.shape},
                      {"box", {{"offset", each.info.box.offset}, {"extent", each.info.box.extent}}},
                      {"file", each.file},
                      {"offset", each.offset},
                      {"bytes", each.bytes},
                      {"checksum", each.checksum}});
  for (const ManifestFile& each : manifest.files)
    files.push_back({{"file", each.file}, {"bytes", each.bytes}, {"checksum", each.checksum}});
  Json json{{"format", std::string(kFormat)},
            {"step", manifest.step},
            {"pieces", pieces},
            {"files", files},
            {"values", manifest.values}};
  json["checksum"] = own_checksum(json);
  return dumped(json);
} catch (const Json::type_error&) {
  throw ConfigError({.what = "a name or a value of the checkpoint is not UTF-8",
                     .why = "its manifest is JSON",
                     .remedy = "give it names and texts in UTF-8"});
}

Manifest read_manifest(std::string_view text, const std::string& what) {
  const JsonText look = look_at_json(text, kDeepest);
  if (look.deep) refuse(what, "it is nested too deeply");
  const Json json = look.valid ? Json::parse(text, nullptr, /*allow_exceptions=*/false) : Json();
  if (!json.is_object()) refuse(what, "it is not JSON: truncated or altered");
  const Reader top(json, what);
  if (top.text("format") != kFormat)
    refuse(what, fmt::format("it has the format '{}', this version reads '{}'", top.text("format"),
                             kFormat));
  const std::string saved = top.text("checksum");
  Json rest = json;
  rest.erase("checksum");
  // The text as well: white space and repeated keys do not show in what was parsed.
  if (own_checksum(rest) != saved || dumped(json) != text)
    refuse(what, "its checksum differs: it was altered");

  Manifest manifest;
  if (top.count("step") > (std::uint64_t{1} << 62)) refuse(what, "'step' is not a count");
  manifest.step = static_cast<std::int64_t>(top.count("step"));
  manifest.values = top.at("values");
  if (!manifest.values.is_object()) refuse(what, "'values' is not a map");
  if (!top.at("pieces").is_array() || !top.at("files").is_array())
    refuse(what, "'pieces' or 'files' is not a list");
  std::set<std::string> files;
  for (const Json& each : top.at("files")) {
    const Reader in(each, what);
    manifest.files.push_back({in.file("file"), in.count("bytes"), in.text("checksum")});
    if (!files.insert(manifest.files.back().file).second)
      refuse(what, fmt::format("the file '{}' stands twice", manifest.files.back().file));
  }
  // By parameter and state: what all pieces of a tensor share, and where each begins.
  struct Tensor {
    Dtype dtype;
    std::vector<std::int64_t> shape;
    std::set<std::vector<std::int64_t>> begins;
  };
  std::map<std::pair<std::string, std::string>, Tensor> tensors;
  for (const Json& each : top.at("pieces")) {
    const Reader in(each, what);
    ManifestPiece piece;
    piece.info.name = in.text("name");
    piece.info.state = in.text("state");
    const auto dtype = parse_spelling<Dtype>(in.text("dtype"));
    if (!dtype) refuse(what, fmt::format("'{}' is no element type", in.text("dtype")));
    piece.info.dtype = *dtype;
    piece.info.shape = in.sizes("shape");
    const Reader box(in.at("box"), what);
    piece.info.box = {box.sizes("offset"), box.sizes("extent")};
    if (!lies_within(piece.info.box, piece.info.shape))
      refuse(what, fmt::format("the box of '{}' does not fit its shape", piece.info.name));
    piece.file = in.file("file");
    piece.offset = in.count("offset");
    piece.bytes = in.count("bytes");
    piece.checksum = in.text("checksum");
    const PieceInfo& info = piece.info;
    const auto [tensor, fresh] =
        tensors.try_emplace({info.name, info.state}, Tensor{info.dtype, info.shape, {}});
    if (tensor->second.dtype != info.dtype || tensor->second.shape != info.shape)
      refuse(what, fmt::format("the pieces of '{}' of '{}' disagree about its type or shape",
                               info.state, info.name));
    const bool empty = std::ranges::count(info.box.extent, 0) > 0;
    if (!empty && !tensor->second.begins.insert(info.box.offset).second)
      refuse(what, fmt::format("a piece of '{}' of '{}' stands twice", info.state, info.name));
    manifest.pieces.push_back(std::move(piece));
  }
  return manifest;
}

}  // namespace steepest
