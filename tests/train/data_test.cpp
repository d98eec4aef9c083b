#include "steepest/train/data.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "steepest/base/error.h"
#include "tests/support/temporary_folder.h"

namespace steepest::train {
namespace {

using test::TemporaryFolder;
using test::write;

std::string counting_text(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i % 251);
  return text;
}

TEST(TextData, SplitsByPosition) {
  // The King James Bible's split as the anchor has it: 3,724,065 and 413,785 bytes.
  const auto data =
      TextData::from_text(std::string(4137850, 'x'), {.validation_fraction = 0.1}, 128, "t");
  EXPECT_EQ(data.training().size(), 3724065u);
  EXPECT_EQ(data.held_out().size(), 413785u);
}

TEST(TextData, SpacesValidationWindowsEvenlyFromFirstToLast) {
  const DatasetConfig config{.validation_fraction = 0.5, .validation_windows = 5};
  const auto data =
      TextData::from_text(counting_text(90), config, 4, "t");  // 45 held out, windows of 5
  EXPECT_EQ(data.validation_starts(), (std::vector<std::int64_t>{0, 10, 20, 30, 40}));
  std::vector<std::int64_t> out(10);
  data.fill_validation(3, 2, out);
  EXPECT_EQ(out, (std::vector<std::int64_t>{75, 76, 77, 78, 79, 85, 86, 87, 88, 89}));
}

TEST(TextData, BytesAbove127ArePositiveTokens) {
  const auto data =
      TextData::from_text(std::string(20, '\xFF'), {.validation_fraction = 0.5}, 2, "t");
  std::vector<std::int64_t> out(3);
  data.fill_training(1, 0, 0, 1, 1, out);
  EXPECT_EQ(out, (std::vector<std::int64_t>{255, 255, 255}));
}

TEST(TextData, WindowsDependOnStepAndIndexAlone) {
  const auto data = TextData::from_text(counting_text(1000), {.validation_fraction = 0.1}, 8, "t");
  std::vector<std::int64_t> whole(4 * 9), first(2 * 9), second(2 * 9);
  data.fill_training(7, 3, 0, 4, 4, whole);
  data.fill_training(7, 3, 0, 2, 4, first);
  data.fill_training(7, 3, 2, 2, 4, second);
  first.insert(first.end(), second.begin(), second.end());
  EXPECT_EQ(whole, first);
  std::vector<std::int64_t> other_step(4 * 9), other_seed(4 * 9);
  data.fill_training(7, 4, 0, 4, 4, other_step);
  data.fill_training(8, 3, 0, 4, 4, other_seed);
  EXPECT_NE(whole, other_step);
  EXPECT_NE(whole, other_seed);
}

TEST(TextData, ReachesEveryTrainingWindowAndNoHeldOutByte) {
  const auto data = TextData::from_text(counting_text(40), {.validation_fraction = 0.5}, 4, "t");
  std::set<std::int64_t> starts;
  for (std::int64_t step = 0; step < 500; ++step) starts.insert(data.training_start(1, step, 0, 1));
  EXPECT_EQ(*starts.begin(), 0);
  EXPECT_EQ(*starts.rbegin(), 15);  // 20 training bytes, windows of 5
  EXPECT_EQ(starts.size(), 16u);
}

TEST(TextData, ReadsAFolderInTheOrderOfPathsWithoutHiddenFiles) {
  const TemporaryFolder folder;
  write(folder.path() / "b.txt", "bbbb");
  write(folder.path() / "a" / "z.txt", "zzzz");
  write(folder.path() / "a.txt", "aaaa");
  write(folder.path() / ".hidden", "hhhh");
  write(folder.path() / ".git" / "config", "gggg");
  const auto data = TextData::load(
      {.path = folder.path().string(), .validation_fraction = 0.5, .validation_windows = 1}, 2);
  EXPECT_EQ(std::string(data.training()) + std::string(data.held_out()), "zzzzaaaabbbb");
}

TEST(TextData, ChecksumFollowsTheText) {
  const DatasetConfig config{.validation_fraction = 0.5};
  const auto one = TextData::from_text("abcdefghij", config, 2, "t");
  const auto same = TextData::from_text("abcdefghij", config, 2, "u");
  const auto other = TextData::from_text("abcdefghiJ", config, 2, "t");
  EXPECT_EQ(one.checksum(), same.checksum());
  EXPECT_NE(one.checksum(), other.checksum());
}

std::string problem_of(const DatasetConfig& config, std::int64_t context) {
  try {
    TextData::load(config, context);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TextData, RefusesByName) {
  const TemporaryFolder folder;
  const std::string missing = (folder.path() / "nothing.txt").string();
  EXPECT_EQ(problem_of({.path = missing}, 8),
            "dataset.path: there is no file or folder '" + missing +
                "'; give a text with --set dataset.path=FILE_OR_FOLDER");
  const auto empty = folder.path() / "empty.txt";
  write(empty, "");
  EXPECT_EQ(problem_of({.path = empty.string()}, 8),
            "dataset.path: '" + empty.string() +
                "' is empty; there is nothing to learn from; give a text with --set "
                "dataset.path=FILE_OR_FOLDER");
  const auto bare = folder.path() / "bare";
  std::filesystem::create_directory(bare);
  EXPECT_EQ(problem_of({.path = bare.string()}, 8),
            "dataset.path: the folder '" + bare.string() +
                "' holds no file; give a folder with text in it");
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& endless : {std::string("/dev/zero"), pipe.string()})
    EXPECT_EQ(problem_of({.path = endless}, 8),
              "dataset.path: '" + endless +
                  "' is neither a file nor a folder; a device or a pipe has no end that is known "
                  "before it is read; write the text to a file and give that");
  std::filesystem::copy_file(empty, bare / "empty.txt");
  EXPECT_EQ(problem_of({.path = bare.string()}, 8),
            "dataset.path: '" + bare.string() +
                "' is empty; there is nothing to learn from; give a text with --set "
                "dataset.path=FILE_OR_FOLDER");
  const auto brief = folder.path() / "brief.txt";
  write(brief, std::string(80, 'x'));
  EXPECT_EQ(problem_of({.path = brief.string()}, 8),
            "dataset.path: '" + brief.string() +
                "' is too short: its 80 bytes leave 8 for the held-out part; a window takes 9 "
                "bytes, the context of 8 "
                "and one more; give a longer text, or lower model.context");
  EXPECT_EQ(problem_of({.path = brief.string()}, 7), "no error");
}

}  // namespace
}  // namespace steepest::train
