#include "steepest/base/hash.h"

#include <gtest/gtest.h>

#include <string>

namespace steepest {
namespace {

// XXH3_64bits of the empty input, from the reference's own test vectors.
TEST(Hash, GivesKnownAnswers) {
  EXPECT_EQ(checksum(""), "2d06800538d394c2");
  EXPECT_EQ(checksum("a"), "e6c632b61e964e1f");
  EXPECT_EQ(checksum("abc"), "78af5f94892f3950");
}

TEST(Hash, PartsGiveTheSameAsTheWhole) {
  const std::string bytes(5000, 'x');
  Checksum sum;
  for (const std::size_t size : {0u, 1u, 999u, 4000u}) sum.add(bytes.substr(0, size));
  EXPECT_EQ(sum.text(), checksum(bytes));
  sum.reset();
  EXPECT_EQ(sum.text(), checksum(""));
}

TEST(Hash, NoticesOneBit) { EXPECT_NE(checksum("abcd"), checksum("abce")); }

}  // namespace
}  // namespace steepest
