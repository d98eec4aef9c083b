#include "steepest/checkpoint/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <map>

#include "steepest/base/error.h"
#include "steepest/base/hash.h"
#include "steepest/checkpoint/manifest.h"
#include "steepest/checkpoint/safetensors.h"

namespace steepest {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-", kTemporary = ".tmp-", kOld = ".old-",
                           kManifest = "manifest.json";

/// What find() looks a piece up by; no two pairs give the same.
std::string key_of(std::string_view name, std::string_view state) {
  return fmt::format("{}:{}{}", state.size(), state, name);
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Room for a million pieces; more than this is no manifest.
constexpr std::uint64_t kLargestManifest = 1u << 30;

std::string file_of(const PieceInfo& info) {
  return info.state == "param" ? "weights.safetensors" : "optimizer.safetensors";
}
std::string entry_of(const PieceInfo& info) {
  return info.state == "param" ? info.name : info.state + "/" + info.name;
}

/// N of the name "step-N"; nothing for any other name.
std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::int64_t step = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (error != std::errc{} || stop != end || step < 0) return std::nullopt;
  return step;
}

/// What lies in a folder; nothing where it cannot be read.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    all.push_back(at->path());
  return all;
}

/// Checkpoint folders in `parent`, newest first.
std::vector<std::pair<std::int64_t, fs::path>> folders_in(const fs::path& parent) {
  std::vector<std::pair<std::int64_t, fs::path>> all;
  for (const fs::path& each : entries_of(parent)) {
    std::error_code error;
    if (const auto step = step_of(each.filename().string()); step && fs::is_directory(each, error))
      all.emplace_back(*step, each);
  }
  std::ranges::sort(all, std::greater<>{}, [](const auto& each) { return each.first; });
  return all;
}

/// Removes what a killed save left: ".tmp-step-N" and ".old-step-N", nothing else.
void remove_leftovers(const fs::path& parent) {
  std::error_code ignored;
  std::vector<fs::path> leftovers;
  for (const fs::path& each : entries_of(parent)) {
    const std::string name = each.filename().string();
    for (const std::string_view mark : {kTemporary, kOld})
      if (name.starts_with(mark) && step_of(std::string_view(name).substr(mark.size())))
        leftovers.push_back(each);
  }
  for (const fs::path& each : leftovers) {
    // An old folder whose successor never arrived is the only copy: it goes back to its name.
    const std::string name = each.filename().string();
    if (name.starts_with(kOld) && !fs::exists(parent / name.substr(kOld.size()), ignored)) {
      fs::rename(each, parent / name.substr(kOld.size()), ignored);
      continue;
    }
    fs::remove_all(each, ignored);
  }
}

/// Gives `temporary` the name `target`. A folder of that name is exchanged in one call, so that at
/// no moment there is none; what was there ends as `temporary`. File systems that cannot exchange
/// take two renames through `old`, and remove_leftovers mends a crash between them.
void put_in_place(const fs::path& temporary, const fs::path& target, const fs::path& old,
                  const WriteObserver& observe) {
  if (observe) observe("rename " + target.string());
  if (fs::exists(target)) {
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0)
      return;
    fs::rename(target, old);
    if (observe) observe("rename again " + target.string());
  }
  fs::rename(temporary, target);
}

/// A checkpoint that could not be read back is not begun.
void check(const CheckpointContent& content) {
  if (content.step < 0)
    throw ConfigError({.what = fmt::format("a checkpoint cannot have the step {}", content.step),
                       .remedy = "count steps from 0"});
  for (const Piece& each : content.pieces)
    if (!lies_within(each.info.box, each.info.shape))
      throw ConfigError(
          {.what = fmt::format("the box of '{}' does not fit its shape", entry_of(each.info)),
           .why = "a piece lies inside its tensor",
           .remedy = "give an offset and an extent for each dimension, inside the shape"});
}

}  // namespace

