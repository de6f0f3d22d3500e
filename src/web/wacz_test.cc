#include "web/wacz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <map>

#include "blob/digest.h"
#include "io/file.h"
#include "support/corpus.h"
#include "support/program.h"
#include "support/temp_folder.h"
#include "support/warc_fixture.h"
#include "web/archive.h"
#include "web/warc_message.h"

namespace quern::web {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kAtUs = 1'794'808'800'123'456;
constexpr std::size_t kFileBytesMax = 1 << 28;

class WaczTest : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return folder_ / "a.wacz"; }
  ZipWriter::Sink sink() {
    out_.open(path(), std::ios::binary);
    return [this](std::string_view bytes) -> Result<> {
      out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      return {};
    };
  }
  void write(const std::string& bytes) { std::ofstream(path(), std::ios::binary) << bytes; }
  Result<std::string> text_of(const WaczReader& reader, std::string_view name) {
    for (const WaczEntry& entry : reader.entries()) {
      if (entry.name != name) continue;
      TRY_ASSIGN(const auto source, reader.source_of(entry));
      std::string text(static_cast<std::size_t>(entry.bytes) + 1, '\0');
      TRY_ASSIGN(const std::size_t got, source(text.data(), text.size()));
      text.resize(got);
      return text;
    }
    return Error{Errc::Missing, std::string(name)};
  }
  // What a program that is not ours says of the file.
  std::string said_by(const std::string& program, std::vector<std::string> arguments) {
    arguments.push_back(path().string());
    const auto ran = support::run_program({program, arguments, {}, {}});
    EXPECT_TRUE(ran.ok()) << ran.error().message();
    EXPECT_TRUE(ran->status.exited_with(0)) << ran->standard_output << ran->standard_error;
    return ran->standard_output;
  }

  // Two files with three captures, and all that is known of them.
  void write_wacz() {
    auto archive = *Archive::open({.folder = folder_ / "warc", .software = "x"});
    WaczWriter writer({.spool = folder_.path(),
                       .software = "quern/test",
                       .title = "A title",
                       .created_us = kAtUs,
                       .main_page_url = "http://site.example/0",
                       .main_page_at_us = kAtUs},
                      sink());
    std::map<std::string, std::int64_t> ends;
    std::vector<CdxjLine> lines;
    for (int i = 0; i < 3; ++i) {
      if (i == 2) ASSERT_TRUE(archive->rotate().ok());
      CaptureOrder order;
      order.url = "http://site.example/" + std::to_string(i);
      order.at_us = kAtUs + i;
      order.response_head = "HTTP/1.1 200 OK\r\n\r\n";
      order.body = BodyWriter::in_memory("page " + std::to_string(i));
      const auto entry = archive->append(order);
      ASSERT_TRUE(entry.ok());
      ends[entry->filename] = entry->end;
      CdxjLine& line = lines.emplace_back();
      line.surt = "example,site)/" + std::to_string(i);
      line.timestamp = timestamp14(order.at_us);
      line.url = order.url;
      line.status = 200;
      line.digest = entry->payload_digest;
      line.offset = entry->offset;
      line.length = entry->length;
      line.filename = entry->filename;
    }
    for (const auto& [name, end] : ends) {
      std::ofstream(folder_ / "warc" / name, std::ios::app) << "still being written";
      ASSERT_TRUE(writer.add_warc(folder_ / "warc" / name, end).ok());
    }
    for (const CdxjLine& line : lines) {
      ASSERT_TRUE(writer.add_index(line).ok());
      ASSERT_TRUE(writer.add_page({line.url, kAtUs, "Title \"1\""}).ok());
    }
    ASSERT_TRUE(writer.finish().ok());
    out_.close();
  }

  support::TempFolder folder_;
  std::ofstream out_;
};

