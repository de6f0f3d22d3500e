#include "api/download_name.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace quern::api {
namespace {

TEST(DownloadNameTest, IsTheLastComponentOfThePath) {
  EXPECT_EQ(download_name("leak.zip/letters/to ann.txt"), "to ann.txt");
  EXPECT_EQ(download_name("plain.pdf"), "plain.pdf");
  EXPECT_EQ(download_name("../../etc/passwd"), "passwd");
  EXPECT_EQ(download_name("a\\..\\b.exe"), "a_.._b.exe");
}

TEST(DownloadNameTest, ANameThatIsNoneGetsOne) {
  for (const char* name : {"", "/", "a/", "..", "a/..", " . ", "a/\n\r"}) {
    EXPECT_EQ(download_name(name), "file") << name;
  }
  EXPECT_EQ(download_name("..", ".pdf"), "file.pdf");
}

TEST(DownloadNameTest, AnEndingIsAddedOnce) {
  EXPECT_EQ(download_name("a/letter.doc", ".pdf"), "letter.doc.pdf");
  EXPECT_EQ(download_name("a/letter.PDF", ".pdf"), "letter.PDF");
}

TEST(DownloadNameTest, WhatNobodySeesIsGone) {
  EXPECT_EQ(download_name("a\r\nSet-Cookie: x=1.txt"), "aSet-Cookie_ x=1.txt");
  EXPECT_EQ(download_name(std::string("a\0b\x7F.txt", 8)), "ab.txt");
  // Turned around, this one would end with "exe.pdf".
  EXPECT_EQ(download_name("report\xE2\x80\xAE"
                          "fdp.exe"),
            "reportfdp.exe");
  EXPECT_EQ(download_name("a\xE2\x81\xA6\xD8\x9C\xC2\x85\xE2\x80\xA8\xEF\xBB\xBF.txt"), "a.txt");
  EXPECT_TRUE(is_valid_utf8(download_name("\xFF\xFE.txt")));
}

TEST(DownloadNameTest, ALongNameIsCutBetweenCharactersAndKeepsItsEnding) {
  std::string longest;
  for (int i = 0; i < 300; ++i) longest += "\xC3\xA4";
  const std::string name = download_name(longest + ".docx", ".pdf");
  EXPECT_LE(name.size(), kDownloadNameBytesMax);
  EXPECT_TRUE(name.ends_with(".docx.pdf")) << name;
  EXPECT_TRUE(is_valid_utf8(name));
  EXPECT_LE(download_name("." + longest + "." + longest).size(), kDownloadNameBytesMax);
}

TEST(DownloadNameTest, TheHeaderHasANameForOldAndForNewBrowsers) {
  EXPECT_EQ(attachment("to ann (2).txt"),
            "attachment; filename=\"to ann (2).txt\"; filename*=UTF-8''to%20ann%20%282%29.txt");
  EXPECT_EQ(attachment("M\xC3\xBCll.pdf"),
            "attachment; filename=\"M_ll.pdf\"; filename*=UTF-8''M%C3%BCll.pdf");
}

TEST(DownloadNameTest, NoNameBreaksOutOfTheHeader) {
  const std::string header = attachment(download_name("x\"; filename=\"evil.exe\r\nA: b%00;'.txt"));
  EXPECT_EQ(header,
            "attachment; filename=\"x__ filename__evil.exeA_ b_00__.txt\";"
            " filename*=UTF-8''x_%3B%20filename%3D_evil.exeA_%20b%2500%3B%27.txt");
}

}  // namespace
}  // namespace quern::api
