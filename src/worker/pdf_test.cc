// Pdf: text as people read it, pages, what a PDF says of itself; damaged, locked and hostile ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <cstdlib>

#include "worker/letter_forms.h"
#include "worker/metadata.h"
#include "worker/pdf_document.h"
#include "worker/pdf_maker.h"
#include "worker/pdf_rewrite.h"
#include "worker/qpdf_headers.h"
#include "worker/reading_order.h"
#include "worker/step_harness.h"
#include "worker/steps.h"
#include "worker/text_layout.h"
#include "worker/text_pdf.h"

namespace quern::worker {
namespace {

using model::ErrorKind;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

StepRun run_pdf(const std::string& bytes, const Limits& limits = {}) {
  return run_step(pdf_step(), "a.pdf", bytes, limits);
}

std::string text_of(const std::string& content) {
  return run_pdf(make_pdf({{content}})).part("0.txt");
}

StepRun run_split(const std::string& bytes) {
  StepTask task;
  task.filename = "a.pdf";
  task.want_split_by_page = true;
  return run_task(pdf_step(), task, bytes);
}

TEST(PdfTest, AGoodPdfKeepsItsBytesAndGainsTextAndThumbnail) {
  const StepRun run = run_pdf(make_pdf({{line_at(72, 700, "Hello"), line_at(72, 700, "World")}}));
  ASSERT_FALSE(run.end) << run.end->message;
  EXPECT_TRUE(run.has("inherit-blob"));
  EXPECT_FALSE(run.has("0.blob"));
  EXPECT_EQ(run.part("0.txt"), "Hello\nWorld\n");
  EXPECT_THAT(run.part("0-thumbnail.jpg"), StartsWith("\xFF\xD8\xFF"));
  EXPECT_THAT(run.part("0.json"), HasSubstr(R"("contentType":"application/pdf")"));
  EXPECT_THAT(run.part("0.json"), HasSubstr(R"("wantSplitByPage":false)"));
}

TEST(PdfTest, WhatItSaysOfItselfIsMetadataThatReplacesNothing) {
  MadePdf made{{line_at(72, 700, "x")}};
  made.info =
      "/Title(A title)/Author(Somebody)/Subject(The subject)/Keywords(a, b)/Creator(A writer)"
      "/Producer(A maker)/CreationDate(D:20200327010935-04'00')/ModDate(D:2021)";
  StepTask task;
  task.filename = "a.pdf";
  task.metadata = R"({"Author":"The user's","foo":"bar"})";
  const StepRun run = run_task(pdf_step(), task, make_pdf(made));
  EXPECT_THAT(run.part("0.json"),
              HasSubstr(R"("metadata":{"Author":"The user's","foo":"bar","Title":"A title",)"
                        R"("Subject":"The subject","Keywords":"a, b","Creator":"A writer",)"
                        R"("Producer":"A maker","Creation Date":"2020-03-27T01:09:35-0400",)"
                        R"("Modification Date":"D:2021"})"));
}

TEST(PdfDateTest, DatesAreThoseOfOverview) {
  EXPECT_EQ(pdf_date("D:20200327010935-04'00'"), "2020-03-27T01:09:35-0400");
  EXPECT_EQ(pdf_date("D:20200327010935Z"), "2020-03-27T01:09:35Z");
  EXPECT_EQ(pdf_date("20200327010935+01"), "2020-03-27T01:09:35+0100");
  EXPECT_EQ(pdf_date("D:20200327"), "2020-03-27");
  EXPECT_EQ(pdf_date("D:202003270109"), "2020-03-27T01:09:00");
  EXPECT_EQ(pdf_date("yesterday"), "yesterday");
}

TEST(PdfTextTest, WordsThatALineCutsAreWhole) {
  EXPECT_EQ(text_of("BT/F 12 Tf 14 TL 72 700 Td(An exam-)Tj T*(ple of well-)Tj T*(Known)Tj"
                    " T*(1990-)Tj T*(1995)Tj ET"),
            "An example of well-\nKnown\n1990-\n1995\n");
}

TEST(PdfTextTest, BoldLettersAndShadowsThatAreDrawnTwiceAreReadOnce) {
  EXPECT_EQ(text_of(line_at(72, 700, "Hello all") + line_at(72.3, 700, "Hello all")),
            "Hello all\n");
  EXPECT_EQ(text_of(line_at(72, 700, "Shadow") + line_at(73, 699, "Shadow")), "Shadow\n");
  std::string letters;
  const double places[] = {72, 80, 86.7, 89.4, 96.1};
  for (int i = 0; i < 5; ++i) {
    const std::string letter(1, "Bolds"[i]);
    letters += line_at(places[i], 700, letter) + line_at(places[i] + 0.4, 700, letter);
  }
  EXPECT_EQ(text_of(letters), "Bolds\n");
}

TEST(PdfTextTest, TheSameWordInTwoPlacesStaysTwice) {
  EXPECT_EQ(text_of(line_at(72, 700, "again") + line_at(72, 686, "again")), "again\nagain\n");
  EXPECT_THAT(text_of(line_at(72, 700, "fill all")), HasSubstr("fill all"));
}

TEST(PdfTextTest, OtherScriptsComeBackAsTheyWereWritten) {
  for (const std::string text : {"שלום עולם", "שלום abc 123 עולם, 45", "see שלום עולם here",
                                 "漢字とかな", "Привет, мир", "مرحبا بالعالم"}) {
    const StepRun run = run_pdf(text_pdf(lay_out(text, 1)));
    EXPECT_EQ(run.part("0.txt"), text + "\n");
  }
}

TEST(PdfTextTest, RoomBetweenLettersIsABlankWhereItIsMoreThanUsual) {
  // Thousandths of a letter's size, to the left where positive.
  EXPECT_EQ(text_of("BT/F 12 Tf 72 700 Td[(Samuel)-125(returned)]TJ ET"), "Samuel returned\n");
  EXPECT_EQ(text_of("BT/F 12 Tf 72 700 Td 3 Tc(HEADING)Tj ET"), "HEADING\n");
  EXPECT_EQ(text_of("BT/F 12 Tf 72 700 Td[(W)80(AV)-40(E)]TJ ET"), "WAVE\n");
}

TEST(PdfTextTest, CellsOfATableArePartedByTabs) {
  EXPECT_EQ(text_of(line_at(72, 700, "Name") + line_at(300, 700, "Place")), "Name\tPlace\n");
}

std::u32string in_reading_order(std::vector<PlacedLetter> line) {
  to_reading_order(line);
  std::u32string letters;
  for (const PlacedLetter& placed : line) letters += placed.letter;
  return letters;
}

TEST(ReadingOrderTest, PlacesDecideWhicheverWayLettersWereDrawn) {
  // As seen from left to right; as read; words as read, their letters as seen.
  EXPECT_EQ(in_reading_order({{U'ג', 1}, {U'ב', 2}, {U'א', 3}}), U"אבג");
  EXPECT_EQ(in_reading_order({{U'א', 3}, {U'ב', 2}, {U'ג', 1}}), U"אבג");
  EXPECT_EQ(in_reading_order({{U'ג', 5}, {U'ב', 6}, {U'א', 7}, {U' ', 4}, {U'ה', 2}, {U'ד', 3}}),
            U"אבג דה");
  EXPECT_EQ(in_reading_order({{U'a', 1}, {U'b', 2}}), U"ab");
}

TEST(PdfTextTest, LettersBelowOneAnotherAreALine) {
  const std::string text = "縦\n書\nき";
  EXPECT_EQ(run_pdf(text_pdf(lay_out(text, 1))).part("0.txt"), "縦書き\n");
}

TEST(LetterFormsTest, ShapesOfLettersAreTheLettersThemselves) {
  std::u32string letters;
  for (const char32_t c : U"\uFEB3\uFEFC\uFEE1 \uFB58\uFB93 \uFB01\uFB04 \uFE70\u0628a") {
    if (c != 0) append_plain(letters, c);
  }
  EXPECT_EQ(letters, U"\u0633\u0644\u0627\u0645 \u067E\u06AF fiffl \uFE70\u0628a");
  std::u32string all;
  for (char32_t c = 0xFE80; c <= 0xFEFC; ++c) append_plain(all, c);
  for (const char32_t c : all) EXPECT_TRUE(c >= 0x621 && c <= 0x64A) << static_cast<unsigned>(c);
}

TEST(PdfTest, ATextOfSeveralPagesSaysWhereEachEnds) {
  const MadePdf made{{line_at(72, 700, "One"), "", line_at(72, 700, "Three")}};
  const StepRun run = run_pdf(make_pdf(made));
  EXPECT_EQ(run.part("0.txt"), "One\nThree\n");
  EXPECT_THAT(run.part("0.json"), HasSubstr(R"("pageEnds":[4,4,10])"));
  EXPECT_THAT(run_pdf(make_pdf({{line_at(72, 700, "One")}})).part("0.json"),
              Not(HasSubstr("pageEnds")));
  EXPECT_THAT(run_split(make_pdf(made)).part("0.json"), Not(HasSubstr("pageEnds")));
}

TEST(PdfTest, ManyPagesAreReadInTheirOrder) {
  constexpr int kPages = 2'000;
  MadePdf made;
  std::string expected;
  for (int i = 1; i <= kPages; ++i) {
    made.contents.push_back(line_at(72, 700, fmt::format("Page {} of many", i)));
    expected += fmt::format("Page {} of many\n", i);
  }
  const StepRun run = run_pdf(make_pdf(made));
  ASSERT_FALSE(run.end) << run.end->message;
  EXPECT_EQ(run.part("0.txt"), expected);
}

TEST(PdfHostileTest, PagesBeyondTheLimitAreCountedWhateverItSays) {
  MadePdf made;
  made.contents.assign(kPdfPagesMax + 1, "");
  made.count = 1;
  const StepRun run = run_pdf(make_pdf(made));
  ASSERT_TRUE(run.end);
  EXPECT_EQ(run.end->kind, ErrorKind::TooMany) << run.end->message;
}

TEST(PdfTextTest, ATextBeyondItsLimitIsCut) {
  Limits limits;
  limits.text_characters = 7;
  const MadePdf made{{line_at(72, 700, "Hello"), line_at(72, 700, "World")}};
  EXPECT_EQ(run_pdf(make_pdf(made), limits).part("0.txt"), "Hello\nWo\n");
}

TEST(PdfSplitTest, EachPageIsADocumentWithItsNumber) {
  const MadePdf made{{line_at(72, 700, "One"), line_at(72, 700, "Two")}};
  const StepRun run = run_split(make_pdf(made));
  ASSERT_FALSE(run.end) << run.end->message;
  EXPECT_EQ(run.part("0.txt"), "One\n");
  EXPECT_EQ(run.part("1.txt"), "Two\n");
  EXPECT_THAT(run.part("0.json"), HasSubstr(R"("pageNumber":1)"));
  EXPECT_THAT(run.part("1.json"), HasSubstr(R"("pageNumber":2)"));
  EXPECT_TRUE(run.has("1-thumbnail.jpg"));
  const StepRun second = run_pdf(run.part("1.blob"));
  EXPECT_EQ(second.part("0.txt"), "Two\n");
  EXPECT_EQ(run.parts.back().first, "progress");
}

// With one file that is packed, and one that is pinned to the page.
std::string pdf_with_files(const std::string& file) {
  std::string pdf = make_pdf({{line_at(72, 700, "See the files")}});
  QPDF qpdf;
  qpdf.processMemoryFile("input", pdf.data(), pdf.size());
  const auto specification = [&](const std::string& name, const std::string& bytes) {
    QPDFObjectHandle stream = QPDFObjectHandle::newStream(&qpdf, bytes);
    QPDFObjectHandle files = QPDFObjectHandle::newDictionary();
    files.replaceKey("/F", stream);
    QPDFObjectHandle made = QPDFObjectHandle::parse("<</Type/Filespec>>");
    made.replaceKey("/F", QPDFObjectHandle::newUnicodeString(name));
    made.replaceKey("/EF", files);
    return qpdf.makeIndirectObject(made);
  };
  QPDFObjectHandle names = QPDFObjectHandle::parse("<</EmbeddedFiles<</Names[(a)]>>>>");
  names.getKey("/EmbeddedFiles").getKey("/Names").appendItem(specification("../a.txt", file));
  qpdf.getRoot().replaceKey("/Names", names);
  QPDFObjectHandle note =
      QPDFObjectHandle::parse("<</Type/Annot/Subtype/FileAttachment/Rect[0 0 9 9]>>");
  note.replaceKey("/FS", specification("", "pinned"));
  QPDFObjectHandle notes = QPDFObjectHandle::newArray();
  notes.appendItem(note);
  QPDFObjectHandle page = qpdf.getAllPages().at(0);
  page.replaceKey("/Annots", notes);
  QPDFWriter writer(qpdf);
  Pl_Buffer out("output");
  writer.setOutputPipeline(&out);
  writer.setDeterministicID(true);
  writer.write();
  const auto buffer = out.getBufferSharedPointer();
  return {reinterpret_cast<const char*>(buffer->getBuffer()), buffer->getSize()};
}

TEST(PdfAttachmentTest, FilesThatAPdfCarriesAreChildren) {
  for (const bool split : {false, true}) {
    StepTask task;
    task.filename = "a.pdf";
    task.want_split_by_page = split;
    const StepRun run = run_task(pdf_step(), task, pdf_with_files("attached"));
    ASSERT_FALSE(run.end) << run.end->message;
    EXPECT_THAT(run.part("0.txt"), StartsWith("See the files\n"));
    EXPECT_THAT(run.part("1.json"), HasSubstr(R"("filename":"a.pdf/a.txt")"));
    EXPECT_EQ(run.part("1.blob"), "attached");
    EXPECT_THAT(run.part("2.json"), HasSubstr(R"("filename":"a.pdf/attachment-2")"));
    EXPECT_EQ(run.part("2.blob"), "pinned");
  }
}

TEST(PdfAttachmentTest, AFileThatExpandsBeyondReasonIsAnErrorOfItsOwn) {
  Limits limits;
  limits.ratio = 10;
  limits.ratio_from_bytes = 100'000;
  const StepRun run = run_pdf(pdf_with_files(std::string(1'000'000, '\0')), limits);
  ASSERT_FALSE(run.end);
  EXPECT_THAT(run.part("1.error"), HasSubstr(R"("kind":"ratio")"));
  EXPECT_EQ(run.part("2.blob"), "pinned");
  limits.members = 1;
  const StepRun many = run_pdf(pdf_with_files("attached"), limits);
  ASSERT_TRUE(many.end);
  EXPECT_EQ(many.end->kind, ErrorKind::TooMany);
}

std::string encrypted(const std::string& pdf, const char* password) {
  QPDF qpdf;
  qpdf.processMemoryFile("input", pdf.data(), pdf.size());
  QPDFWriter writer(qpdf);
  Pl_Buffer out("output");
  writer.setOutputPipeline(&out);
  writer.setR6EncryptionParameters(password, "owner", true, true, true, true, true, true,
                                   qpdf_r3p_full, true);
  writer.write();
  const auto buffer = out.getBufferSharedPointer();
  return {reinterpret_cast<const char*>(buffer->getBuffer()), buffer->getSize()};
}

TEST(PdfTest, APasswordIsAnErrorUnlessItIsEmpty) {
  const std::string pdf = make_pdf({{line_at(72, 700, "Secret")}});
  const StepRun locked = run_pdf(encrypted(pdf, "user"));
  ASSERT_TRUE(locked.end);
  EXPECT_EQ(locked.end->kind, ErrorKind::Encrypted);
  const StepRun open = run_pdf(encrypted(pdf, ""));
  ASSERT_FALSE(open.end) << open.end->message;
  EXPECT_EQ(open.part("0.txt"), "Secret\n");
}

TEST(PdfRewriteTest, ALargePdfIsPutInTheOrderOfViewersOnce) {
  std::string noise;
  unsigned state = 1;
  while (noise.size() < 600'000) noise += static_cast<char>((state = state * 1664525 + 1) >> 24);
  MadePdf made{{line_at(72, 700, "Large"), "%" + noise + "\n"}};
  const std::string pdf = make_pdf(made);
  ASSERT_FALSE(is_linearized(pdf));
  const StepRun run = run_pdf(pdf);
  ASSERT_TRUE(run.has("0.blob"));
  EXPECT_TRUE(is_linearized(run.part("0.blob")));
  const StepRun again = run_pdf(run.part("0.blob"));
  EXPECT_TRUE(again.has("inherit-blob"));
  EXPECT_EQ(again.part("0.txt"), run.part("0.txt"));
}

TEST(PdfRewriteTest, APdfThatHasGrownIsNoLongerLinearized) {
  std::string linear;
  ASSERT_FALSE(linearize(make_pdf({{line_at(72, 700, "x")}}), linear));
  EXPECT_TRUE(is_linearized(linear));
  EXPECT_FALSE(is_linearized(linear + "% more"));
}

TEST(PdfDamageTest, ATableOfObjectsThatIsWrongIsMended) {
  std::string pdf = make_pdf({{line_at(72, 700, "Still here")}});
  pdf.resize(pdf.rfind("xref\n0"));
  const StepRun run = run_pdf(pdf);
  ASSERT_FALSE(run.end) << run.end->message;
  EXPECT_EQ(run.part("0.txt"), "Still here\n");
  ASSERT_TRUE(run.has("0.blob"));
  EXPECT_TRUE(is_linearized(run.part("0.blob")));
}

TEST(PdfDamageTest, WhatIsNoPdfIsCorrupt) {
  for (const std::string bytes : {"%PDF-1.4\nnothing at all", "garbage", "", "%PDF-"}) {
    const StepRun run = run_pdf(bytes);
    ASSERT_TRUE(run.end) << bytes;
    EXPECT_EQ(run.end->kind, ErrorKind::Corrupt) << bytes;
    EXPECT_TRUE(run.parts.size() == 1 && run.parts[0].second.empty()) << bytes;
  }
}

TEST(PdfDamageTest, APageThatCannotBeReadIsAnErrorBesideTheDocument) {
  std::string pdf = make_pdf({{line_at(72, 700, "One"), line_at(72, 700, "Two")}});
  // The second page is no page.
  const std::size_t second = pdf.rfind("/Type/Page/Parent");
  pdf.replace(second, 10, "/Type/Pagg");
  const StepRun run = run_pdf(pdf);
  ASSERT_FALSE(run.end) << run.end->message;
  EXPECT_THAT(run.part("0.txt"), StartsWith("One\n"));
}

TEST(PdfHostileTest, ManyPagesAreRefusedAtOnce) {
  MadePdf made{{line_at(72, 700, "x")}};
  made.count = 100'000;
  const StepRun run = run_pdf(make_pdf(made));
  ASSERT_TRUE(run.end);
  EXPECT_EQ(run.end->kind, ErrorKind::TooMany);
  EXPECT_THAT(run.end->message, HasSubstr("100000 pages"));
}

TEST(PdfHostileTest, ACountThatLiesIsNotBelieved) {
  MadePdf made{{line_at(72, 700, "Only")}};
  made.count = 15'000;
  const StepRun run = run_pdf(make_pdf(made));
  EXPECT_EQ(run.part("0.txt"), "Only\n");
}

TEST(PdfHostileTest, HugePagesAreDrawnSmall) {
  MadePdf made{{line_at(72, 700, "x")}};
  made.media_box = "0 0 1000000000 1000000";
  const StepRun run = run_pdf(make_pdf(made));
  ASSERT_FALSE(run.end) << run.end->message;
  EXPECT_LT(run.part("0-thumbnail.jpg").size(), 100'000U);
}

std::int64_t cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

// Thirty forms, each of which shows the next one twice: a billion in all.
std::string laughing_pdf() {
  PdfFile file;
  const int catalog = file.reserve();
  const int tree = file.reserve();
  int form = file.add_stream("/Type/XObject/Subtype/Form/BBox[0 0 9 9]", "0 0 1 1 re f");
  for (int i = 0; i < 30; ++i) {
    form = file.add_stream(
        fmt::format("/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X {} 0 R>>>>",
                    form),
        "/X Do /X Do");
  }
  const int content = file.add_stream("", "/X Do");
  const int page =
      file.add(fmt::format("<</Type/Page/Parent {} 0 R/MediaBox[0 0 9 9]/Contents "
                           "{} 0 R/Resources<</XObject<</X {} 0 R>>>>>>",
                           tree, content, form));
  file.set(tree, fmt::format("<</Type/Pages/Count 1/Kids[{} 0 R]>>", page));
  file.set(catalog, fmt::format("<</Type/Catalog/Pages {} 0 R>>", tree));
  return file.finish(catalog);
}

TEST(PdfHostileTest, FormsThatShowOneAnotherWithoutEndAreStopped) {
  const std::int64_t begin = cpu_ms();
  const StepRun run = run_pdf(laughing_pdf());
  ASSERT_TRUE(run.end);
  EXPECT_EQ(run.end->kind, ErrorKind::Timeout);
  EXPECT_THAT(run.end->message, StartsWith("page 1: "));
  EXPECT_LT(cpu_ms() - begin, kPageTextMs + 5'000);
}

TEST(PdfHostileTest, PagesThatAreTheirOwnParentsEnd) {
  std::string pdf = make_pdf({{line_at(72, 700, "x")}});
  const std::size_t kids = pdf.find("/Kids[5 0 R ]");
  ASSERT_NE(kids, std::string::npos);
  pdf.replace(kids, 13, "/Kids[2 0 R ]");
  const StepRun run = run_pdf(pdf);
  ASSERT_TRUE(run.end);
  EXPECT_EQ(run.end->kind, ErrorKind::Corrupt);
}

TEST(PdfTest, TheSameBytesGiveTheSamePartsOnAnyDay) {
  std::string broken = make_pdf({{line_at(72, 700, "One"), line_at(72, 700, "Two")}});
  broken.resize(broken.rfind("xref\n0"));
  for (const bool split : {false, true}) {
    StepTask task;
    task.filename = "a.pdf";
    task.want_split_by_page = split;
    const StepRun first = run_task(pdf_step(), task, broken);
    ::setenv("TZ", "Asia/Tokyo", 1);
    ::tzset();
    const timespec pause{1, 100'000'000};
    ::nanosleep(&pause, nullptr);
    const StepRun second = run_task(pdf_step(), task, broken);
    ::unsetenv("TZ");
    EXPECT_EQ(first.parts, second.parts);
    EXPECT_GT(first.parts.size(), 3U);
  }
}

}  // namespace
}  // namespace quern::worker
