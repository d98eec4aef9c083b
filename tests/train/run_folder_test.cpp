#include "steepest/train/run_folder.h"

#include <gtest/gtest.h>

#include "steepest/base/error.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace steepest::train {
namespace {

using test::slurp;
using test::TemporaryFolder;
using test::write;
namespace fs = std::filesystem;

TEST(RunFolder, IsMadeWithItsParents) {
  const TemporaryFolder base;
  const RunFolder run(base.path() / "a" / "b");
  EXPECT_FALSE(run.holds_run());
  (void)run.open(false);
  EXPECT_TRUE(fs::is_directory(run.root()));
  EXPECT_TRUE(fs::is_empty(run.root()));
  run.write_recipe("seed: 1\n");
  EXPECT_EQ(slurp(run.root() / "recipe.yaml"), "seed: 1\n");
  EXPECT_TRUE(run.holds_run());
}

TEST(RunFolder, RefusesARunThatIsNotToBeResumed) {
  const TemporaryFolder base;
  const RunFolder run(base.path());
  write(run.metrics(), "");
  try {
    (void)run.open(false);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()), "'" + base.path().string() +
                                             "' holds a run already; a second run would overwrite "
                                             "it; go on with --resume, or give another folder "
                                             "with --out DIR");
  }
  (void)run.open(true);
}

TEST(RunFolder, RefusesAFile) {
  const TemporaryFolder base;
  write(base.path() / "file", "x");
  try {
    (void)RunFolder(base.path() / "file").open(true);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()),
              "'" + (base.path() / "file").string() +
                  "' is not a folder; a run takes a folder of its own; give another with "
                  "--out DIR");
  }
}

TEST(RunFolder, RefusesAFolderThatCannotBeWritten) {
  // /proc takes no folders from anybody, root included.
  EXPECT_ERROR(IoError, (void)RunFolder("/proc/steepest-run").open(false),
               "creating /proc/steepest-run failed: No such file or directory; check the path");
}

TEST(RunFolder, DefaultIsNamedByTheRecipe) {
  EXPECT_EQ(default_run_folder("recipes/gpt-long.yaml"), fs::path("runs/gpt-long"));
  EXPECT_EQ(default_run_folder("/x/y.yml"), fs::path("runs/y"));
}

TEST(RunFolder, IsNamedForPeople) {
  EXPECT_EQ(RunFolder("runs/a").name(), "a");
  EXPECT_EQ(RunFolder("runs/a/").name(), "a");
  EXPECT_EQ(RunFolder("runs/a/../b/.").name(), "b");
  EXPECT_EQ(RunFolder(".").name(), fs::current_path().filename().string());
}

TEST(RunFolder, CurvesNeedARun) {
  const TemporaryFolder base;
  const RunFolder run(base.path() / "run");
  const std::string remedy =
      "; there is no curve to draw beside this run's; give the folder of a run, such as "
      "runs/gpt-adamw";
  EXPECT_ERROR(ConfigError, run.require_curves(),
               "--compare: there is no folder '" + run.root().string() + "'" + remedy);
  fs::create_directory(run.root());
  EXPECT_ERROR(
      ConfigError, run.require_curves(),
      "--compare: '" + run.root().string() + "' holds no run: it has no metrics.jsonl" + remedy);
  write(run.metrics(), "");
  EXPECT_ERROR(ConfigError, run.require_curves(),
               "--compare: '" + run.metrics().string() + "' holds no step" + remedy);
  write(run.metrics(), "{\"step\":0,\"tokens\":0,\"val_loss\":5.5}\n");
  EXPECT_NO_THROW(run.require_curves());
}

TEST(RunFolder, BelongsToOneProcess) {
  const test::TemporaryFolder folder;
  const RunFolder run(folder.path() / "run");
  auto lock = run.open(false);
  EXPECT_ERROR(ConfigError, (void)run.open(true),
               "'" + run.root().string() +
                   "' is in use by another process; two runs in one folder would overwrite each "
                   "other's files; wait for it, or give another folder with --out DIR");
  lock.reset();
  EXPECT_NO_THROW((void)run.open(true));
}

}  // namespace
}  // namespace steepest::train
