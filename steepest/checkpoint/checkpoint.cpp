#include "steepest/checkpoint/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
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

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

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

/// Checkpoint folders in `parent`, newest first.
std::vector<std::pair<std::int64_t, fs::path>> folders_in(const fs::path& parent) {
  std::vector<std::pair<std::int64_t, fs::path>> all;
  std::error_code error;
  for (const auto& each : fs::directory_iterator(parent, error))
    if (const auto step = step_of(each.path().filename().string());
        step && each.is_directory(error))
      all.emplace_back(*step, each.path());
  std::ranges::sort(all, std::greater<>{}, [](const auto& each) { return each.first; });
  return all;
}

/// Removes what a killed save left: ".tmp-step-N" and ".old-step-N", nothing else.
void remove_leftovers(const fs::path& parent) {
  std::error_code ignored;
  std::vector<fs::path> leftovers;
  for (const auto& each : fs::directory_iterator(parent, ignored)) {
    const std::string name = each.path().filename().string();
    for (const std::string_view mark : {kTemporary, kOld})
      if (name.starts_with(mark) && step_of(std::string_view(name).substr(mark.size())))
        leftovers.push_back(each.path());
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
          {.what = fmt::format("the box of '{}' does not fit its shape", entry_of(each.info))});
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
      const std::string bytes = safetensors_bytes(entries);
      write_file(temporary / file, bytes, observe);
      manifest.files.push_back({file, bytes.size(), checksum(bytes)});
      // Entries lie in the file in the order of names, behind its header.
      std::uint64_t data = 0;
      for (const SafetensorsEntry& each : entries) data += each.bytes.size();
      std::uint64_t offset = bytes.size() - data;
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
        {.what = fmt::format("saving {} failed: {}", target.string(), error.code().message())});
  } catch (...) {
    remove_leftovers(parent);
    throw;
  }
  remove_leftovers(parent);
  return target;
}

struct Checkpoint::Files {
  std::map<std::string, SafetensorsFile> open;
};

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
  const std::string text = read_file(manifest_path);
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
  // The first piece of a file whose bytes differ from what was saved, for the message.
  const auto altered = [&](const std::string& file, std::string_view bytes) -> std::string {
    for (const ManifestPiece& each : manifest.pieces)
      if (each.file == file && each.offset <= bytes.size() &&
          each.bytes <= bytes.size() - each.offset &&
          checksum(bytes.substr(each.offset, each.bytes)) != each.checksum)
        return fmt::format("its checksum differs: '{}' was altered", entry_of(each.info));
    return "its checksum differs: its header was altered";
  };
  for (const ManifestFile& each : manifest.files) {
    if (!fs::exists(folder / each.file, error)) refuse(each.file, "it is missing");
    const auto size = fs::file_size(folder / each.file, error);
    if (error || size != each.bytes)
      refuse(each.file, fmt::format("it has {} bytes instead of {}", size, each.bytes));
    SafetensorsFile file(folder / each.file);
    if (const auto bytes = text_of(file.bytes()); verify && checksum(bytes) != each.checksum)
      refuse(each.file, altered(each.file, bytes));
    checkpoint.files_->open.emplace(each.file, std::move(file));
  }
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
    checkpoint.infos_.push_back(each.info);
    checkpoint.pieces_.push_back({each.info, bytes.subspan(each.offset, each.bytes)});
  }
  return checkpoint;
}

std::optional<Piece> Checkpoint::find(std::string_view name, std::string_view state) const {
  for (const Piece& each : pieces_)
    if (each.info.name == name && each.info.state == state &&
        each.info.box.extent == each.info.shape)
      return each;
  return std::nullopt;
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
