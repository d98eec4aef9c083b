#include "steepest/base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
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
  EXPECT_ERROR(
      IoError, read_file(folder / "no"),
      "reading " + (folder / "no").string() + " failed: No such file or directory; check the path");
  EXPECT_ERROR(IoError, read_file(folder),
               "reading " + folder.string() + " failed: Is a directory; give the path of a file");
}

// None of these has an end that is known before: no waiting, no endless reading.
TEST_F(FilesTest, WhatIsNoFileIsRefusedAtOnce) {
  const auto refused = [](const fs::path& path, const std::string& kind) {
    return "reading " + path.string() + " failed: it is " + kind +
           "; only a file has an end that is known before it is read; write its content to a file "
           "and give that";
  };
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_ERROR(IoError, read_file(folder / "pipe"), refused(folder / "pipe", "a pipe"));
  EXPECT_ERROR(IoError, read_file("/dev/zero"), refused("/dev/zero", "a device"));
  EXPECT_ERROR(IoError, read_file("/dev/null"), refused("/dev/null", "a device"));
  fs::create_symlink("/dev/zero", folder / "link");
  EXPECT_ERROR(IoError, read_file(folder / "link"), refused(folder / "link", "a device"));
  fs::create_symlink(folder / "loop", folder / "loop");
  EXPECT_ERROR(IoError, read_file(folder / "loop"),
               "reading " + (folder / "loop").string() +
                   " failed: Too many levels of symbolic links; give another path");
}

TEST_F(FilesTest, MoreThanFitsIsRefusedBeforeItIsRead) {
  write_file(folder / "x", "12345");
  EXPECT_EQ(read_file(folder / "x", 5), "12345");
  EXPECT_ERROR(IoError, read_file(folder / "x", 4),
               "reading " + (folder / "x").string() +
                   " failed: it has 5 bytes; at most 4 can be read here; check that this is the "
                   "file you mean, or give a smaller one");
  // A file of 8 TiB that takes no room on the disk.
  fs::resize_file(folder / "x", std::uintmax_t{8} << 40);
  EXPECT_THROW(read_file(folder / "x"), IoError);
  // One that does not tell its size.
  EXPECT_GT(read_file("/proc/self/status").size(), 100u);
  EXPECT_THROW(read_file("/proc/self/status", 100), IoError);
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
               "creating " + (folder / "file" / "below").string() +
                   " failed: Not a directory; "
                   "a part of the path is a file: give another path");
  EXPECT_ERROR(IoError, write_file(folder / "none" / "x", "a"),
               "writing " + (folder / "none" / "x").string() +
                   " failed: No such file or directory; check the path");
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
