// The Office step in its box, on documents made here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/program.h"
#include "support/temp_folder.h"
#include "worker/archive_maker.h"
#include "worker/box.h"
#include "worker/flat_sheet.h"
#include "worker/office.h"
#include "worker/office_pdf.h"
#include "worker/ole_maker.h"
#include "worker/scratch_file.h"
#include "worker/scripted_server.h"

namespace quern::worker {
namespace {

using model::ErrorKind;
using ::testing::HasSubstr;

TEST(FlatSheetTest, CellsKeepTheirTextAndQuotesAreObeyed) {
  const std::string xml = flat_sheet("a,\"b, \"\"c\"\"\",<d>\n007,12,\n", ',').xml;
  EXPECT_THAT(xml, HasSubstr("<text:p>a</text:p>"));
  EXPECT_THAT(xml, HasSubstr("<text:p>b, \"c\"</text:p>"));
  EXPECT_THAT(xml, HasSubstr("<text:p>&lt;d&gt;</text:p>"));
  EXPECT_THAT(xml, HasSubstr(R"("string"><text:p>007</text:p>)")) << "zeros in front stay";
  EXPECT_THAT(xml, HasSubstr(R"("float" office:value="12")"));
}

TEST(FlatSheetTest, AQuoteThatNeverEndsAndNothingAtAllAreSheetsToo) {
  EXPECT_THAT(flat_sheet("\"a,b\nc", ',').xml, HasSubstr("a,b</text:p><text:p>c"));
  EXPECT_THAT(flat_sheet("", ',').xml, HasSubstr("<table:table-cell/>"));
}

TEST(FlatSheetTest, RowsAndColumnsBeyondASheetAreCutAndItIsSaid) {
  EXPECT_TRUE(flat_sheet(std::string(kSheetColumnsMax, ','), ',').was_cut);
  EXPECT_FALSE(flat_sheet(std::string(kSheetColumnsMax - 1, ','), ',').was_cut);
  EXPECT_TRUE(flat_sheet(std::string(kSheetRowsMax + 1, '\n'), ',').was_cut);
  EXPECT_FALSE(flat_sheet(std::string(kSheetRowsMax, '\n'), ',').was_cut);
}

TEST(FlatSheetTest, TheSeparatorIsTheOneThatStandsThereMost) {
  EXPECT_EQ(separator_of("a;b;c\n1,5;2;3\n"), ';');
  EXPECT_EQ(separator_of("a\tb\n"), '\t');
  EXPECT_EQ(separator_of("a"), ',');
}

TEST(OfficePdfTest, WhatTellsTheMomentIsGoneAndNothingMoves) {
  std::string pdf =
      "%PDF-1.6\n<</CreationDate(D:20261115192229Z')>>\ntrailer\n<</ID [ <AB12>\n<CD34> ]\n"
      "/DocChecksum /99AA\n>>\nstartxref\n1\n%%EOF\n";
  const std::size_t before = pdf.size();
  forget_when_made(pdf);
  EXPECT_EQ(pdf.size(), before);
  EXPECT_THAT(pdf, HasSubstr("<<" + std::string(33, ' ') + ">>"));
  EXPECT_THAT(pdf, HasSubstr("<0000>\n<0000> ]\n/DocChecksum /0000\n"));
}

net::Task<std::pair<RunEnd, std::string>> read_all(std::shared_ptr<Run> run) {
  std::pair<RunEnd, std::string> result;
  std::string buffer(64 * 1024, '\0');
  for (;;) {
    const std::size_t n = co_await run->read(buffer);
    if (n == 0) break;
    result.second.append(buffer.data(), n);
  }
  result.first = co_await run->finish();
  co_return result;
}

class OfficeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    BoxOptions options;
    options.program = support::program_path("quern-steps");
    options.step = "Office";
    auto box = loop_.run_until(Box::start(loop_, options));
    ASSERT_TRUE(box.ok()) << box.error().message();
    box_ = *std::move(box);
  }

  std::pair<RunEnd, std::string> run(const std::string& filename, const std::string& bytes,
                                     std::int64_t job = 1) {
    return run_file(filename, *make_memory_file(bytes), bytes.size(), job);
  }
  std::pair<RunEnd, std::string> run_file(const std::string& filename, const io::Descriptor& input,
                                          std::uint64_t bytes, std::int64_t job = 1) {
    BoxTask task;
    task.json = R"({"filename":")" + filename + R"(","metadata":{}})";
    task.inputs = {input.get()};
    task.input_bytes = bytes;
    task.boundary = "BOUNDARY";
    task.job = job;
    auto run = box_->run(task);
    CHECK_OK(run);
    return loop_.run_until(read_all(*std::move(run)));
  }
  std::string pdf_of(const std::string& filename, const std::string& bytes, std::int64_t job = 1) {
    const auto [end, body] = run(filename, bytes, job);
    if (end.failure) return end.failure->message + ": " + end.note;
    const auto parts = parts_of(body + "--BOUNDARY--");
    if (parts.size() != 2) return "not two parts";
    return parts[1].second;
  }

  net::Loop loop_;
  std::unique_ptr<Box> box_;
};

const std::string kRtf = R"({\rtf1\ansi A letter, \b in bold\b0 .\par})";

