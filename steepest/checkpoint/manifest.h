#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "steepest/base/json_fields.h"
#include "steepest/params/state_piece.h"

namespace steepest {

/// Where a piece lies: its file, the first byte in that file, how many, and their checksum.
struct ManifestPiece {
  PieceInfo info;
  std::string file;
  std::uint64_t offset = 0, bytes = 0;
  std::string checksum;
};

struct ManifestFile {
  std::string file;
  std::uint64_t bytes = 0;
  std::string checksum;
};

/// manifest.json of a checkpoint, format steepest-checkpoint-1.
struct Manifest {
  std::int64_t step = 0;
  std::vector<ManifestPiece> pieces;
  std::vector<ManifestFile> files;
  Json values = Json::object();
};

/// Whether the box has as many dimensions as `shape` and lies inside it.
bool lies_within(const Box& box, const std::vector<std::int64_t>& shape);

/// JSON text with a checksum of itself. ConfigError: text in it is not UTF-8.
std::string write_manifest(const Manifest& manifest);
/// CheckpointError (beginning with `what`): not JSON, altered (every byte counts), of another
/// format, a field missing or of a wrong type, a file name that leaves the folder.
Manifest read_manifest(std::string_view text, const std::string& what);

}  // namespace steepest
