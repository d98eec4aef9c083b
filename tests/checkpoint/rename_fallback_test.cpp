// Saving over a checkpoint of the same step where the file system cannot exchange two names.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "steepest/base/error.h"
#include "steepest/checkpoint/checkpoint.h"
#include "tests/support/temporary_folder.h"

namespace steepest {
namespace {

using test::TemporaryFolder;
namespace fs = std::filesystem;

/// From here on, renameat2 fails in this process as on a file system without it.
bool take_away_exchange() {
  std::array<sock_filter, 4> program = {{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_renameat2},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EINVAL},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

constexpr int kNoFilter = 77;

/// The exit status, or 128 + N for signal N, of a process that does `work` without the exchange.
int without_exchange(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!take_away_exchange()) ::_exit(kNoFilter);
    try {
      work();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void save(const fs::path& parent, int mark, const WriteObserver& observe = {}) {
  CheckpointContent content;
  content.step = 3;
  content.values["mark"] = mark;
  save_checkpoint(parent, content, observe);
}

int mark_of_newest(const fs::path& parent) {
  const auto newest = newest_checkpoint(parent);
  return newest.checkpoint ? newest.checkpoint->values().value("mark", -1) : -1;
}

std::string only_name_in(const fs::path& parent) {
  std::string names;
  for (const auto& each : fs::directory_iterator(parent)) names += each.path().filename().string();
  return names;
}

TEST(RenameFallback, ReplacesTheFolderInTwoRenames) {
  const TemporaryFolder folder;
  save(folder.path(), 1);
  const int status = without_exchange([&] {
    bool twice = false;
    save(folder.path(), 2,
         [&](std::string_view stage) { twice = twice || stage.starts_with("rename again "); });
    if (!twice) ::_exit(2);
  });
  if (status == kNoFilter) GTEST_SKIP() << "system calls cannot be filtered here";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(mark_of_newest(folder.path()), 2);
  EXPECT_EQ(only_name_in(folder.path()), "step-3");
}

TEST(RenameFallback, ACrashBetweenTheTwoLosesNothing) {
  const TemporaryFolder folder;
  save(folder.path(), 1);
  const int status = without_exchange([&] {
    save(folder.path(), 2, [](std::string_view stage) {
      if (stage.starts_with("rename again ")) ::raise(SIGKILL);
    });
  });
  if (status == kNoFilter) GTEST_SKIP() << "system calls cannot be filtered here";
  EXPECT_EQ(status, 128 + SIGKILL);
  EXPECT_FALSE(fs::exists(folder.path() / "step-3"));
  EXPECT_EQ(mark_of_newest(folder.path()), 1);
  EXPECT_EQ(only_name_in(folder.path()), "step-3");
}

}  // namespace
}  // namespace steepest
