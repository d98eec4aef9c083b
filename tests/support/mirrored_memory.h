#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace steepest::test {

/// Address space for very large tensors that costs little memory: the first `mirrored` bytes are
/// the same 4 MiB again and again, the `own` bytes after them are memory of their own. All zero.
class MirroredMemory {
 public:
  static constexpr std::size_t kMirror = std::size_t{1} << 22;

  MirroredMemory(std::size_t mirrored, std::size_t own) : size_(mirrored + own) {
    const int file = ::memfd_create("mirror", 0);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(kMirror)) != 0) return;
    void* all = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return;
    data_ = static_cast<std::byte*>(all);
    for (std::size_t at = 0; at < mirrored; at += kMirror)
      if (::mmap(data_ + at, kMirror, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) ==
          MAP_FAILED)
        ADD_FAILURE() << "cannot map the mirror";
    ::close(file);
  }
  ~MirroredMemory() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  MirroredMemory(const MirroredMemory&) = delete;
  MirroredMemory& operator=(const MirroredMemory&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
};

}  // namespace steepest::test
