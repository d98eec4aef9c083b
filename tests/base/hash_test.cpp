#include "steepest/base/hash.h"

#include <gtest/gtest.h>

namespace steepest {
namespace {

// XXH3_64bits of the empty input, from the reference's own test vectors.
TEST(Hash, GivesKnownAnswers) {
  EXPECT_EQ(checksum(""), "2d06800538d394c2");
  EXPECT_EQ(checksum("a"), "e6c632b61e964e1f");
  EXPECT_EQ(checksum("abc"), "78af5f94892f3950");
}

TEST(Hash, NoticesOneBit) { EXPECT_NE(checksum("abcd"), checksum("abce")); }

}  // namespace
}  // namespace steepest
