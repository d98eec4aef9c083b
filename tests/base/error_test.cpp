#include "steepest/base/error.h"

#include <gtest/gtest.h>

namespace steepest {
namespace {

TEST(Error, JoinsWhatWhyAndRemedy) {
  EXPECT_EQ((Problem{"a is 1", "it must be 2", "set it"}.text()), "a is 1; it must be 2; set it");
  EXPECT_EQ((Problem{"a is 1", "", "set it"}.text()), "a is 1; set it");
  EXPECT_EQ((Problem{"a is 1", "", ""}.text()), "a is 1");
}

TEST(Error, ListsEveryProblemOnALineOfItsOwn) {
  const ConfigError error(std::vector<Problem>{{"one", "", ""}, {"two", "because", ""}});
  EXPECT_STREQ(error.what(), "one\ntwo; because");
  EXPECT_EQ(error.problems().size(), 2u);
}

TEST(Error, KindsHaveNamesAndStatuses) {
  const auto check = [](const Error& error, std::string_view kind, int status) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_EQ(error.exit_status(), status);
  };
  const Problem problem{"x", "", ""};
  check(ConfigError(problem), "ConfigError", 2);
  check(ShapeError(problem), "ShapeError", 1);
  check(DtypeError(problem), "DtypeError", 1);
  check(LayoutError(problem), "LayoutError", 1);
  check(StateError(problem), "StateError", 1);
  check(NonFiniteError(problem), "NonFiniteError", 1);
  check(CommError(problem), "CommError", 3);
  check(RankMismatchError(problem), "RankMismatchError", 3);
  check(CheckpointError(problem), "CheckpointError", 2);
  check(IoError(problem), "IoError", 2);
}

}  // namespace
}  // namespace steepest
