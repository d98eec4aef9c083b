#include "steepest/train/curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <string>

#include "tests/support/temporary_folder.h"

namespace steepest::train {
namespace {

using test::slurp;
using test::TemporaryFolder;
using testing::HasSubstr;

Curve curve(const std::string& name) {
  return {name,
          {{.step = 0, .val_loss = 5.5},
           {.step = 10, .loss = 3.25},
           {.step = 20, .loss = 2.0, .val_loss = 2.125}}};
}

/// PATH without gnuplot while it lives.
class EmptyPath {
 public:
  EmptyPath() : earlier_(std::getenv("PATH")) { ::setenv("PATH", "/nonexistent", 1); }
  ~EmptyPath() { ::setenv("PATH", earlier_.c_str(), 1); }

 private:
  std::string earlier_;
};

TEST(Curves, ScriptHoldsBothLossesOfEveryRun) {
  const std::string script =
      curves_script({curve("muon"), curve("it's adamw")}, "svg", "/tmp/out.svg");
  EXPECT_THAT(script, HasSubstr("$train0 << EOD\n10 3.25\n20 2\nEOD\n"));
  EXPECT_THAT(script, HasSubstr("$val0 << EOD\n0 5.5\n20 2.125\nEOD\n"));
  EXPECT_THAT(script, HasSubstr("$val1"));
  EXPECT_THAT(script, HasSubstr("title 'muon held out (2.125)'"));
  EXPECT_THAT(script, HasSubstr("title 'it''s adamw training'"));
  EXPECT_THAT(script, HasSubstr("set output '/tmp/out.svg'"));
  EXPECT_THAT(script, HasSubstr("set terminal svg"));
  EXPECT_THAT(curves_script({curve("a")}, "png", "o"), HasSubstr("set terminal pngcairo"));
}

TEST(Curves, FirstLossesDoNotFlattenTheRest) {
  EXPECT_THAT(curves_script({curve("a")}, "svg", "o"),
              HasSubstr("set yrange [*:4.4]"));  // 2.2 * 2.0 < 5.5
  const Curve flat{"flat", {{.step = 0, .val_loss = 3.0}, {.step = 1, .val_loss = 2.5}}};
  EXPECT_THAT(curves_script({flat}, "svg", "o"), HasSubstr("set yrange [*:*]"));
}

TEST(Curves, NothingToDraw) {
  EXPECT_EQ(curves_script({{"empty", {}}}, "svg", "o"), "");
  EXPECT_EQ(curves_script({}, "svg", "o"), "");
}

TEST(Curves, FindsProgramsOnPath) {
  EXPECT_TRUE(find_program("sh").has_value());
  EXPECT_FALSE(find_program("no-such-program-here").has_value());
}

TEST(Curves, SaysThatGnuplotIsMissing) {
  const TemporaryFolder folder;
  const EmptyPath no_programs;
  EXPECT_EQ(draw_curves(folder.path(), {curve("a")}),
            "curves were not drawn: gnuplot is not installed (apt-get install gnuplot-nox)");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "curves.svg"));
}

TEST(Curves, DrawsSvgAndPngWhereGnuplotIs) {
  const TemporaryFolder folder;
  const auto problem = draw_curves(folder.path(), {curve("muon"), curve("adamw")});
  if (!find_program("gnuplot")) {
    EXPECT_TRUE(problem.has_value());
    return;
  }
  EXPECT_EQ(problem, std::nullopt);
  EXPECT_THAT(slurp(folder.path() / "curves.svg"), HasSubstr("muon held out (2.125)"));
  EXPECT_EQ(slurp(folder.path() / "curves.png").substr(0, 4), "\x89PNG");
}

TEST(Curves, SaysThatAFolderCannotBeWritten) {
  if (!find_program("gnuplot")) return;
  EXPECT_EQ(draw_curves("/nonexistent", {curve("a")}),
            "curves were not drawn: gnuplot could not make '/nonexistent/curves.svg'");
}

}  // namespace
}  // namespace steepest::train