fs::path save_checkpoint(const fs::path& parent, const CheckpointContent& content,
                         const WriteObserver& observe) {
  check(content);
  const std::string name = fmt::format("{}{}", kPrefix, content.step);
  const fs::path target = parent / name, temporary = parent / fmt::format("{}{}", kTemporary, name),
                 old = parent / fmt::format("{}{}", kOld, name);
  require_writable_folder(parent);
  remove_leftovers(parent);

  std::map<std::string, std::vector<SafetensorsEntry>> files;
  std::vector<Piece> pieces = content.pieces;
  std::ranges::sort(pieces, {}, [](const Piece& each) {
    return std::pair(file_of(each.info), entry_of(each.info));
  });
  Manifest manifest{.step = content.step, .pieces = {}, .files = {}, .values = content.values};
  for (const Piece& each : pieces)
    files[file_of(each.info)].push_back(
        {entry_of(each.info), each.info.dtype, each.info.box.extent, each.bytes});

  require_writable_folder(temporary);
  try {
    for (auto& [file, entries] : files) {
      const WrittenSafetensors written =
          write_safetensors(temporary / file, std::move(entries), observe);
      manifest.files.push_back({file, written.bytes, written.checksum});
      // Entries lie in the file in the order of names, behind its header.
      std::uint64_t offset = written.data_begin;
      for (const Piece& each : pieces) {
        if (file_of(each.info) != file) continue;
        manifest.pieces.push_back(
            {each.info, file, offset, each.bytes.size(), checksum(text_of(each.bytes))});
        offset += each.bytes.size();
      }
    }
    write_file(temporary / kManifest, write_manifest(manifest), observe);
    sync_folder(temporary, observe);
    put_in_place(temporary, target, old, observe);
    sync_folder(parent, observe);
  } catch (const fs::filesystem_error& error) {
    remove_leftovers(parent);
    throw IoError(
        {.what = fmt::format("saving {} failed: {}", target.string(), error.code().message()),
         .why = "",
         .remedy = "check the rights of its folder and the space that is left"});
  } catch (...) {
    remove_leftovers(parent);
    throw;
  }
  remove_leftovers(parent);
  return target;
}

struct Checkpoint::Files {
  std::map<std::string, SafetensorsFile> open;
  /// The file of each piece, in the order of pieces().
  std::vector<const SafetensorsFile*> of_piece;
  /// The piece that find() gave last; -1: none.
  std::atomic<std::ptrdiff_t> last{-1};
};

