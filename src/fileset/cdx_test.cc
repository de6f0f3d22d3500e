#include "fileset/cdx.h"

#include <gtest/gtest.h>

#include "io/file.h"
#include "support/corpus.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

constexpr char kHeader[] =
    R"(["urlkey","timestamp","original","mimetype","statuscode","digest","redirect",)"
    R"("robotflags","length","offset","filename"])";
constexpr char kDigest[] = "VGMZGNSHA2AWVOR6EVYXQUGCNSONBWE5";

std::string row_text(std::string_view url, std::string_view datetime, std::string_view status,
                     std::string_view path = "a/b.warc.gz", std::string_view mime = "text/html") {
  return "[\"k\",\"" + std::string(datetime) + "\",\"" + std::string(url) + "\",\"" +
         std::string(mime) + "\",\"" + std::string(status) + "\",\"" + kDigest +
         "\",\"-\",\"-\",\"10\",\"20\",\"" + std::string(path) + "\"]";
}
std::string answer_of(std::initializer_list<std::string> rows) {
  std::string text = "[" + std::string(kHeader);
  for (const std::string& row : rows) text += "," + row;
  return text + "]";
}
std::vector<CdxRow> rows_of(std::initializer_list<std::string> rows) {
  auto parsed = parse_cdx_answer(answer_of(rows), Compat::Strict);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message();
  return *std::move(parsed);
}

TEST(CdxTest, Base32OfASha1BecomesHex) {
  // Of "abc".
  EXPECT_EQ(sha1_of_base32("VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5"),
            "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_FALSE(sha1_of_base32("VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE1"));
  EXPECT_FALSE(sha1_of_base32("VGMT"));
  EXPECT_FALSE(sha1_of_base32(""));
}

TEST(CdxTest, ALineHasElevenFields) {
  const std::string line = "org,a)/x 20200101000000 http://a.org/x unk 200 " +
                           std::string(kDigest) + " - - 876 30 c/w.warc.gz";
  const auto row = parse_cdx_line(line);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->mimetype, "application/octet-stream");
  EXPECT_EQ(row->status, 200);
  EXPECT_EQ(row->warc_csize, 876);
  EXPECT_EQ(row->warc_offset, 30);
  EXPECT_FALSE(parse_cdx_line(" CDX N b a m s k r M S V g"));
  EXPECT_FALSE(parse_cdx_line("# a comment"));
  EXPECT_FALSE(parse_cdx_line(""));
  EXPECT_FALSE(parse_cdx_line("org,a)/x 2020 http://a.org/x a/b 200 " + std::string(kDigest) +
                              " - - 876 30 c/w.warc.gz"));
  EXPECT_FALSE(parse_cdx_line("org,a)/x 20200101000000 http://a.org/x a/b 200 XX - - 8 3 c/w"));
  EXPECT_FALSE(parse_cdx_line("org,a)/x 20200101000000 http://a.org/x a/b 1000 " +
                              std::string(kDigest) + " - - 876 30 c/w.warc.gz"));
}

TEST(CdxTest, RowsThatAreNoCaptureAreLeftOut) {
  const std::string sha256 =
      R"(["k","20200101000000","http://a/","a/b","200","sha-256:abc","-","-","1","2","f/g"])";
  const std::string placeless =
      R"(["k","20200101000000","http://a/","a/b","200","VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5",)"
      R"("-","-","-","-","-"])";
  const std::string broken =
      R"(["k","20200101000000","http://a/","a/b","200","error","-","-","1","2","f/g"])";
  EXPECT_EQ(
      rows_of({sha256, placeless, broken, row_text("http://a/", "20200101000000", "200")}).size(),
      1U);
}

TEST(CdxTest, AnFtpRowWithoutAStatusIsComplete) {
  const auto rows = rows_of({row_text("ftp://a/b", "20200101000000", "-"),
                             row_text("http://a/b", "20200101000000", "-")});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].status, 226);
  EXPECT_FALSE(rows[1].status);
  EXPECT_TRUE(to_json(rows[1]).at("status_code").is_null());
}

TEST(CdxTest, SevenFieldsAreEnoughByDefault) {
  const std::string text =
      R"([["urlkey","timestamp","original","mimetype","statuscode","digest","length"],
      ["k","20200101000000","http://a/","text/html","200",
      "VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5","99"]])";
  const auto rows = parse_cdx_answer(text, Compat::Default);
  ASSERT_TRUE(rows.ok()) << rows.error().message();
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_FALSE(rows->front().in_warc());
  EXPECT_FALSE(to_json(rows->front()).contains("warc_path"));
  EXPECT_EQ(parse_cdx_answer(text, Compat::Strict).error().kind(), Errc::Corrupt);
}

