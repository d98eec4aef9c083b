#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace steepest {

/// Called before each stage of a durable write with "write PATH", "fsync PATH", "rename PATH" ...;
/// tests kill the process or throw from it. Empty: nothing is called.
using WriteObserver = std::function<void(std::string_view stage)>;

/// Reads a whole file. IoError names the path and the system's reason.
std::string read_file(const std::filesystem::path& path);

/// Writes `bytes` to `path` durably (write, fsync, close), creating or truncating it. IoError on
/// failure.
void write_file(const std::filesystem::path& path, std::string_view bytes,
                const WriteObserver& observe = {});

/// Writes under a temporary name beside `path`, fsyncs, renames over `path`, fsyncs the folder:
/// readers see the old or the new content, never a part.
void replace_file(const std::filesystem::path& path, std::string_view bytes,
                  const WriteObserver& observe = {});

/// fsync of a folder, so that names in it survive a crash.
void sync_folder(const std::filesystem::path& folder, const WriteObserver& observe = {});

/// Waits until the disk has all of a file that was written by other means. IoError with the
/// system's reason; a file that is gone needs no waiting.
void sync_file(const std::filesystem::path& path);

/// IoError with the system's reason if files cannot be made in `folder` (it is created, with
/// parents, if missing; the names of what is created are synced).
void require_writable_folder(const std::filesystem::path& folder,
                             const WriteObserver& observe = {});

}  // namespace steepest
