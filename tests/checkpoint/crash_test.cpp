// A save that is cut off at any stage, by an exception or by kill -9, leaves the old state or the
// new one, never a mixture and never nothing.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "steepest/checkpoint/checkpoint.h"
#include "tests/checkpoint/fixture.h"
#include "tests/support/temporary_folder.h"

namespace steepest {
namespace {

namespace fs = std::filesystem;
using test::names_in;
using test::State;
using test::TemporaryFolder;
using Names = std::set<std::string>;

/// The stages of a save, in their order.
std::vector<std::string> stages_of(const State& state, const fs::path& parent) {
  std::vector<std::string> stages;
  state.save(parent, [&](std::string_view stage) { stages.emplace_back(stage); });
  return stages;
}

/// Saves in a process of its own, which kills itself at stage `kill_at` (from 0). Returns whether
/// it was killed.
bool save_killed(const State& state, const fs::path& parent, std::size_t kill_at) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::size_t stage = 0;
    try {
      state.save(parent, [&](std::string_view) {
        if (stage++ == kill_at) ::kill(::getpid(), SIGKILL);
      });
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) throw std::runtime_error("no child");
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << "the save failed by itself";
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/// Old and new state of one scenario: a newer step beside the old one, or the same step again.
struct Scenario {
  const char* name;
  std::int64_t old_step, new_step;
};
struct Crash : testing::TestWithParam<Scenario> {
  const State old{GetParam().old_step, 'a'}, next{GetParam().new_step, 'p'};
  const std::string target = "step-" + std::to_string(GetParam().new_step);
  Names want_old{"step-" + std::to_string(GetParam().old_step)};
  Names want_both{"step-" + std::to_string(GetParam().old_step), target};
};

// Data before names: every file is written and synced before the manifest, that before the folder's
// name.
TEST_P(Crash, StagesComeInADurableOrder) {
  const TemporaryFolder folder;
  old.save(folder.path());
  const std::string parent = folder.path().string(), temporary = parent + "/.tmp-" + target;
  EXPECT_EQ(
      stages_of(next, folder.path()),
      (std::vector<std::string>{
          "write " + temporary + "/optimizer.safetensors",
          "fsync " + temporary + "/optimizer.safetensors",
          "write " + temporary + "/weights.safetensors",
          "fsync " + temporary + "/weights.safetensors", "write " + temporary + "/manifest.json",
          "fsync " + temporary + "/manifest.json", "fsync-folder " + temporary,
          "rename " + parent + "/" + target, "fsync-folder " + parent}));
}

TEST_P(Crash, AnExceptionAtAnyStageLeavesOldOrNewAndNoLeftovers) {
  const TemporaryFolder scratch;
  old.save(scratch.path());
  const std::size_t count = stages_of(next, scratch.path()).size();
  for (std::size_t at = 0; at < count; ++at) {
    const TemporaryFolder folder;
    old.save(folder.path());
    std::size_t stage = 0;
    EXPECT_THROW(next.save(folder.path(),
                           [&](std::string_view) {
                             if (stage++ == at) throw std::runtime_error("stop");
                           }),
                 std::runtime_error);
    // Only the last stage, the sync of the parent, comes after the new folder is in place. Names
    // first: newest_checkpoint would clean up by itself.
    const bool arrived = at + 1 == count;
    EXPECT_EQ(names_in(folder.path()), arrived ? want_both : want_old) << at;
    const NewestCheckpoint newest = newest_checkpoint(folder.path());
    ASSERT_TRUE(newest.checkpoint) << at;
    EXPECT_TRUE(newest.refused.empty()) << at;
    EXPECT_TRUE((arrived ? next : old).is(*newest.checkpoint)) << at;
  }
}

TEST_P(Crash, AKillAtAnyStageLeavesOldOrNew) {
  const TemporaryFolder scratch;
  old.save(scratch.path());
  const std::size_t count = stages_of(next, scratch.path()).size();
  for (std::size_t at = 0; at <= count; ++at) {
    const TemporaryFolder folder;
    old.save(folder.path());
    EXPECT_EQ(save_killed(next, folder.path(), at), at < count) << at;
    const bool arrived = at + 1 >= count;
    // The folder by its own name, before anything cleans up.
    if (GetParam().old_step == GetParam().new_step) {
      EXPECT_TRUE((arrived ? next : old).is(Checkpoint::open(folder.path() / target))) << at;
    }
    const NewestCheckpoint newest = newest_checkpoint(folder.path());
    ASSERT_TRUE(newest.checkpoint) << at;
    EXPECT_TRUE(newest.refused.empty()) << at;
    EXPECT_TRUE((arrived ? next : old).is(*newest.checkpoint)) << at;
    EXPECT_EQ(names_in(folder.path()), arrived ? want_both : want_old) << at;
    // The next save is not disturbed by what was left.
    next.save(folder.path());
    EXPECT_TRUE(next.is(*newest_checkpoint(folder.path()).checkpoint)) << at;
  }
}

// A run killed again and again, each time a stage later, goes on as if it had never been.
TEST_P(Crash, KillsInARow) {
  const TemporaryFolder folder;
  old.save(folder.path());
  std::size_t at = 0;
  while (save_killed(next, folder.path(), at)) ++at;
  EXPECT_EQ(at, 9u);
  EXPECT_TRUE(next.is(*newest_checkpoint(folder.path()).checkpoint));
  EXPECT_EQ(names_in(folder.path()), want_both);
}

INSTANTIATE_TEST_SUITE_P(, Crash,
                         testing::Values(Scenario{"newer_step", 3, 4}, Scenario{"same_step", 3, 3}),
                         [](const auto& i) { return i.param.name; });

// The first save of all: nothing or the new state.
TEST(FirstSave, AKillDuringItLeavesNothingOrTheNewState) {
  const State state(1);
  for (std::size_t at = 0; at < 9; ++at) {
    const TemporaryFolder folder;
    EXPECT_TRUE(save_killed(state, folder.path() / "new", at));
    const NewestCheckpoint newest = newest_checkpoint(folder.path() / "new");
    EXPECT_EQ(newest.checkpoint.has_value(), at == 8) << at;
    EXPECT_TRUE(newest.refused.empty()) << at;
  }
}

}  // namespace
}  // namespace steepest
