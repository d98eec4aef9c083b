#include "steepest/train/metrics.h"

#include <gtest/gtest.h>

#include "steepest/base/error.h"
#include "tests/support/temporary_folder.h"

namespace steepest::train {
namespace {

using test::slurp;
using test::TemporaryFolder;
using test::write;

TEST(Metrics, WritesTheDocumentedKeysInOrder) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  MetricsFile file(path);
  file.append({.step = 0, .val_loss = 5.5});
  file.append({.step = 10,
               .tokens = 20480,
               .loss = 2.5,
               .lr = 0.25,
               .wd = 0.125,
               .grad_norm = 0.75,
               .tokens_per_second = 16000,
               .optimizer_ms = 3.5,
               .skipped = 0});
  EXPECT_EQ(
      slurp(path),
      "{\"step\":0,\"tokens\":0,\"val_loss\":5.5}\n"
      "{\"step\":10,\"loss\":2.5,\"lr\":0.25,\"wd\":0.125,\"grad_norm\":0.75,\"tokens\":20480,"
      "\"tokens_per_second\":16000.0,\"optimizer_ms\":3.5,\"skipped\":0}\n");
}

TEST(Metrics, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  MetricsFile(path).append({.step = 3, .tokens = 6, .loss = 0.1, .skipped = 2, .val_loss = 1.25});
  const auto lines = read_metrics(path);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].step, 3);
  EXPECT_EQ(lines[0].tokens, 6);
  EXPECT_EQ(lines[0].loss, 0.1);
  EXPECT_EQ(lines[0].skipped, 2);
  EXPECT_EQ(lines[0].val_loss, 1.25);
  EXPECT_FALSE(lines[0].lr.has_value());
  EXPECT_TRUE(read_metrics(folder.path() / "nothing").empty());
}

TEST(Metrics, TruncatesLaterStepsAndAnUnfinishedLine) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  const std::string kept = "{\"step\":0,\"tokens\":0}\n{\"step\":2,\"tokens\":4}\n";
  write(path, kept + "{\"step\":4,\"tokens\":8}\n{\"step\":6,\"to");
  truncate_metrics(path, 3);
  EXPECT_EQ(slurp(path), kept);
  write(path, kept + "{\"step\":4,\"to");
  truncate_metrics(path, 100);
  EXPECT_EQ(slurp(path), kept);
  truncate_metrics(path, -1);
  EXPECT_EQ(slurp(path), "");
  truncate_metrics(folder.path() / "nothing", 1);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "nothing"));
}

TEST(Metrics, AppendsBehindWhatIsThere) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  write(path, "{\"step\":1,\"tokens\":0}\n");
  MetricsFile file(path);
  file.append({.step = 2});
  file.sync();
  EXPECT_EQ(read_metrics(path).size(), 2u);
}

TEST(Metrics, NamesAFileThatCannotBeWritten) {
  try {
    MetricsFile file("/nonexistent/metrics.jsonl");
    FAIL();
  } catch (const IoError& error) {
    EXPECT_STREQ(error.what(),
                 "'/nonexistent/metrics.jsonl' cannot be written; No such file or directory; make "
                 "the folder writable, "
                 "or give another with --out");
  }
  MetricsFile full("/dev/full");
  try {
    full.append({.step = 1});
    FAIL();
  } catch (const IoError& error) {
    EXPECT_STREQ(error.what(),
                 "'/dev/full' cannot be written; No space left on device; make room on the disk, "
                 "then go on with "
                 "--resume");
  }
}

TEST(Metrics, AFailedSyncIsSaid) {
  // A device takes no sync.
  MetricsFile device("/dev/null");
  EXPECT_THROW(device.sync(), IoError);
}

}  // namespace
}  // namespace steepest::train
