// Detection: what our own rules add to libmagic, and how it does on the corpus.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "model/steps.h"
#include "support/corpus.h"
#include "support/program.h"
#include "support/temp_folder.h"
#include "worker/archive_maker.h"
#include "worker/local_detect.h"
#include "worker/sniff.h"
#include "worker/step_harness.h"
#include "worker/steps.h"

namespace quern::worker {
namespace {

using namespace std::string_literals;

std::string type_of(const std::string& name, const std::string& bytes) {
  static const bool warmed = (detect_step().warm(), true);
  EXPECT_TRUE(warmed);
  const std::string line = run_step(detect_step(), name, bytes).part("(raw)");
  EXPECT_TRUE(line.starts_with("7 ") && line.ends_with("\n")) << line;
  return line.substr(2, line.size() - 3);
}

TEST(DetectTest, MailIsKnownByItsHeadersWhicheverComesFirst) {
  for (const char* first : {"To: a@b", "Subject: hi", "X-Mailer: x", "From: a@b", "Date: now"}) {
    EXPECT_EQ(type_of("noname", first + "\r\nMessage-ID: <1@b>\r\nFrom: c@d\r\n\r\nwords\r\n"s),
              "message/rfc822")
        << first;
  }
  EXPECT_EQ(type_of("a.txt", "Name: value\nOther: value\n\nThis is no mail.\n"), "text/plain");
  EXPECT_EQ(type_of("a.txt", "To be or not to be: that is it\nSubject: hm\n\n"), "text/plain");
}

TEST(DetectTest, BoxesOfMailAreKnownByTheirFirstLine) {
  const std::string box = "From a@b Mon Jun 01 10:00:00 2009\nFrom: a@b\nSubject: hi\n\nwords\n\n";
  EXPECT_EQ(type_of("inbox", box + box), "application/mbox");
  EXPECT_EQ(type_of("taken-out.eml", box), "message/rfc822");
  EXPECT_EQ(type_of("a.txt", "From here on it is a text.\nWith lines.\n"), "text/plain");
  EXPECT_EQ(type_of("1.emlx", "120       \nFrom: a@b\nTo: c@d\n\nwords\n<?xml?>"),
            "message/x-emlx");
}

TEST(DetectTest, PagesAreKnownByTheirTags) {
  EXPECT_EQ(type_of("x", "<!DOCTYPE html><title>t</title>"), "text/html");
  EXPECT_EQ(type_of("x", "<!-- c --><html><body>x</body></html>"), "text/html");
  EXPECT_EQ(type_of("x", "<p>a piece <b>of a</b> page</p>"), "text/html");
  EXPECT_EQ(type_of("x", R"(<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>)"),
            "application/xhtml+xml");
  EXPECT_EQ(type_of("x", "<article><author>A</author></article>\n"), "text/plain");
  EXPECT_EQ(type_of("x.xml", "<article><title>JATS</title></article>\n"), "application/xml");
  EXPECT_EQ(type_of("x", "a < b and b > c\n"), "text/plain");
}

TEST(DetectTest, XmlIsKnownByItsFirstElement) {
  const std::string declared = R"(<?xml version="1.0"?>)";
  EXPECT_EQ(type_of("x", declared + "<some/>"), "application/xml");
  EXPECT_EQ(type_of("x", declared + "<!-- c --><svg xmlns=\"s\"/>"), "image/svg+xml");
  EXPECT_EQ(type_of("x", declared + "<FictionBook/>"), "application/x-fictionbook+xml");
  EXPECT_EQ(type_of("x", declared + "<rss version=\"2.0\"/>"), "application/rss+xml");
}

TEST(DetectTest, NamesHelpWhereATextSaysLittle) {
  EXPECT_EQ(type_of("a.md", "# Title\n\nwords\n"), "text/markdown");
  EXPECT_EQ(type_of("a.csv", "a,b\n1,2\n"), "text/csv");
  EXPECT_EQ(type_of("a.py", "x = 1\n"), "application/x-python");
  EXPECT_EQ(type_of("a.json", "{\"a\": 1}"), "application/json");
  // And are not believed where they are wrong.
  EXPECT_EQ(type_of("a.png", "just words\n"), "text/plain");
  EXPECT_EQ(type_of("a.docx", "just words\n"), "text/plain");
  EXPECT_EQ(type_of("a.txt", "\x01\x02\x03\x00\xFE\xFD\x99"s), "application/octet-stream");
  EXPECT_EQ(type_of("a.txt", "%PDF-1.4\n..."), "application/pdf");
}

TEST(DetectTest, AFileWithoutBytesIsATextOrNothing) {
  EXPECT_EQ(type_of("a.txt", ""), "text/plain");
  EXPECT_EQ(type_of("a.docx", ""), "application/octet-stream");
  EXPECT_EQ(type_of("a", ""), "application/octet-stream");
}

TEST(DetectTest, PdfsMayHaveSomethingInFront) {
  EXPECT_EQ(type_of("x", "junk\n%PDF-1.7\n"), "application/pdf");
}

TEST(DetectTest, OfficeFilesAreKnownInWhateverOrderTheirMembersStand) {
  const auto ooxml = [](const std::string& main) {
    return make_archive("zip", "none",
                        {{"word/document.xml", "<x/>"},
                         {"[Content_Types].xml",
                          "<Types><Override ContentType=\"application/" + main + "\"/></Types>"}});
  };
  EXPECT_EQ(type_of("noname",
                    ooxml("vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml")),
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document");
  EXPECT_EQ(type_of("a.zip", ooxml("vnd.ms-excel.sheet.macroEnabled.main+xml")),
            "application/vnd.ms-excel.sheet.macroenabled.12");
  EXPECT_EQ(
      type_of("a.odt", make_archive("zip", "none",
                                    {{"content.xml", "<x/>"},
                                     {"mimetype", "application/vnd.oasis.opendocument.text"}})),
      "application/vnd.oasis.opendocument.text");
  EXPECT_EQ(type_of("a.docx", make_archive("zip", "none", {{"other", "x"}})), "application/zip");
}

TEST(DetectTest, ATruncatedOfficeFileIsStillOne) {
  const std::string whole = make_archive(
      "zip", "none",
      {{"word/document.xml", "<x/>"}, {"word/media/image.png", std::string(5000, 'x')}});
  EXPECT_EQ(type_of("x", whole.substr(0, 120)),
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document");
}

TEST(DetectTest, ContainersOfEveryKindAreKnown) {
  EXPECT_EQ(type_of("x", make_archive("ustar", "none", {{"a", "b"}})), "application/x-tar");
  EXPECT_EQ(type_of("x", make_archive("ustar", "gzip", {{"a", "b"}})), "application/gzip");
  EXPECT_EQ(type_of("x", make_archive("ustar", "xz", {{"a", "b"}})), "application/x-xz");
  EXPECT_EQ(type_of("x", make_archive("ustar", "zstd", {{"a", "b"}})), "application/zstd");
  EXPECT_EQ(type_of("x", make_archive("ustar", "bzip2", {{"a", "b"}})), "application/x-bzip2");
  EXPECT_EQ(type_of("x", make_archive("7zip", "none", {{"a", "b"}})),
            "application/x-7z-compressed");
  EXPECT_EQ(type_of("x", make_archive("newc", "none", {{"a", "b"}})), "application/x-cpio");
  EXPECT_EQ(type_of("x", make_archive("iso9660", "none", {{"a", "b"}})),
            "application/x-iso9660-image");
  EXPECT_EQ(type_of("x", "!BDN"s + std::string(600, '\0')), "application/vnd.ms-outlook-pst");
}

TEST(DetectTest, TextInOtherCharsetsIsText) {
  EXPECT_EQ(type_of("a.txt", "\xFF\xFEh\0e\0l\0l\0o\0"s), "text/plain");
  EXPECT_EQ(type_of("a", "h\0e\0l\0l\0o\0 \0y\0o\0u\0"s), "text/plain");
  EXPECT_EQ(type_of("a",
                    "Gr\xF6\xDF"
                    "e und L\xE4nge\n"),
            "text/plain");
}

TEST(DetectTest, TheNamesOfTypesAreCanonical) {
  for (const char* suffix : {"md", "csv", "py", "docx", "xlsx", "html", "json", "sh", "yml"}) {
    const std::string type(type_of_suffix(suffix));
    EXPECT_EQ(model::canonical_type(type), type) << suffix;
  }
}

// Bytes that a fuzzer would think of: nothing may crash or hang.
TEST(DetectTest, BrokenContainersDoNoHarm) {
  const std::string ole = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"s;
  for (const std::string& tail :
       {std::string(), std::string(600, '\xFF'), std::string(600, '\0')}) {
    EXPECT_FALSE(type_of("x", ole + tail).empty());
    EXPECT_FALSE(type_of("x", "PK\x03\x04" + tail).empty());
    EXPECT_FALSE(type_of("x", "PK\x03\x04" + tail + "PK\x05\x06" + tail).empty());
    EXPECT_FALSE(type_of("x", "ID3" + tail).empty());
    EXPECT_FALSE(type_of("x", "<!" + tail).empty());
  }
}

// Types that mean the same, beyond what model::canonical_type knows.
std::string folded(const std::string& type) {
  const std::map<std::string, std::string> same = {
      {"application/x-mif", "application/vnd.mif"},
      {"application/x-bentley-dgn", "image/vnd.dgn"},
      {"image/x-raw-adobe", "image/x-adobe-dng"},
  };
  std::string canonical = model::canonical_type(type);
  const auto found = same.find(canonical);
  return found == same.end() ? canonical : found->second;
}

TEST(DetectCorpusTest, TypesOfTheCorpusAreThoseItsSourcesAssert) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  const auto rows = support::load_corpus_index(corpus);
  ASSERT_TRUE(rows.ok());
  std::vector<std::string> paths;
  std::vector<const support::CorpusRow*> asked;
  for (const support::CorpusRow& row : *rows) {
    if (row.at("role") != "input" || row.at("expected_mime").empty()) continue;
    paths.push_back((corpus / row.at("path")).string());
    asked.push_back(&row);
  }
  net::Loop loop;
  DetectOptions options;
  options.program = support::program_path("quern-steps");
  const auto found = loop.run_until(detect_paths(loop, paths, options));
  ASSERT_TRUE(found.ok()) << found.error().message();
  std::map<std::string, std::pair<int, int>> scores;  // right, all
  for (std::size_t i = 0; i < asked.size(); ++i) {
    auto& [right, all] = scores[asked[i]->at("mime_basis")];
    ++all;
    const std::string expected = folded(asked[i]->at("expected_mime"));
    if (folded((*found)[i].type) == expected) ++right;
  }
  for (const auto& [basis, score] : scores) {
    const double share = 100.0 * score.first / score.second;
    std::printf("%s: %d of %d (%.1f %%)\n", basis.c_str(), score.first, score.second, share);
    EXPECT_GE(share, basis == "asserted" ? 95 : 97) << basis;
  }
}

}  // namespace
}  // namespace quern::worker
