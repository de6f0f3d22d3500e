// Archives of other people's tools: every valid one is read, with as many records as it has.
#include <gtest/gtest.h>

#include <cstdio>

#include "io/file.h"
#include "support/corpus.h"
#include "support/warc_fixture.h"
#include "web/warc_message.h"

namespace quern::web {
namespace {

constexpr std::size_t kFileBytesMax = 64 * 1024 * 1024;

// Of a list "a=1; b=2".
std::string fact(const std::string& facts, const std::string& name) {
  const std::size_t at = facts.find(name + "=");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 1;
  return facts.substr(begin, facts.find(';', begin) - begin);
}

struct Counts {
  int records = 0;
  int right = 0;
  int wrong = 0;
  int shared = 0;
};

Result<Counts> counts_of(const std::string& bytes, std::size_t piece) {
  WarcReader reader(support::source_of(bytes, piece));
  Counts counts;
  while (true) {
    TRY_ASSIGN(const auto record, reader.next());
    if (!record) return counts;
    ++counts.records;
    counts.shared += record->shares_member ? 1 : 0;
    TRY_ASSIGN(const RecordCheck check, verify_record(reader, *record));
    for (const DigestState state : {check.block, check.payload}) {
      counts.right += state == DigestState::Right ? 1 : 0;
      counts.wrong += state == DigestState::Wrong ? 1 : 0;
    }
  }
}

TEST(WarcCorpusTest, EveryValidFileIsReadWithAllItsRecords) {
  QUERN_CORPUS_OR_SKIP(corpus);
  const auto rows = support::load_corpus_index(corpus);
  ASSERT_TRUE(rows.ok()) << rows.error().message();
  int files = 0;
  for (const support::CorpusRow& row : *rows) {
    const std::string& path = row.at("path");
    if (!path.starts_with("warc/") || path.ends_with(".wacz")) continue;
    ++files;
    const auto bytes = io::read_file(corpus / path, kFileBytesMax);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message();
    const auto counts = counts_of(*bytes, 1 << 20);
    ASSERT_TRUE(counts.ok()) << path << ": " << counts.error().message();
    const auto slowly = counts_of(*bytes, 13);
    ASSERT_TRUE(slowly.ok()) << path;
    EXPECT_EQ(counts->records, slowly->records) << path;
    std::printf("%-52s %3d records, digests: %d right, %d wrong, %d in a shared member\n",
                path.c_str(), counts->records, counts->right, counts->wrong, counts->shared);
    const std::string expected = fact(row.at("computed"), "warc_records");
    // ARC files have no such fact: a description of the file, and one page.
    EXPECT_EQ(std::to_string(counts->records), expected.empty() ? "2" : expected) << path;
    // One file has a wrong digest on purpose; in the other a payload was changed by hand.
    const bool odd = path.ends_with("example-digest.warc") || path.ends_with("non-chunked.warc.gz");
    EXPECT_EQ(counts->wrong, odd ? 1 : 0) << path;
    // Others refuse a file that is one gzip member; we read it and say what it is.
    if (row.at("expected_other").find("error=ArchiveLoadFailed") != std::string::npos) {
      EXPECT_GT(counts->shared, 0) << path;
    }
  }
  EXPECT_GE(files, 18);
}

TEST(WarcCorpusTest, OddRecordsAreUnderstood) {
  QUERN_CORPUS_OR_SKIP(corpus);
  const auto records = [&corpus](const char* path) {
    const auto bytes = io::read_file(corpus / "warc" / path, kFileBytesMax);
    EXPECT_TRUE(bytes.ok());
    auto read = support::read_records(*bytes);
    EXPECT_TRUE(read.ok());
    return *std::move(read);
  };
  EXPECT_EQ(records("warcio/example-space-in-target-uri.warc.gz").at(1).record.url,
            "file:///example with spaces.png");
  EXPECT_EQ(records("warcio/example-wget-bad-target-uri.warc.gz").at(1).record.url,
            "http://example.com/");
  EXPECT_EQ(records("stormcrawler/unparsable-date.warc.gz").at(1).record.at_us, std::nullopt);
  const auto arc = records("warcio/example-space-in-url.arc");
  EXPECT_EQ(arc.at(1).record.url,
            "http://example.com/index.cfm?FuseAction=Email&EmailTitle=Examples From The Live Web"
            "&IsPopUp=False");
  EXPECT_EQ(parse_archived_head(arc.at(1).content)->status, 200);
}

TEST(WarcCorpusTest, EveryResponseHasAHeadAndAPayload) {
  QUERN_CORPUS_OR_SKIP(corpus);
  const auto bytes = io::read_file(corpus / "warc/pywb/iana.warc.gz", kFileBytesMax);
  ASSERT_TRUE(bytes.ok());
  WarcReader reader(support::source_of(*bytes));
  int answers = 0;
  std::int64_t payload_bytes = 0;
  while (true) {
    const auto record = reader.next();
    ASSERT_TRUE(record.ok());
    if (!*record) break;
    if ((*record)->type != "response") continue;
    auto message = ArchivedMessage::open(reader);
    ASSERT_TRUE(message.ok()) << (*record)->url << ": " << message.error().message();
    ++answers;
    char buffer[10'000];
    while (true) {
      const auto got = message->read(buffer, sizeof buffer);
      ASSERT_TRUE(got.ok());
      if (*got == 0) break;
      payload_bytes += static_cast<std::int64_t>(*got);
    }
  }
  EXPECT_GT(answers, 20);
  EXPECT_GT(payload_bytes, 100'000);
}

}  // namespace
}  // namespace quern::web