TEST(CdxTest, WhatIsNoAnswerIsAnError) {
  for (const char* text : {"", "{}", "[1]", "[[1,2]]", "null", "[[\"urlkey\"]]", "[[\"urlkey\""}) {
    EXPECT_FALSE(parse_cdx_answer(text, Compat::Default).ok()) << text;
  }
  for (const std::string& row :
       {std::string("1"), std::string("[]"), std::string(R"(["k"])"),
        std::string(R"([1,2,3,4,5,6,7,8,9,10,11])"), row_text("http://a/", "2020", "200")}) {
    EXPECT_FALSE(parse_cdx_answer(answer_of({row}), Compat::Default).ok()) << row;
  }
  EXPECT_TRUE(parse_cdx_answer("[]", Compat::Strict)->empty());
}

TEST(CdxTest, TooManyRowsAreRefused) {
  std::string text = "[" + std::string(kHeader);
  for (std::size_t i = 0; i <= kCdxRowsMax; ++i) {
    text += "," + row_text("http://a/", "20200101000000", "200");
  }
  EXPECT_EQ(parse_cdx_answer(text + "]", Compat::Default).error().kind(), Errc::TooLarge);
}

TEST(CdxTest, TheBestRowIsTheNewestGoodOneOfTheSameAddress) {
  const auto best = [](std::initializer_list<std::string> texts, const CdxWish& wish) {
    const std::vector<CdxRow> rows = rows_of(texts);
    const CdxRow* row = best_row(rows, wish);
    return row == nullptr ? std::string() : row->datetime;
  };
  CdxWish wish;
  wish.url = "http://a/";
  EXPECT_EQ(best({}, wish), "");
  EXPECT_EQ(best({row_text("http://a/", "20190101000000", "200"),
                  row_text("http://a/", "20200101000000", "200"),
                  row_text("http://a/", "20210101000000", "404"),
                  row_text("http://www.a/", "20220101000000", "200")},
                 wish),
            "20200101000000");
  // A redirect is better than an error, and anything than nothing.
  EXPECT_EQ(best({row_text("http://a/", "20210101000000", "404"),
                  row_text("http://a/", "20200101000000", "302")},
                 wish),
            "20200101000000");
  wish.mimetype = "text/csv";
  EXPECT_EQ(best({row_text("http://a/", "20190101000000", "200", "a/b", "text/csv"),
                  row_text("http://a/", "20200101000000", "200")},
                 wish),
            "20190101000000");
  wish.mimetype = "";
  wish.closest = "20190601000000";
  EXPECT_EQ(best({row_text("http://a/", "20190101000000", "200"),
                  row_text("http://a/", "20200101000000", "200")},
                 wish),
            "20190101000000");
}

TEST(CdxTest, TheSamePageMayBeWrittenInSeveralWays) {
  EXPECT_TRUE(same_page("http://a.org/x", "https://www.a.org/x/"));
  EXPECT_FALSE(same_page("http://a.org/x", "http://a.org/y"));
  EXPECT_FALSE(same_page("http://a.org/x", "not an address"));
}

// Goal: each recorded line is read, or refused, as recorded.
TEST(CdxCorpusTest, RecordedLinesAreReadAsRecorded) {
  QUERN_CORPUS_OR_SKIP(corpus);
  const auto text = io::read_file(corpus / "filesets/expected_cdx_parse.json", 1 << 20);
  if (!text.ok()) GTEST_SKIP() << "QUERN_CORPUS has no filesets";
  const json::value expected = json::parse(*text);
  int lines = 0;
  for (const auto& [name, file] : expected.as_object()) {
    const std::string all = *io::read_file(corpus / "filesets" / std::string(name), 1 << 20);
    std::string_view rest = all;
    for (const json::value& row : file.at("rows").as_array()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const auto parsed = parse_cdx_line(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      ++lines;
      ASSERT_EQ(parsed.has_value(), row.is_object() && row.as_object().contains("surt")) << row;
      if (!parsed) continue;
      json::object is = to_json(*parsed);
      is["http_status"] = is["status_code"];
      is.erase("status_code");
      EXPECT_EQ(json::value(is), row);
    }
  }
  EXPECT_GT(lines, 30);
}

}  // namespace
}  // namespace quern::fileset
