#include "steepest/base/files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>

#include "steepest/base/error.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

namespace fs = std::filesystem;

struct FilesTest : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("steepest-files-" + std::to_string(::getpid()));
  FilesTest() {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~FilesTest() override { fs::remove_all(folder); }
};

TEST_F(FilesTest, ReadsWhatWasWritten) {
  const std::string bytes("a\0b\n", 4);
  write_file(folder / "x", bytes);
  EXPECT_EQ(read_file(folder / "x"), bytes);
  write_file(folder / "x", "");
  EXPECT_EQ(read_file(folder / "x"), "");
}

TEST_F(FilesTest, SaysWhatCannotBeRead) {
  EXPECT_ERROR(IoError, read_file(folder / "no"),
               "reading " + (folder / "no").string() + " failed: No such file or directory");
  EXPECT_ERROR(IoError, read_file(folder),
               "reading " + folder.string() + " failed: Is a directory");
}

TEST_F(FilesTest, ReplacesDurablyInOrder) {
  std::vector<std::string> stages;
  replace_file(folder / "x", "new", [&](std::string_view stage) { stages.emplace_back(stage); });
  const std::string at = folder.string();
  EXPECT_EQ(stages, (std::vector<std::string>{"write " + at + "/.x.tmp", "fsync " + at + "/.x.tmp",
                                              "rename " + at + "/x", "fsync-folder " + at}));
}

// Whatever stage fails, the old content stays until the new is there whole, and nothing is left
// over.
TEST_F(FilesTest, AFailureLeavesTheOldContent) {
  for (const char* failing : {"write", "fsync ", "rename"}) {
    write_file(folder / "x", "old");
    EXPECT_THROW(replace_file(folder / "x", "new",
                              [&](std::string_view stage) {
                                if (stage.starts_with(failing)) throw std::runtime_error("stop");
                              }),
                 std::runtime_error);
    EXPECT_EQ(read_file(folder / "x"), "old") << failing;
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1)
        << failing;
  }
}

TEST_F(FilesTest, RefusesAFolderThatCannotBe) {
  write_file(folder / "file", "");
  EXPECT_ERROR(IoError, require_writable_folder(folder / "file" / "below"),
               "creating " + (folder / "file" / "below").string() + " failed: Not a directory");
  EXPECT_ERROR(
      IoError, write_file(folder / "none" / "x", "a"),
      "writing " + (folder / "none" / "x").string() + " failed: No such file or directory");
  require_writable_folder(folder / "a" / "b");
  EXPECT_TRUE(fs::is_directory(folder / "a" / "b"));
  EXPECT_TRUE(fs::is_empty(folder / "a" / "b"));
}

TEST_F(FilesTest, NamesOfNewFoldersAreSynced) {
  std::vector<std::string> stages;
  const auto note = [&](std::string_view stage) { stages.emplace_back(stage); };
  require_writable_folder(folder / "a" / "b", note);
  const std::string at = folder.string();
  EXPECT_EQ(stages, (std::vector<std::string>{"fsync-folder " + at + "/a", "fsync-folder " + at}));
  stages.clear();
  require_writable_folder(folder / "a" / "b", note);
  EXPECT_TRUE(stages.empty());
}

TEST_F(FilesTest, AFailedSyncIsSaid) {
  write_file(folder / "x", "a");
  EXPECT_NO_THROW(sync_file(folder / "x"));
  EXPECT_NO_THROW(sync_file(folder / "gone"));
  // A device takes no sync.
  try {
    sync_file("/dev/null");
    FAIL();
  } catch (const IoError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("syncing /dev/null failed: Invalid argument", 0), 0u);
  }
}

}  // namespace
}  // namespace steepest