TEST_F(WaczTest, HasTheLayoutOfTheStandard) {
  write_wacz();
  const auto reader = WaczReader::open(path());
  ASSERT_TRUE(reader.ok()) << reader.error().message();
  std::vector<std::string> names;
  for (const WaczEntry& entry : reader->entries()) names.push_back(entry.name);
  ASSERT_EQ(names.size(), 7U);
  names.erase(names.begin(), names.begin() + 2);
  EXPECT_THAT(names, ElementsAre("indexes/index.cdx.gz", "indexes/index.idx", "pages/pages.jsonl",
                                 "datapackage.json", "datapackage-digest.json"));
  EXPECT_EQ(reader->archives().size(), 2U);

  const std::string described = *text_of(*reader, "datapackage.json");
  const json::value package = json::parse(described);
  EXPECT_EQ(package.at("profile"), "data-package");
  EXPECT_EQ(package.at("wacz_version"), "1.1.1");
  EXPECT_EQ(package.at("created"), "2026-11-16T06:00:00.123456Z");
  EXPECT_EQ(package.at("mainPageUrl"), "http://site.example/0");
  EXPECT_EQ(package.at("resources").as_array().size(), 5U);
  for (const json::value& resource : package.at("resources").as_array()) {
    const std::string text = *text_of(*reader, resource.at("path").as_string());
    EXPECT_EQ(resource.at("bytes").as_int64(), static_cast<std::int64_t>(text.size()));
    EXPECT_EQ(std::string(resource.at("hash").as_string()),
              "sha256:" + blob::hex_of(blob::sha256_of(text)));
  }
  const json::value digest = json::parse(*text_of(*reader, "datapackage-digest.json"));
  EXPECT_EQ(std::string(digest.at("hash").as_string()),
            "sha256:" + blob::hex_of(blob::sha256_of(described)));

  EXPECT_THAT(*text_of(*reader, "pages/pages.jsonl"),
              HasSubstr("\"url\":\"http://site.example/2\",\"ts\":\"2026-11-16T06:00:00.123456Z\","
                        "\"title\":\"Title \\\"1\\\"\"}\n"));
}

TEST_F(WaczTest, EveryCaptureIsFoundByTheIndexInIt) {
  write_wacz();
  const auto reader = WaczReader::open(path());
  ASSERT_TRUE(reader.ok());
  const std::string index = *text_of(*reader, "indexes/index.cdx.gz");
  std::string lines;
  {
    // A reader of web archives is no reader of indexes: unpack with what others use.
    std::ofstream(folder_ / "index.gz", std::ios::binary) << index;
    const auto ran = support::run_program({"/usr/bin/gzip", {"-dc", folder_ / "index.gz"}, {}, {}});
    ASSERT_TRUE(ran.ok());
    lines = ran->standard_output;
  }
  int found = 0;
  for (std::size_t at = 0; at < lines.size(); ++found) {
    const std::size_t end = lines.find('\n', at);
    const auto line = parse_cdxj(std::string_view(lines).substr(at, end - at));
    ASSERT_TRUE(line.ok()) << line.error().message();
    at = end + 1;
    const std::string archive = *text_of(*reader, "archive/" + line->filename);
    const auto record = support::read_records(std::string_view(archive).substr(
        static_cast<std::size_t>(line->offset), static_cast<std::size_t>(line->length)));
    ASSERT_TRUE(record.ok()) << record.error().message();
    ASSERT_EQ(record->size(), 1U);
    EXPECT_EQ(record->front().record.url, line->url);
  }
  EXPECT_EQ(found, 3);
}

TEST_F(WaczTest, ReadersThatAreNotOursAgree) {
  write_wacz();
  EXPECT_THAT(said_by("/usr/bin/unzip", {"-tq"}), HasSubstr("No errors"));
  EXPECT_THAT(said_by("/usr/bin/bsdtar", {"-tf"}), HasSubstr("indexes/index.idx\n"));
  EXPECT_THAT(said_by("/usr/bin/python3", {"-m", "zipfile", "-t"}), HasSubstr("Done testing"));
}