namespace {

/// Reads a file once, part by part: the checksums of it and of each of its pieces. Why it is not
/// what was saved, or nothing.
std::string altered(const fs::path& path, const ManifestFile& saved,
                    std::vector<const ManifestPiece*> pieces) {
  std::ranges::sort(pieces, {}, [](const ManifestPiece* each) { return each->offset; });
  Checksum whole, part;
  std::string first;  // of the pieces that differ
  InputFile file(path);
  std::vector<char> buffer(1 << 20);
  std::uint64_t at = 0;
  auto next = pieces.begin();
  const auto ended = [&] {
    for (; next != pieces.end() && (*next)->offset + (*next)->bytes <= at; ++next) {
      // An empty piece has the checksum of nothing, wherever it lies.
      const std::string found = (*next)->bytes == 0 ? checksum("") : part.text();
      if (first.empty() && found != (*next)->checksum) first = entry_of((*next)->info);
      part.reset();
    }
  };
  while (const std::size_t count = file.read(buffer)) {
    std::string_view bytes(buffer.data(), count);
    whole.add(bytes);
    while (!bytes.empty()) {
      ended();
      // Up to the next border: where a piece begins or ends.
      std::uint64_t border = at + bytes.size();
      const bool inside = next != pieces.end() && (*next)->offset <= at;
      if (next != pieces.end())
        border = std::min(border, inside ? (*next)->offset + (*next)->bytes : (*next)->offset);
      const std::string_view step = bytes.substr(0, border - at);
      if (inside) part.add(step);
      bytes.remove_prefix(step.size());
      at = border;
    }
  }
  ended();
  if (!first.empty()) return fmt::format("its checksum differs: '{}' was altered", first);
  if (at != saved.bytes || whole.text() != saved.checksum)
    return "its checksum differs: its header was altered";
  return {};
}

/// Whether the file's own header says of the piece what the manifest says.
bool agrees(const SafetensorsFile& file, const ManifestPiece& piece) {
  const auto found = file.tensors().find(entry_of(piece.info));
  if (found == file.tensors().end()) return false;
  const SafetensorsEntry& entry = found->second;
  return entry.dtype == piece.info.dtype && entry.shape == piece.info.box.extent &&
         entry.bytes.size() == piece.bytes &&
         entry.bytes.data() == file.bytes().data() + piece.offset;
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& folder, bool verify) {
  const fs::path manifest_path = folder / kManifest;
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw CheckpointError({.what = fmt::format("there is no checkpoint {}", folder.string()),
                           .remedy = "give a folder step-N that a run or Optimizer::save wrote"});
  if (!fs::exists(manifest_path, error))
    throw CheckpointError({.what = fmt::format("{} is missing", manifest_path.string()),
                           .why = "a checkpoint without its manifest is not whole",
                           .remedy = "take another checkpoint"});
  const std::string text = read_file(manifest_path, kLargestManifest);
  const Manifest manifest = read_manifest(text, manifest_path.string());

  Checkpoint checkpoint;
  checkpoint.folder_ = folder;
  checkpoint.step_ = manifest.step;
  checkpoint.values_ = manifest.values;
  checkpoint.manifest_ = Json::parse(text);
  checkpoint.files_ = std::make_shared<Files>();
  const auto refuse = [&](const std::string& file, std::string why) {
    throw CheckpointError(
        {.what = fmt::format("{} is not the file that was saved", (folder / file).string()),
         .why = std::move(why),
         .remedy = "take another checkpoint"});
  };
  for (const ManifestFile& each : manifest.files) {
    const fs::path path = folder / each.file;
    const auto status = fs::status(path, error);
    if (!fs::exists(status)) refuse(each.file, "it is missing");
    if (!fs::is_regular_file(status)) refuse(each.file, "it is no file");
    const auto size = fs::file_size(path, error);
    if (error || size != each.bytes)
      refuse(each.file, fmt::format("it has {} bytes instead of {}", size, each.bytes));
    checkpoint.files_->open.emplace(each.file, SafetensorsFile(path));
  }
  std::map<std::string_view, std::vector<const ManifestPiece*>> by_file;
  for (const ManifestPiece& each : manifest.pieces) {
    const auto file = checkpoint.files_->open.find(each.file);
    if (file == checkpoint.files_->open.end()) refuse(each.file, "the manifest does not list it");
    const auto bytes = file->second.bytes();
    if (each.offset > bytes.size() || each.bytes > bytes.size() - each.offset)
      refuse(each.file, fmt::format("piece '{}' lies outside it", entry_of(each.info)));
    std::uint64_t wanted = size_of(each.info.dtype);
    bool fits = true;
    for (const std::int64_t extent : each.info.box.extent)
      fits = fits && !__builtin_mul_overflow(wanted, static_cast<std::uint64_t>(extent), &wanted);
    if (!fits || wanted != each.bytes)
      refuse(each.file, fmt::format("piece '{}' has {} bytes, which do not fit its shape",
                                    entry_of(each.info), each.bytes));
    by_file[each.file].push_back(&each);
  }
  for (const ManifestFile& each : manifest.files)
    if (verify)
      if (std::string why = altered(folder / each.file, each, by_file[each.file]); !why.empty())
        refuse(each.file, std::move(why));
  for (const ManifestPiece& each : manifest.pieces) {
    const SafetensorsFile& file = checkpoint.files_->open.at(each.file);
    if (!agrees(file, each))
      refuse(each.file,
             fmt::format("its header and the manifest disagree about '{}'", entry_of(each.info)));
    if (each.info.box.extent == each.info.shape)
      checkpoint.index_.try_emplace(key_of(each.info.name, each.info.state),
                                    checkpoint.pieces_.size());
    checkpoint.infos_.push_back(each.info);
    checkpoint.pieces_.push_back({each.info, file.bytes().subspan(each.offset, each.bytes)});
    checkpoint.files_->of_piece.push_back(&file);
  }
  return checkpoint;
}

std::optional<Piece> Checkpoint::find(std::string_view name, std::string_view state) const {
  const auto found = index_.find(key_of(name, state));
  if (found == index_.end()) return std::nullopt;
  // Whoever asks for one tensor after the other shall not have all of them in memory.
  const auto now = static_cast<std::ptrdiff_t>(found->second);
  if (const auto last = files_->last.exchange(now); last >= 0 && last != now)
    files_->of_piece[static_cast<std::size_t>(last)]->release(
        pieces_[static_cast<std::size_t>(last)].bytes);
  return pieces_[found->second];
}

NewestCheckpoint newest_checkpoint(const fs::path& parent) {
  NewestCheckpoint newest;
  std::error_code error;
  if (fs::is_directory(parent, error)) remove_leftovers(parent);
  for (const auto& [step, folder] : folders_in(parent)) {
    try {
      newest.checkpoint = Checkpoint::open(folder);
      return newest;
    } catch (const Error& problem) {
      newest.refused.emplace_back(folder, problem.what());
    }
  }
  return newest;
}

void remove_old_checkpoints(const fs::path& parent, std::int64_t saved, std::int64_t keep) {
  std::int64_t kept = 1;  // the one just saved
  for (const auto& [step, folder] : folders_in(parent)) {
    // What is newer was passed over, or belongs to another history: it says nothing about the
    // others.
    if (step >= saved) continue;
    if (kept >= std::max<std::int64_t>(keep, 1)) {
      std::error_code ignored;
      // The manifest goes first: what is left of a removal that was cut off is no whole checkpoint.
      fs::remove(folder / kManifest, ignored);
      fs::remove_all(folder, ignored);
      continue;
    }
    // A folder that cannot be resumed from keeps no other from staying.
    try {
      Checkpoint::open(folder, /*verify=*/false);
      ++kept;
    } catch (const Error&) {
    }
  }
}

}  // namespace steepest
