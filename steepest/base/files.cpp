#include "steepest/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "steepest/base/error.h"

namespace steepest {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string_view doing, const fs::path& path, int error) {
  throw IoError(
      {.what = fmt::format("{} {} failed: {}", doing, path.string(), std::strerror(error)),
       .why = "",
       .remedy = error == ENOSPC   ? "free some space"
                 : error == EACCES ? "check the rights of the file and its folder"
                                   : ""});
}

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }
  /// Closes now; the result counts, because delayed write errors come with it.
  int close() {
    const int value = value_;
    value_ = -1;
    return ::close(value);
  }

 private:
  int value_;
};

void tell(const WriteObserver& observe, std::string_view stage, const fs::path& path) {
  if (observe) observe(fmt::format("{} {}", stage, path.string()));
}

}  // namespace

std::string read_file(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail("reading", path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) fail("reading", path, errno);
  if (S_ISDIR(info.st_mode)) fail("reading", path, EISDIR);
  std::string all;
  all.reserve(static_cast<std::size_t>(info.st_size));
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count == 0) return all;
    if (count < 0) {
      if (errno == EINTR) continue;
      fail("reading", path, errno);
    }
    all.append(buffer, static_cast<std::size_t>(count));
  }
}

void write_file(const fs::path& path, std::string_view bytes, const WriteObserver& observe) {
  tell(observe, "write", path);
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) fail("writing", path, errno);
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      fail("writing", path, errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  tell(observe, "fsync", path);
  if (::fsync(file.get()) != 0) fail("writing", path, errno);
  if (file.close() != 0) fail("writing", path, errno);
}

void replace_file(const fs::path& path, std::string_view bytes, const WriteObserver& observe) {
  const fs::path temporary = path.parent_path() / ("." + path.filename().string() + ".tmp");
  try {
    write_file(temporary, bytes, observe);
    tell(observe, "rename", path);
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail("renaming to", path, errno);
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
  sync_folder(path.parent_path().empty() ? "." : path.parent_path(), observe);
}

void sync_folder(const fs::path& folder, const WriteObserver& observe) {
  tell(observe, "fsync-folder", folder);
  Descriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.get() < 0) fail("opening", folder, errno);
  // Some file systems cannot sync folders and say EINVAL; they order names by themselves.
  if (::fsync(file.get()) != 0 && errno != EINVAL) fail("syncing", folder, errno);
}

void sync_file(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 && errno == ENOENT) return;
  if (file.get() < 0) fail("opening", path, errno);
  if (::fsync(file.get()) != 0) fail("syncing", path, errno);
}

void require_writable_folder(const fs::path& folder, const WriteObserver& observe) {
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path each = folder; !each.empty() && !fs::exists(each, error); each = each.parent_path())
    missing.push_back(each);
  fs::create_directories(folder, error);
  if (error) fail("creating", folder, error.value());
  for (const fs::path& each : missing)
    sync_folder(each.has_parent_path() ? each.parent_path() : ".", observe);
  const fs::path probe = folder / fmt::format(".writable-{}", ::getpid());
  Descriptor file(::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (file.get() < 0) fail("writing to", folder, errno);
  ::unlink(probe.c_str());
}

}  // namespace steepest