TEST_F(WaczTest, ALargeIndexIsFoundByItsBlocks) {
  WaczWriter writer({.spool = folder_.path()}, sink());
  for (int i = 0; i < 3 * kWaczBlockLines + 1; ++i) {
    CdxjLine line;
    line.surt = fmt::format("example,site)/{:06}", i);
    line.timestamp = "20261116060000";
    ASSERT_TRUE(writer.add_index(line).ok());
  }
  ASSERT_TRUE(writer.finish().ok());
  out_.close();
  const auto reader = WaczReader::open(path());
  ASSERT_TRUE(reader.ok());
  const std::string blocks = *text_of(*reader, "indexes/index.idx");
  EXPECT_EQ(std::count(blocks.begin(), blocks.end(), '\n'), 5) << blocks;
  EXPECT_THAT(blocks, ::testing::StartsWith("!meta 0 {"));
  const std::size_t last = blocks.find("example,site)/003072 20261116060000 {");
  ASSERT_NE(last, std::string::npos);
  const json::value place = json::parse(blocks.substr(blocks.find('{', last)));
  const std::string index = *text_of(*reader, "indexes/index.cdx.gz");
  const std::string member = index.substr(static_cast<std::size_t>(place.at("offset").as_int64()));
  EXPECT_EQ(place.at("length").as_int64(), static_cast<std::int64_t>(member.size()));
  EXPECT_EQ(std::string(place.at("digest").as_string()),
            "sha256:" + blob::hex_of(blob::sha256_of(member)));
}

TEST_F(WaczTest, AnIndexThatIsNotSortedIsRefused) {
  WaczWriter writer({.spool = folder_.path()}, sink());
  CdxjLine line;
  line.surt = "b";
  line.timestamp = "2026";
  EXPECT_TRUE(writer.add_index(line).ok());
  EXPECT_TRUE(writer.add_index(line).ok()) << "twice the same instant";
  line.surt = "a";
  EXPECT_EQ(writer.add_index(line).error().kind(), Errc::Invalid);
}

TEST_F(WaczTest, AnEmptyOneIsOneToo) {
  WaczWriter writer({.spool = folder_.path()}, sink());
  ASSERT_TRUE(writer.finish().ok());
  out_.close();
  EXPECT_THAT(said_by("/usr/bin/unzip", {"-tq"}), HasSubstr("No errors"));
  EXPECT_TRUE(WaczReader::open(path())->archives().empty());
}

TEST_F(WaczTest, ErrorsOfTheSinkAndOfFilesAreReturned) {
  WaczWriter full({.spool = folder_.path()}, [](std::string_view) -> Result<> {
    return Error{Errc::Full, "no room"};
  });
  EXPECT_EQ(full.finish().error().kind(), Errc::Full);
  WaczWriter writer({.spool = folder_.path()}, sink());
  std::ofstream(folder_ / "a.warc.gz") << "1234";
  EXPECT_EQ(writer.add_warc(folder_ / "a.warc.gz", 5).error().kind(), Errc::Corrupt);
  EXPECT_EQ(writer.add_warc(folder_ / "b.warc.gz", 0).error().kind(), Errc::Missing);
}

