// Ebook: books as documents, and what is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "worker/archive_maker.h"
#include "worker/step_harness.h"
#include "worker/steps.h"

namespace quern::worker {
namespace {

using model::ErrorKind;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string fiction_book() {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
         "<FictionBook xmlns=\"http://www.gribuser.ru/xml/fictionbook/2.0\"><description>"
         "<title-info><author><first-name>Some</first-name><last-name>Body</last-name></author>"
         "<book-title>The book</book-title><annotation><p>About "
         "it.</p></annotation></title-info></description><body><section>"
         "<title><p>Chapter one</p></title><p>It was a well-known day.</p><p>Second.</p>"
         "</section></body></FictionBook>";
}

constexpr char kContainer[] =
    "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container' version='1.0'><rootfiles>"
    "<rootfile full-path='content.opf' media-type='application/oebps-package+xml'/></rootfiles>"
    "</container>";
constexpr char kPackage[] =
    "<package xmlns='http://www.idpf.org/2007/opf' version='2.0'><metadata "
    "xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:title>An EPUB</dc:title><dc:creator>Some "
    "Body</dc:creator></metadata><manifest><item id='a' href='a.xhtml' "
    "media-type='application/xhtml+xml'/></manifest><spine><itemref idref='a'/></spine></package>";

std::string epub(const std::string& paragraphs, const std::string& more_name = "mimetype",
                 const std::string& more = "application/epub+zip") {
  return make_archive("zip", "none",
                      {{more_name, more},
                       {"META-INF/container.xml", kContainer},
                       {"content.opf", kPackage},
                       {"a.xhtml",
                        "<html xmlns='http://www.w3.org/1999/xhtml'><head>"
                        "<title>t</title></head><body>" +
                            paragraphs + "</body></html>"}});
}

StepRun run_book(const std::string& bytes, const char* type) {
  StepTask task;
  task.filename = "book";
  task.detected_type = type;
  return run_task(ebook_step(), task, bytes);
}

TEST(EbookTest, AFictionBookIsADocumentWhoseParagraphsAreWhole) {
  const StepRun run = run_book(fiction_book(), "application/x-fictionbook+xml");
  ASSERT_FALSE(run.end) << run.end->message;
  EXPECT_THAT(run.part("0.txt"), HasSubstr("Chapter one"));
  EXPECT_THAT(run.part("0.txt"), HasSubstr("It was a well-known day.\nSecond."));
  EXPECT_THAT(run.part("0.blob"), StartsWith("%PDF-"));
  EXPECT_TRUE(run.has("0-thumbnail.jpg"));
  EXPECT_THAT(run.part("0.txt"), StartsWith("About it.\n"));
  EXPECT_THAT(run.part("0.json"), HasSubstr(R"("Title":"The book","Author":"Some Body")"));
}

TEST(EbookTest, AnEpubIsADocument) {
  std::string sentence;
  for (int i = 0; i < 50; ++i) sentence += "a paragraph longer than a line, ";
  const StepRun run = run_book(epub("<p>" + sentence + "end.</p>"), "application/epub+zip");
  ASSERT_FALSE(run.end) << run.end->message;
  EXPECT_THAT(run.part("0.txt"), HasSubstr(sentence + "end.\n"));
  EXPECT_THAT(run.part("0.json"), HasSubstr(R"("Title":"An EPUB","Author":"Some Body")"));
}

TEST(EbookTest, ALockedBookIsEncrypted) {
  const std::string locks =
      "<encryption xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><EncryptedData "
      "xmlns='http://www.w3.org/2001/04/xmlenc#'><EncryptionMethod "
      "Algorithm='http://www.w3.org/2001/04/xmlenc#aes128-cbc'/></EncryptedData></encryption>";
  const StepRun run =
      run_book(epub("<p>x</p>", "META-INF/rights.xml", locks), "application/epub+zip");
  ASSERT_TRUE(run.end);
  EXPECT_EQ(run.end->kind, ErrorKind::Encrypted) << run.end->message;
}

TEST(EbookTest, WhatIsNoBookIsCorrupt) {
  for (const char* type : {"application/epub+zip", "application/x-fictionbook+xml",
                           "application/x-mobipocket-ebook", "application/oxps"}) {
    for (const std::string bytes : {"", "no book", "PK\x03\x04 cut", "<FictionBook><body>"}) {
      const StepRun run = run_book(bytes, type);
      if (run.end) EXPECT_EQ(run.end->kind, ErrorKind::Corrupt) << run.end->message;
      EXPECT_TRUE(run.end || run.has("0.blob"));
    }
  }
}

TEST(EbookTest, TheSameBytesGiveTheSamePartsOnAnyDay) {
  const StepRun first = run_book(fiction_book(), "application/x-fictionbook+xml");
  ::setenv("TZ", "Asia/Tokyo", 1);
  ::tzset();
  const timespec pause{1, 100'000'000};
  ::nanosleep(&pause, nullptr);
  EXPECT_EQ(run_book(fiction_book(), "application/x-fictionbook+xml").parts, first.parts);
  ::unsetenv("TZ");
}

}  // namespace
}  // namespace quern::worker