TEST_F(OfficeTest, ALetterATableAndAFlatDocumentBecomePdfs) {
  EXPECT_TRUE(pdf_of("letter.rtf", kRtf).starts_with("%PDF-"));
  EXPECT_TRUE(pdf_of("table.csv", "name;town\nAda;London\n").starts_with("%PDF-"));
  EXPECT_TRUE(pdf_of("sheet.fods", flat_sheet("a,b\n1,2\n", ',').xml).starts_with("%PDF-"));
}

TEST_F(OfficeTest, TheSameDocumentGivesTheSameBytesOnAnotherDayAndInAnotherChild) {
  const std::string first = pdf_of("letter.rtf", kRtf, 1);
  ASSERT_TRUE(first.starts_with("%PDF-")) << first;
  EXPECT_EQ(pdf_of("letter.rtf", kRtf, 1), first) << "in the same child";
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // another second on the clock
  EXPECT_EQ(pdf_of("letter.rtf", kRtf, 2), first) << "in another one";
}

TEST_F(OfficeTest, BytesThatAreNoDocumentAreRefusedBeforeAnOfficeSeesThem) {
  const auto [end, body] = run("letter.docx", std::string("\x01\x02\x03\x04\xFF", 5));
  ASSERT_TRUE(end.failure.has_value());
  EXPECT_EQ(end.failure->kind, ErrorKind::Corrupt);
  EXPECT_THAT(end.failure->message, HasSubstr("no office document"));
  EXPECT_EQ(body, "");
  EXPECT_TRUE(pdf_of("letter.rtf", kRtf).starts_with("%PDF-")) << "the next one is fine";
}

TEST_F(OfficeTest, ADocumentThatAPasswordLocksIsEncrypted) {
  OleMaker locked;
  locked.stream("EncryptionInfo", std::string(600, 'i'));
  locked.stream("EncryptedPackage", std::string(5'000, 'x'));
  const auto [end, body] = run("secret.docx", locked.bytes());
  ASSERT_TRUE(end.failure.has_value());
  EXPECT_EQ(end.failure->kind, ErrorKind::Encrypted);
  EXPECT_EQ(end.failure->message, "it needs a password");
}

std::string docx(const std::string& text, const std::string& macro) {
  constexpr char kTypes[] =
      R"(<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">)"
      R"(<Default Extension="rels" ContentType="application/)"
      R"(vnd.openxmlformats-package.relationships+xml"/>)"
      R"(<Default Extension="bin" ContentType="application/vnd.ms-office.vbaProject"/>)"
      R"(<Override PartName="/word/document.xml" ContentType="application/)"
      R"(vnd.ms-word.document.macroEnabled.main+xml"/>)"
      "</Types>";
  constexpr char kLinks[] =
      R"(<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">)"
      R"(<Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/)"
      R"(relationships/officeDocument" Target="word/document.xml"/>)"
      "</Relationships>";
  ArchiveMaker zip("zip", "none");
  zip.add("[Content_Types].xml", kTypes).add("_rels/.rels", kLinks);
  zip.add("word/document.xml",
          R"(<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">)"
          "<w:body><w:p><w:r><w:t>" +
              text + "</w:t></w:r></w:p></w:body></w:document>");
  if (!macro.empty()) zip.add("word/vbaProject.bin", macro);
  return zip.finish();
}

TEST_F(OfficeTest, ADocumentWithAMacroIsThePagesWithoutIt) {
  OleMaker macro;
  macro.stream("PROJECT", "Module=AutoOpen");
  const std::string with = pdf_of("letter.docm", docx("a letter", macro.bytes()));
  ASSERT_TRUE(with.starts_with("%PDF-")) << with;
  EXPECT_EQ(with, pdf_of("letter.docm", docx("a letter", ""))) << "it changes nothing";
}

TEST_F(OfficeTest, ADocumentThatShowsTheTimeOfDayShowsTheSameOnEveryDay) {
  constexpr char kNow[] =
      R"({\rtf1\ansi Printed {\field{\*\fldinst TIME \\@ "HH:mm:ss"}{\fldrslt x}}\par})";
  const std::string first = pdf_of("now.rtf", kNow, 1);
  ASSERT_TRUE(first.starts_with("%PDF-")) << first;
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // another second on the clock
  EXPECT_EQ(pdf_of("now.rtf", kNow, 2), first);
}

TEST_F(OfficeTest, NamesOfSheetsAreMetadata) {
  const auto [end, body] = run("sheet.fods", flat_sheet("a,b\n", ',').xml);
  EXPECT_THAT(body, HasSubstr(R"("Sheets":"Table")"));
}

TEST_F(OfficeTest, AGigabyteOfTableIsCutAndTheNoteSaysSo) {
  std::string table;
  while (table.size() < (3 << 20)) table += "one,two,three,four,five,six,seven,eight,nine,ten\n";
  const support::TempFolder folder;
  const io::Descriptor file = *make_unnamed_file(folder.path().string());
  CHECK_OK(write_at(file, 0, table));
  CHECK_OK(set_size(file, 1ULL << 30));
  const auto [end, body] = run_file("huge.csv", file, 1ULL << 30);
  EXPECT_FALSE(end.failure.has_value()) << end.failure->message;
  EXPECT_THAT(end.note, HasSubstr("the table is cut after 20"));
  EXPECT_LT(end.cost.peak_kib, 1 << 20);
}

}  // namespace
}  // namespace quern::worker
