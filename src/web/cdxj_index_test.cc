#include "web/cdxj_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/file.h"
#include "support/corpus.h"
#include "support/temp_folder.h"
#include "support/warc_fixture.h"
#include "web/archive.h"
#include "web/body.h"

namespace quern::web {
namespace {

struct Indexed {
  IndexCounts counts;
  std::vector<CdxjLine> lines;
};

Result<Indexed> index_of(WarcReader& reader) {
  Indexed indexed;
  const auto keep = [&indexed](const CdxjLine& line) {
    indexed.lines.push_back(line);
    return Result<>();
  };
  TRY_ASSIGN(indexed.counts, index_archive(reader, "a.warc.gz", keep));
  return indexed;
}

Indexed index_of(const std::string& bytes) {
  WarcReader reader(support::source_of(bytes, 77));
  auto indexed = index_of(reader);
  EXPECT_TRUE(indexed.ok()) << indexed.error().message();
  return *std::move(indexed);
}

std::string record_of(const std::string& headers, const std::string& content) {
  return "WARC/1.0\r\nWARC-Date: 2020-02-03T04:05:06Z\r\n" + headers +
         "Content-Length: " + std::to_string(content.size()) + "\r\n\r\n" + content + "\r\n\r\n";
}

const std::string kAnswer =
    "HTTP/1.1 404 Not Found\r\nContent-Type: Text/HTML; charset=x\r\n\r\nhello";

TEST(CdxjIndexTest, WhatWasAppendedIsIndexedAsItWasTold) {
  const support::TempFolder folder;
  const auto archive = *Archive::open({.folder = folder.path(), .software = "x"});
  std::vector<ArchiveEntry> entries;
  for (int i = 0; i < 3; ++i) {
    CaptureOrder order;
    order.url = "http://www.site.example/" + std::to_string(i);
    order.at_us = 1'794'808'800'000'000;
    order.request_head = "GET / HTTP/1.1\r\n\r\n";
    order.response_head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    order.body = BodyWriter::in_memory(std::string(static_cast<std::size_t>(i) * 100'000, 'x'));
    if (i == 2) order.revisit = CaptureOrder::Revisit{"http://site.example/0", 0, "sha1:A", false};
    entries.push_back(*archive->append(order));
  }
  const auto reader = Archive::read_at(folder.path() / entries[0].filename, 0);
  const auto indexed = index_of(**reader);
  ASSERT_TRUE(indexed.ok()) << indexed.error().message();
  EXPECT_EQ(indexed->counts.records, 7);
  EXPECT_EQ(indexed->counts.unreadable, 0);
  ASSERT_EQ(indexed->lines.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const CdxjLine& line = indexed->lines[i];
    EXPECT_EQ(line.surt, "example,site)/" + std::to_string(i));
    EXPECT_EQ(line.timestamp, "20261116060000");
    EXPECT_EQ(line.offset, entries[i].offset);
    EXPECT_EQ(line.length, entries[i].length);
    EXPECT_EQ(line.digest, entries[i].payload_digest);
    EXPECT_EQ(line.status, 200);
    EXPECT_EQ(line.mime, i == 2 ? "warc/revisit" : "text/html");
    EXPECT_EQ(line.filename, "a.warc.gz");
  }
}

TEST(CdxjIndexTest, ADigestThatIsNotThereIsMade) {
  const std::string bytes =
      record_of("WARC-Type: response\r\nWARC-Target-URI: http://a.example/\r\n", kAnswer);
  const Indexed indexed = index_of(bytes);
  ASSERT_EQ(indexed.lines.size(), 1U);
  EXPECT_EQ(indexed.lines[0].digest, *payload_digest(BodyWriter::in_memory("hello")));
  EXPECT_EQ(indexed.lines[0].status, 404);
  EXPECT_EQ(indexed.lines[0].mime, "text/html");
  EXPECT_EQ(indexed.lines[0].length, static_cast<std::int64_t>(bytes.size()));
}

TEST(CdxjIndexTest, WhatCannotBeShownIsCounted) {
  const std::string url = "WARC-Target-URI: http://a.example/\r\n";
  const Indexed indexed =
      index_of(record_of("WARC-Type: response\r\n" + url, "no answer") +
               record_of("WARC-Type: response\r\nWARC-Target-URI: dns:a\r\n", kAnswer) +
               record_of("WARC-Type: response\r\n", kAnswer) +
               record_of("WARC-Type: response\r\nWARC-Target-URI: http://a b/\r\n", kAnswer) +
               record_of("WARC-Type: metadata\r\n" + url, "x") +
               record_of("WARC-Type: resource\r\nContent-Type: image/png\r\n" + url, "x") +
               record_of("WARC-Type: revisit\r\n" + url, ""));
  EXPECT_EQ(indexed.counts.records, 7);
  EXPECT_EQ(indexed.counts.unreadable, 4);
  ASSERT_EQ(indexed.lines.size(), 2U);
  EXPECT_EQ(indexed.lines[0].mime, "image/png");
  EXPECT_EQ(indexed.lines[1].mime, "warc/revisit");
  EXPECT_EQ(indexed.lines[1].status, 0);

  const std::string one =
      record_of("WARC-Type: response\r\nWARC-Target-URI: http://a.example/\r\n", kAnswer);
  const Indexed shared = index_of(support::gzipped(one + one));
  EXPECT_EQ(shared.counts.lines, 1);
  EXPECT_EQ(shared.counts.unreadable, 1) << "nobody can begin at the second one";
}

TEST(CdxjIndexTest, AHeadWithoutAnEndIsBounded) {
  const std::string url = "WARC-Type: response\r\nWARC-Target-URI: http://a.example/\r\n";
  const std::string endless = "HTTP/1.1 200 OK\r\nA: " + std::string(1'000'000, 'x');
  EXPECT_EQ(index_of(record_of(url, endless)).counts.unreadable, 1);
}

TEST(CdxjIndexTest, ALineIsBounded) {
  const auto lines_for = [](std::size_t url_bytes) {
    const std::string url = "http://a.example/" + std::string(url_bytes - 17, '"');
    return index_of(
               record_of("WARC-Type: resource\r\nWARC-Payload-Digest: " + std::string(1000, 'd') +
                             "\r\nContent-Type: " + std::string(1000, 't') +
                             "\r\nWARC-Target-URI: " + url + "\r\n",
                         "x"))
        .lines;
  };
  const auto lines = lines_for(kIndexedUrlBytesMax);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].mime, "unk");
  EXPECT_EQ(lines[0].digest, *payload_digest(BodyWriter::in_memory("x")));
  EXPECT_TRUE(parse_cdxj(lines[0].text()).ok());
  EXPECT_TRUE(lines_for(kIndexedUrlBytesMax + 1).empty());
}

TEST(CdxjIndexTest, AnErrorOfTheTakerEndsIt) {
  const std::string bytes =
      record_of("WARC-Type: response\r\nWARC-Target-URI: http://a.example/\r\n", kAnswer);
  WarcReader reader(support::source_of(bytes));
  const auto full = [](const CdxjLine&) -> Result<> { return Error{Errc::Full, "no room"}; };
  EXPECT_EQ(index_archive(reader, "a", full).error().kind(), Errc::Full);
}

TEST(CdxjIndexTest, ForeignArchivesAreIndexed) {
  QUERN_CORPUS_OR_SKIP(corpus);
  // How many captures of web addresses each has, by its records.
  const std::vector<std::pair<const char*, int>> files = {
      {"pywb/iana.warc.gz", 171},   {"warcio/example.warc.gz", 2},
      {"warcio/example.arc", 1},    {"tika/example.arc.gz", 1},
      {"pywb/example2.warc.gz", 1}, {"warcio/example-space-in-url.arc", 1}};
  for (const auto& [name, expected] : files) {
    const auto bytes = io::read_file(corpus / "warc" / name, 1 << 26);
    ASSERT_TRUE(bytes.ok());
    const Indexed indexed = index_of(*bytes);
    EXPECT_EQ(indexed.counts.lines, expected) << name;
    EXPECT_EQ(indexed.counts.unreadable, 0) << name;
    for (const CdxjLine& line : indexed.lines) {
      const std::string_view there(*bytes);
      const auto again = support::read_records(there.substr(static_cast<std::size_t>(line.offset),
                                                            static_cast<std::size_t>(line.length)));
      ASSERT_TRUE(again.ok()) << name << ": " << again.error().message();
      ASSERT_EQ(again->size(), 1U) << name;
      EXPECT_EQ(again->front().record.url, line.url) << name;
    }
  }
}

}  // namespace
}  // namespace quern::web
