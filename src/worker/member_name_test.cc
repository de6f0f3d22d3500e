#include "worker/member_name.h"

#include <gtest/gtest.h>

#include "worker/charset.h"

namespace quern::worker {
namespace {

TEST(MemberNameTest, NoNameLeadsOutOfItsFolder) {
  EXPECT_EQ(plain_name("a/b.txt"), "a/b.txt");
  EXPECT_EQ(plain_name("../../etc/passwd"), "etc/passwd");
  EXPECT_EQ(plain_name("/etc/passwd"), "etc/passwd");
  EXPECT_EQ(plain_name("a//./b/../c"), "a/b/c");
  EXPECT_EQ(plain_name("..."), "...");
  EXPECT_EQ(plain_name("../.."), "");
  EXPECT_EQ(plain_name(""), "");
}

TEST(MemberNameTest, ValidUtf8StaysAsItIs) {
  EXPECT_EQ(decoded_name("Größe.txt", "IBM437"), "Größe.txt");
}

TEST(MemberNameTest, OldNamesAreDecodedByTheirCharset) {
  EXPECT_EQ(decoded_name("Gr\x94\xE1"
                         "e.txt",
                         "IBM437"),
            "Größe.txt");
  EXPECT_EQ(decoded_name("Gr\xF6\xDF"
                         "e.txt",
                         "WINDOWS-1252"),
            "Größe.txt");
  // A charset that nobody knows loses no name.
  EXPECT_EQ(decoded_name("a\xFF", "no such"), "a\xEF\xBF\xBD");
}

TEST(MemberNameTest, TheCharsetIsGuessedFromAllNamesTogether) {
  EXPECT_EQ(charset_of_names({"Gr\x94\xE1"
                              "e.txt",
                              "M\x81nchen.txt"}),
            "IBM437");
  EXPECT_EQ(charset_of_names({"Gr\xF6\xDF"
                              "e.txt",
                              "M\xFCnchen.txt"}),
            "WINDOWS-1252");
  const std::string name =
      "\x93\xFA\x96\x7B\x8C\xEA\x82\xCC\x95\xB6\x8F\x91\x82\xBB\x82\xCC\x88\xEA.txt";
  const std::string charset = charset_of_names({name});
  EXPECT_EQ(decoded_name(name, charset), "日本語の文書その一.txt");
}

TEST(MemberNameTest, AFileInsideACompressedOneLosesTheSuffix) {
  EXPECT_EQ(name_inside("a/b.txt.gz"), "b.txt");
  EXPECT_EQ(name_inside("b.tgz"), "b.tar");
  EXPECT_EQ(name_inside("B.TXT.BZ2"), "B.TXT");
  EXPECT_EQ(name_inside("plain"), "plain");
  EXPECT_EQ(name_inside(".gz"), ".gz");
}

}  // namespace
}  // namespace quern::worker
