#include "steepest/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "steepest/base/error.h"

namespace steepest {
namespace {

namespace fs = std::filesystem;

std::string remedy_of(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free some space";
    case EACCES:
    case EPERM:
    case EROFS:
      return "check the rights of the file and its folder";
    case EISDIR:
    case EINVAL:
      return "give the path of a file";
    case ENOTDIR:
      return "a part of the path is a file: give another path";
    case ENAMETOOLONG:
    case ELOOP:
      return "give another path";
    case EMFILE:
    case ENFILE:
      return "close other files, or raise the limit with ulimit -n";
    case EIO:
      return "check the disk, and take another copy of the file";
    default:
      return "check the path";
  }
}

[[noreturn]] void fail(std::string_view doing, const fs::path& path, int error) {
  throw IoError(
      {.what = fmt::format("{} {} failed: {}", doing, path.string(), std::strerror(error)),
       .why = "",
       .remedy = remedy_of(error)});
}

/// Refuses what is no regular file, by what it is.
void require_regular(const fs::path& path, mode_t mode) {
  if (S_ISREG(mode)) return;
  if (S_ISDIR(mode)) fail("reading", path, EISDIR);
  const char* const kind = S_ISFIFO(mode)                   ? "a pipe"
                           : S_ISSOCK(mode)                 ? "a socket"
                           : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                                            : "no file";
  throw IoError({.what = fmt::format("reading {} failed: it is {}", path.string(), kind),
                 .why = "only a file has an end that is known before it is read",
                 .remedy = "write its content to a file and give that"});
}

/// Bytes of memory that the machine has.
std::uint64_t machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || size <= 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
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

 private:
  int value_;
};

void tell(const WriteObserver& observe, std::string_view stage, const fs::path& path) {
  if (observe) observe(fmt::format("{} {}", stage, path.string()));
}

}  // namespace

InputFile::InputFile(const fs::path& path) : path_(path) {
  struct stat info {};
  // Before it is opened: opening a pipe wakes its writer, opening a device may do anything.
  if (::stat(path.c_str(), &info) != 0) fail("reading", path, errno);
  require_regular(path, info.st_mode);
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) fail("reading", path, errno);
  try {
    if (::fstat(descriptor_, &info) != 0) fail("reading", path, errno);
    require_regular(path, info.st_mode);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  size_ = static_cast<std::uint64_t>(info.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

std::size_t InputFile::read(std::span<char> out) {
  for (;;) {
    const ssize_t count = ::read(descriptor_, out.data(), out.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) fail("reading", path_, errno);
  }
}

OutputFile::OutputFile(const fs::path& path, const WriteObserver& observe)
    : path_(path), observe_(observe) {
  tell(observe_, "write", path_);
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("writing", path_, errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      fail("writing", path_, errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void OutputFile::finish() {
  tell(observe_, "fsync", path_);
  if (::fsync(descriptor_) != 0) fail("writing", path_, errno);
  // The result counts, because delayed write errors come with it.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("writing", path_, errno);
}

std::string read_file(const fs::path& path, std::uint64_t most) {
  InputFile file(path);
  const auto refuse = [&](std::uint64_t size) {
    throw IoError({.what = fmt::format("reading {} failed: it has {} bytes", path.string(), size),
                   .why = fmt::format("at most {} can be read here", most),
                   .remedy = "check that this is the file you mean, or give a smaller one"});
  };
  most = std::min(most, machine_memory());
  if (file.size() > most) refuse(file.size());
  std::string all;
  all.reserve(static_cast<std::size_t>(file.size()));
  std::vector<char> buffer(1 << 16);
  while (const std::size_t count = file.read(buffer)) {
    // A file may grow, and those of the kernel do not tell their size.
    if (count > most - all.size()) refuse(all.size() + count);
    all.append(buffer.data(), count);
  }
  return all;
}

void write_file(const fs::path& path, std::string_view bytes, const WriteObserver& observe) {
  OutputFile file(path, observe);
  file.write(bytes);
  file.finish();
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
