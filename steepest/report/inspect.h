#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "steepest/base/json_fields.h"
#include "steepest/params/state_piece.h"

namespace steepest {

/// A piece of a checkpoint and where it lies.
struct InspectedPiece {
  PieceInfo info;
  std::string file;
  std::uint64_t offset = 0, bytes = 0;
  std::string checksum;
};

/// What a checkpoint holds.
struct InspectReport {
  std::filesystem::path folder;
  std::string format;
  std::int64_t step = 0;
  bool verified = false;  ///< every checksum was compared with the bytes on disk
  std::vector<InspectedPiece> pieces;
  Json files = Json::array();
  Json values = Json::object();  ///< what is not tensors: groups, schedule, counters, recipe

  std::uint64_t bytes() const;
  /// Tables of files, groups and pieces, for people.
  std::string text() const;
  Json json() const;
};

/// Opens `folder`, a step-N of a run. CheckpointError: it is none, or, where `verify` is set, it is
/// not whole.
InspectReport inspect(const std::filesystem::path& folder, bool verify);

}  // namespace steepest