// Sizes that need 64 bits, without the bytes: the numbers are written as if 10 were too many.
TEST_F(WaczTest, Zip64IsReadByOthersAndByUs) {
  ZipWriter zip(sink(), kAtUs, 10);
  for (const std::string text : {"few", "more than ten bytes"}) {
    ZipEntry entry{.name = "archive/" + text.substr(0, 3) + "ä.warc",
                   .bytes = static_cast<std::int64_t>(text.size())};
    entry.crc = static_cast<std::uint32_t>(
        ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
    ASSERT_TRUE(zip.begin(entry).ok());
    ASSERT_TRUE(zip.add(text).ok());
  }
  ASSERT_TRUE(zip.finish().ok());
  out_.close();
  EXPECT_THAT(said_by("/usr/bin/unzip", {"-tq"}), HasSubstr("No errors"));
  EXPECT_THAT(said_by("/usr/bin/bsdtar", {"-tf"}), HasSubstr("archive/few"));
  EXPECT_THAT(said_by("/usr/bin/python3", {"-m", "zipfile", "-t"}), HasSubstr("Done testing"));
  const auto reader = WaczReader::open(path());
  ASSERT_TRUE(reader.ok()) << reader.error().message();
  EXPECT_EQ(*text_of(*reader, "archive/fewä.warc"), "few");
  EXPECT_EQ(*text_of(*reader, "archive/morä.warc"), "more than ten bytes");
}

TEST_F(WaczTest, MoreEntriesThanSixteenBitsCount) {
  ZipWriter zip(sink(), kAtUs);
  for (int i = 0; i < 66'000; ++i) ASSERT_TRUE(zip.begin({std::to_string(i), 0, 0}).ok());
  ASSERT_TRUE(zip.finish().ok());
  out_.close();
  EXPECT_EQ(WaczReader::open(path())->entries().size(), 66'000U);
  EXPECT_THAT(said_by("/usr/bin/python3", {"-m", "zipfile", "-t"}), HasSubstr("Done testing"));
}

TEST_F(WaczTest, EntriesAndTheirDirectoryAreBounded) {
  ZipWriter zip(sink(), kAtUs);
  for (std::size_t i = 0; i <= kWaczEntriesMax; ++i) ASSERT_TRUE(zip.begin({"a", 0, 0}).ok());
  ASSERT_TRUE(zip.finish().ok());
  out_.close();
  EXPECT_EQ(WaczReader::open(path()).error().kind(), Errc::TooLarge);
  // An end that tells of a directory of 64 MiB and a byte.
  write(std::string("PK\5\6\0\0\0\0\0\0\0\0\1\0\0\4\0\0\0\0\0\0", 22));
  EXPECT_EQ(WaczReader::open(path()).error().kind(), Errc::TooLarge);
}

TEST_F(WaczTest, DamageIsAnErrorAndNeverMore) {
  write_wacz();
  const std::string good = *io::read_file(path(), kFileBytesMax);
  const std::size_t directory = good.find("PK\1\2");
  ASSERT_NE(directory, std::string::npos);
  int refused = 0;
  for (std::size_t at = directory; at < good.size(); ++at) {
    for (const char c : {'\0', '\xFF', '\x7F'}) {
      std::string bad = good;
      bad[at] = c;
      write(bad);
      const auto reader = WaczReader::open(path());
      refused += reader.ok() ? 0 : 1;
      if (!reader.ok()) continue;
      for (const WaczEntry& entry : reader->archives()) {
        const auto archive = reader->read_archive(entry);
        while (archive.ok()) {
          const auto record = (*archive)->next();
          if (!record.ok() || !*record) break;
        }
      }
    }
  }
  EXPECT_GT(refused, 0);
  for (const std::string& bytes : {std::string(), std::string("PK\5\6"), good.substr(0, 1000)}) {
    write(bytes);
    EXPECT_EQ(WaczReader::open(path()).error().kind(), Errc::Corrupt);
  }
}

TEST_F(WaczTest, AnArchiveThatIsCompressedInTheZipIsNamed) {
  std::ofstream(folder_ / "x.warc") << std::string(10'000, 'x');
  std::filesystem::create_directory(folder_ / "archive");
  std::filesystem::rename(folder_ / "x.warc", folder_ / "archive/x.warc");
  support::ProgramOptions zip{"/usr/bin/zip", {"-q", "a.wacz", "archive/x.warc"}, {}, {}};
  zip.folder = folder_.path();
  const auto ran = support::run_program(zip);
  ASSERT_TRUE(ran.ok() && ran->status.exited_with(0));
  const auto reader = WaczReader::open(path());
  ASSERT_TRUE(reader.ok());
  ASSERT_EQ(reader->archives().size(), 1U);
  const auto archive = reader->read_archive(reader->archives().front());
  ASSERT_FALSE(archive.ok());
  EXPECT_THAT(archive.error().message(), HasSubstr("archive/x.warc"));
}

TEST(WaczCorpusTest, TheArchivesOfAForeignWaczAreRead) {
  QUERN_CORPUS_OR_SKIP(corpus);
  const auto reader = WaczReader::open(corpus / "warc/scoop/example.com.wacz");
  ASSERT_TRUE(reader.ok()) << reader.error().message();
  EXPECT_EQ(reader->entries().size(), 7U);
  ASSERT_EQ(reader->archives().size(), 1U);
  EXPECT_EQ(reader->archives().front().name, "archive/data.warc");
  const auto archive = reader->read_archive(reader->archives().front());
  ASSERT_TRUE(archive.ok());
  std::vector<std::string> urls;
  while (true) {
    const auto record = (*archive)->next();
    ASSERT_TRUE(record.ok()) << record.error().message();
    if (!*record) break;
    urls.push_back((*record)->type + " " + (*record)->url);
    const auto check = verify_record(**archive, **record);
    ASSERT_TRUE(check.ok());
    EXPECT_NE(check->block, DigestState::Wrong) << urls.back();
  }
  EXPECT_THAT(urls, ::testing::Contains("response https://example.com/"));
}

}  // namespace
}  // namespace quern::web
