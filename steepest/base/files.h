#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace steepest {

/// Called before each stage of a durable write with "write PATH", "fsync PATH", "rename PATH" ...;
/// tests kill the process or throw from it. Empty: nothing is called.
using WriteObserver = std::function<void(std::string_view stage)>;

/// A regular file, opened for reading. IoError: it is missing, cannot be read, or is no file (a
/// folder, a pipe, a device, a socket: refused without waiting for it or reading from it).
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Its size when it was opened.
  std::uint64_t size() const { return size_; }
  int descriptor() const { return descriptor_; }
  /// Up to `out.size()` bytes from where the last call ended; 0 at the end of the file.
  std::size_t read(std::span<char> out);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// A file written durably part by part; without `finish` its content is of no use. IoError on
/// failure.
class OutputFile {
 public:
  /// Creates or truncates it.
  OutputFile(const std::filesystem::path& path, const WriteObserver& observe);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  /// fsync and close.
  void finish();

 private:
  std::filesystem::path path_;
  const WriteObserver& observe_;
  int descriptor_ = -1;
};

/// Reads a whole file, as InputFile does. IoError names the path and the system's reason, and
/// refuses a file of more than `most` bytes, or more than the machine has memory, before reading
/// it.
std::string read_file(const std::filesystem::path& path,
                      std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

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
