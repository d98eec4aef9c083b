#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "steepest/base/files.h"
#include "steepest/base/json_fields.h"
#include "steepest/params/state_piece.h"

namespace steepest {

/// A piece with its values (borrowed) to be saved.
struct Piece {
  PieceInfo info;
  std::span<const std::byte> bytes;
};

/// A checkpoint folder `step-N/`:
///   weights.safetensors, optimizer.safetensors ... (tensors; a piece is "<state>/<name>" in its
///   file: weights are "<name>") manifest.json  {"format": "steepest-checkpoint-1", "step": N,
///                   "pieces":
///                   [{"name","state","dtype","shape","box":{"offset","extent"},"file","offset","bytes","checksum"}],
///                   "files": [{"file","bytes","checksum"}], "values": {...}, "checksum": of the
///                   manifest without this key}
/// Written under ".tmp-step-N", every file and the folder fsynced, then renamed; a crash leaves the
/// old state or the new. An existing folder of the same name is replaced. Equal states give equal
/// safetensors files, byte for byte.
struct CheckpointContent {
  std::int64_t step = 0;
  std::vector<Piece>
      pieces;  ///< state "param" goes to weights.safetensors, all others to optimizer.safetensors
  Json values = Json::object();  ///< what is not tensors: options of groups, trainer's counters ...
};

/// Saves into `parent`/step-N and returns that path. Temporary folders left by killed runs are
/// removed.
std::filesystem::path save_checkpoint(const std::filesystem::path& parent,
                                      const CheckpointContent& content,
                                      const WriteObserver& observe = {});

/// A checkpoint opened for reading.
class Checkpoint {
 public:
  /// Checks the manifest and, unless told otherwise, every checksum. CheckpointError names the file
  /// or piece: missing, truncated, altered, of an unknown format version.
  static Checkpoint open(const std::filesystem::path& folder, bool verify = true);

  std::int64_t step() const { return step_; }
  const std::filesystem::path& folder() const { return folder_; }
  const Json& values() const { return values_; }
  const Json& manifest() const { return manifest_; }
  const std::vector<PieceInfo>& pieces() const { return infos_; }
  /// The bytes of a whole tensor, or nothing where it is not in the checkpoint. They are read from
  /// the file when they are looked at, and valid while a copy of this object lives; memory that the
  /// tensor of the last call took is given back.
  std::optional<Piece> find(std::string_view name, std::string_view state) const;

 private:
  struct Files;
  std::filesystem::path folder_;
  std::int64_t step_ = 0;
  Json values_, manifest_;
  std::vector<PieceInfo> infos_;
  std::vector<Piece> pieces_;
  std::unordered_map<std::string, std::size_t> index_;  ///< of whole tensors, into pieces_
  std::shared_ptr<Files> files_;
};

/// The newest whole checkpoint in `parent`, and what was passed over: a folder and why it is not
/// whole. Leftovers of killed saves are removed, so only one process may use `parent` at a time.
struct NewestCheckpoint {
  std::optional<Checkpoint> checkpoint;
  std::vector<std::pair<std::filesystem::path, std::string>> refused;
};
NewestCheckpoint newest_checkpoint(const std::filesystem::path& parent);

/// Keeps the checkpoint of step `saved`, which has just been written, and the newest older ones,
/// `keep` in all (at least 1), and removes those that are older still. Newer folders are left
/// alone: a resumed run has passed them over, so they must not push out what it can go on from.
void remove_old_checkpoints(const std::filesystem::path& parent, std::int64_t saved,
                            std::int64_t keep);

}  // namespace steepest
