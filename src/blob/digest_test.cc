#include "blob/digest.h"

#include <gtest/gtest.h>

namespace quern::blob {
namespace {

TEST(DigestTest, GivesTheKnownValues) {
  EXPECT_EQ(hex_of(sha256_of("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_of(sha256_of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_of(sha1_of("")), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(hex_of(sha1_of("abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
}

TEST(DigestTest, PiecesAreTheSameAsTheWhole) {
  Digest digest(Digest::Kind::Sha256);
  for (const char* piece : {"", "a", "", "bc"}) digest.add(piece);
  EXPECT_EQ(digest.finish(), sha256_of("abc"));
}

}  // namespace
}  // namespace quern::blob
