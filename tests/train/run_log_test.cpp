#include "steepest/train/run_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "steepest/base/error.h"
#include "tests/support/temporary_folder.h"

namespace steepest::train {
namespace {

using test::slurp;
using test::TemporaryFolder;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

TEST(RunLog, WritesToTheFileAndToPeople) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "log.txt";
  char* shown = nullptr;
  std::size_t size = 0;
  std::FILE* out = ::open_memstream(&shown, &size);
  Progress progress(out, false, std::chrono::milliseconds(0));
  {
    RunLog log(path, progress);
    log.info("begun with {braces}");
    log.warn("careful");
    log.detail("only in the file");
    log.error("at the end");
  }
  std::fclose(out);
  EXPECT_STREQ(shown, "begun with {braces}\nwarning: careful\n");
  std::free(shown);
  const std::string text = slurp(path);
  EXPECT_THAT(text, MatchesRegex("[0-9-]+T[0-9:.]+[+-][0-9:]+ info begun with .braces.\n.*"));
  EXPECT_THAT(text, HasSubstr(" warning careful\n"));
  EXPECT_THAT(text, HasSubstr(" info only in the file\n"));
  EXPECT_THAT(text, HasSubstr(" error at the end\n"));
}

TEST(RunLog, AppendsAndTwoLogsAreApart) {
  const TemporaryFolder folder;
  Progress silent(nullptr, false, std::chrono::milliseconds(0));
  { RunLog(folder.path() / "a.txt", silent).info("first"); }
  RunLog a(folder.path() / "a.txt", silent), b(folder.path() / "b.txt", silent);
  a.info("second");
  b.info("other");
  EXPECT_THAT(slurp(folder.path() / "a.txt"), HasSubstr("first"));
  EXPECT_THAT(slurp(folder.path() / "a.txt"), HasSubstr("second"));
  EXPECT_THAT(slurp(folder.path() / "a.txt"), Not(HasSubstr("other")));
}

TEST(RunLog, NamesAFileThatCannotBeWritten) {
  Progress silent(nullptr, false, std::chrono::milliseconds(0));
  try {
    RunLog log("/proc/nothing/log.txt", silent);
    FAIL();
  } catch (const IoError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'/proc/nothing/log.txt' cannot be written; "));
  }
}

}  // namespace
}  // namespace steepest::train
