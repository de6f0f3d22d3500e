#include "web/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <thread>

#include "io/fault.h"
#include "io/file.h"
#include "support/fake_clock.h"
#include "support/temp_folder.h"
#include "support/warc_fixture.h"
#include "web/archives.h"
#include "web/body.h"
#include "web/warc_message.h"

namespace quern::web {
namespace {

using ::testing::MatchesRegex;
using ::testing::SizeIs;
using ::testing::StartsWith;

CaptureOrder page(const std::string& url, std::string body = "hello") {
  CaptureOrder order;
  order.url = url;
  order.at_us = 1'794'808'800'000'000;
  order.request_head = "GET / HTTP/1.1\r\n\r\n";
  order.response_head = "HTTP/1.1 200 OK\r\n\r\n";
  order.body = BodyWriter::in_memory(std::move(body));
  return order;
}

// What no compression makes smaller.
std::string noise(std::size_t bytes, unsigned seed = 1) {
  std::string text(bytes, '\0');
  for (char& c : text) {
    seed = seed * 1'664'525 + 1'013'904'223;
    c = static_cast<char>(seed >> 24);
  }
  return text;
}

// As many as may be are open; whoever has one goes on with it.
TEST(ArchivesTest, TheOneUsedLongestAgoIsClosedWhereThereAreTooMany) {
  const support::TempFolder folder;
  Archives archives({.folder = folder.path(), .software = "quern/test", .open_max = 2});
  const auto write = [](const std::shared_ptr<Archive>& archive, const std::string& url) {
    const Result<ArchiveEntry> entry = archive->append(page(url));
    EXPECT_TRUE(entry.ok()) << entry.error().message();
    return entry.ok() ? entry->filename : "";
  };
  const std::shared_ptr<Archive> held = archives.of("a");
  const std::string first = write(held, "http://site.example/1");
  const std::string other = write(archives.of("b"), "http://site.example/2");
  EXPECT_EQ(write(archives.of("a"), "http://site.example/3"), first);
  write(archives.of("c"), "http://site.example/4");  // instead of b
  EXPECT_EQ(archives.size(), 2u);
  EXPECT_EQ(write(archives.of("a"), "http://site.example/5"), first);
  EXPECT_NE(write(archives.of("b"), "http://site.example/6"), other);
  archives.close("a");
  EXPECT_EQ(write(held, "http://site.example/7"), first);
  EXPECT_NE(write(archives.of("a"), "http://site.example/8"), first);
  EXPECT_EQ(io::list_folder(folder.path(), 100)->size(), 5u);
}

class ArchiveTest : public ::testing::Test {
 protected:
  std::unique_ptr<Archive> open(std::int64_t bytes_max = kWarcBytesMax) {
    auto archive = Archive::open(
        {.folder = folder_ / "warc", .software = "quern/test", .bytes_max = bytes_max});
    EXPECT_TRUE(archive.ok()) << archive.error().message();
    return *std::move(archive);
  }
  std::filesystem::path path_of(const std::string& name) const { return folder_ / "warc" / name; }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : *io::list_folder(folder_ / "warc", 1000)) names.push_back(entry.name);
    return names;
  }
  std::string bytes_of(const std::string& name) const {
    return *io::read_file(path_of(name), 1 << 28);
  }
  // The types of a file's records; "error" where reading ends with one.
  std::vector<std::string> types_in(const std::string& name) const {
    const std::string bytes = bytes_of(name);
    WarcReader reader(support::source_of(bytes));
    std::vector<std::string> types;
    while (true) {
      const auto record = reader.next();
      if (!record.ok()) types.emplace_back("error");
      if (!record.ok() || !*record) return types;
      types.push_back((*record)->type);
    }
  }
  std::string url_at(const ArchiveEntry& entry) const {
    const auto reader = Archive::read_at(path_of(entry.filename), entry.offset);
    EXPECT_TRUE(reader.ok());
    const auto record = (*reader)->next();
    EXPECT_TRUE(record.ok() && *record);
    EXPECT_EQ((*record)->offset, entry.offset);
    EXPECT_EQ(verify_record(**reader, **record)->block, DigestState::Right);
    EXPECT_EQ((*reader)->position(), entry.offset + entry.length);
    return (*record)->url;
  }

  support::TempFolder folder_;
};

TEST_F(ArchiveTest, WhatWasAppendedIsReadFromItsPlace) {
  const auto archive = open();
  EXPECT_THAT(files(), SizeIs(0)) << "a file is made for the first capture";
  const auto first = archive->append(page("http://a.example/1"));
  ASSERT_TRUE(first.ok()) << first.error().message();
  const auto second = archive->append(page("http://a.example/2", noise(1'000'000)));
  ASSERT_TRUE(second.ok()) << second.error().message();
  EXPECT_THAT(first->filename, MatchesRegex("quern-20[0-9]{12}-[0-9a-f]{12}\\.warc\\.gz"));
  EXPECT_EQ(first->filename, second->filename);
  EXPECT_EQ(first->end, second->offset);
  EXPECT_THAT(first->payload_digest, StartsWith("sha1:"));
  EXPECT_EQ(url_at(*first), "http://a.example/1");
  EXPECT_EQ(url_at(*second), "http://a.example/2");
  EXPECT_EQ(static_cast<std::int64_t>(bytes_of(first->filename).size()), second->end);
  EXPECT_THAT(types_in(first->filename),
              ::testing::ElementsAre("warcinfo", "response", "request", "response", "request"));
}

TEST_F(ArchiveTest, ManyThreadsAppendAndEachRecordIsOnceInItsPlace) {
  const auto archive = open(60'000);  // several files
  constexpr int kThreads = 8;
  constexpr int kEach = 40;
  std::vector<std::vector<std::pair<std::string, ArchiveEntry>>> made(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          const std::string url = "http://a.example/" + std::to_string(t * 1000 + i);
          auto entry = archive->append(page(url, noise(1000, static_cast<unsigned>(i))));
          ASSERT_TRUE(entry.ok()) << entry.error().message();
          made[static_cast<std::size_t>(t)].emplace_back(url, *std::move(entry));
        }
      });
    }
  }
  std::set<std::pair<std::string, std::int64_t>> places;
  for (const auto& of_thread : made) {
    for (const auto& [url, entry] : of_thread) {
      EXPECT_EQ(url_at(entry), url);
      places.emplace(entry.filename, entry.offset);
    }
  }
  EXPECT_EQ(places.size(), static_cast<std::size_t>(kThreads * kEach));
  std::size_t records = 0;
  for (const std::string& name : files()) {
    const auto types = types_in(name);
    records += static_cast<std::size_t>(std::count(types.begin(), types.end(), "response"));
    EXPECT_EQ(types.front(), "warcinfo");
    EXPECT_LE(bytes_of(name).size(), 60'000U);
  }
  EXPECT_EQ(records, places.size());
  EXPECT_GT(files().size(), 5U);
}

TEST_F(ArchiveTest, AFileEndsBySizeByAgeAndWhenAsked) {
  support::FakeClock clock;
  auto archive = Archive::open({.folder = folder_ / "warc",
                                .software = "x",
                                .prefix = "site_1",
                                .bytes_max = 5'000,
                                .age_ms_max = 1000,
                                .clock = &clock});
  ASSERT_TRUE(archive.ok());
  const auto name = [&](std::size_t bytes) {
    const auto entry = (*archive)->append(page("http://a.example/", noise(bytes)));
    EXPECT_TRUE(entry.ok());
    return entry->filename;
  };
  const std::string first = name(100);
  EXPECT_THAT(first, StartsWith("site_1-"));
  EXPECT_EQ(name(100), first);
  ASSERT_TRUE((*archive)->rotate().ok());
  const std::string second = name(100);
  EXPECT_NE(second, first);
  const std::string third = name(100'000);  // does not fit, and stands alone
  EXPECT_NE(third, second);
  const std::string fourth = name(100);
  EXPECT_NE(fourth, third);
  clock.advance_us(1'000'001);
  EXPECT_NE(name(100), fourth);
  EXPECT_THAT(files(), SizeIs(5));
}

TEST_F(ArchiveTest, ARecordIsSyncedBeforeItsPlaceIsTold) {
  const auto archive = open();
  const io::FileRecorder recorder;
  const auto entry = archive->append(page("http://a.example/"));
  ASSERT_TRUE(entry.ok());
  bool folder_synced = false;
  std::int64_t written = 0;
  std::int64_t synced = 0;
  for (const io::FileOperation& operation : recorder.operations()) {
    if (operation.call == io::FileCall::SyncFolder) folder_synced = true;
    if (operation.call == io::FileCall::Write) {
      EXPECT_TRUE(folder_synced) << "the name is durable before the first byte";
      written = operation.offset + operation.bytes;
    }
    if (operation.call == io::FileCall::Fsync) synced = written;
  }
  EXPECT_EQ(synced, entry->end);
}

// Whichever call finds the disk full: what was told before is there, and later ones go through.
TEST_F(ArchiveTest, AFullDiskLeavesAUsableArchive) {
  for (int nth = 1;; ++nth) {
    const auto archive = open();
    if (nth % 2 == 0) ASSERT_TRUE(archive->append(page("http://a.example/before")).ok());
    bool fired = false;
    {
      const io::ScopedFault fault(
          {.call = io::FileCall::Write, .nth = (nth + 1) / 2, .error_number = ENOSPC});
      const auto failed = archive->append(page("http://a.example/failed", noise(500'000)));
      fired = fault.fired();
      if (fired) EXPECT_EQ(failed.error().kind(), Errc::Full);
      if (!fired) EXPECT_TRUE(failed.ok());
    }
    const auto after = archive->append(page("http://a.example/after"));
    ASSERT_TRUE(after.ok()) << after.error().message();
    EXPECT_EQ(url_at(*after), "http://a.example/after");
    for (const std::string& name : files()) {
      for (const std::string& type : types_in(name)) EXPECT_NE(type, "error") << nth;
    }
    if (!fired && nth % 2 == 0) break;
    ASSERT_LT(nth, 100);
  }
}

TEST_F(ArchiveTest, BytesThatCannotBeTakenOffAreLeftBehindTheLastRecord) {
  const auto archive = open();
  const auto before = archive->append(page("http://a.example/before"));
  ASSERT_TRUE(before.ok());
  {
    // The second piece of the record does not fit, and the cut fails as well.
    const io::ScopedFault fault({.nth = 2, .times = 2, .error_number = EIO});
    ASSERT_FALSE(archive->append(page("http://a.example/failed", noise(200'000))).ok());
  }
  const auto after = archive->append(page("http://a.example/after"));
  ASSERT_TRUE(after.ok());
  EXPECT_NE(after->filename, before->filename) << "another file begins";
  EXPECT_EQ(types_in(before->filename).back(), "error");
  ASSERT_TRUE(Archive::cut_back(path_of(before->filename), before->end).ok());
  EXPECT_EQ(types_in(before->filename).back(), "request");
}

TEST_F(ArchiveTest, AFailedSyncIsToldToAllWhoWaitedForIt) {
  const auto archive = open();
  const auto before = archive->append(page("http://a.example/before"));
  ASSERT_TRUE(before.ok());
  {
    const io::ScopedFault fault({.call = io::FileCall::Fsync, .error_number = EIO});
    EXPECT_FALSE(archive->append(page("http://a.example/lost")).ok());
  }
  const auto after = archive->append(page("http://a.example/after"));
  ASSERT_TRUE(after.ok());
  EXPECT_NE(after->filename, before->filename);
  EXPECT_EQ(url_at(*before), "http://a.example/before");
  EXPECT_EQ(static_cast<std::int64_t>(bytes_of(before->filename).size()), before->end);
}

class CutBackTest : public ArchiveTest {
 protected:
  // Two captures, of which the first is known; the process has ended.
  void SetUp() override {
    const auto archive = open();
    known_ = *archive->append(page("http://a.example/known"));
    whole_ = *archive->append(page("http://a.example/unknown"));
    file_ = path_of(known_.filename);
  }

  ArchiveEntry known_;
  ArchiveEntry whole_;
  std::filesystem::path file_;
};

TEST_F(CutBackTest, WhatNobodyKnowsGoes) {
  for (std::int64_t size = whole_.end; size >= known_.end; size -= 7) {
    std::filesystem::resize_file(file_, static_cast<std::uintmax_t>(size));  // a torn member
    ASSERT_TRUE(Archive::cut_back(file_, known_.end).ok());
    EXPECT_EQ(std::filesystem::file_size(file_), static_cast<std::uintmax_t>(known_.end));
    std::ofstream(file_, std::ios::app) << noise(400);
  }
  ASSERT_TRUE(Archive::cut_back(file_, known_.end).ok());
  EXPECT_THAT(types_in(known_.filename), ::testing::ElementsAre("warcinfo", "response", "request"));
  ASSERT_TRUE(Archive::cut_back(file_, known_.end).ok()) << "and again";
}

TEST_F(CutBackTest, AFileInWhichNothingIsKnownGoes) {
  ASSERT_TRUE(Archive::cut_back(file_, 0).ok());
  EXPECT_THAT(files(), SizeIs(0));
  ASSERT_TRUE(Archive::cut_back(file_, 0).ok()) << "and again";
}

TEST_F(CutBackTest, TheWarcinfoStays) {
  ASSERT_TRUE(Archive::cut_back(file_, 1).ok());
  EXPECT_THAT(types_in(known_.filename), ::testing::ElementsAre("warcinfo"));
}

TEST_F(CutBackTest, WhatIsKnownAndNotThereIsAnError) {
  EXPECT_EQ(Archive::cut_back(file_, whole_.end + 1).error().kind(), Errc::Corrupt);
  EXPECT_EQ(Archive::cut_back(folder_ / "no.warc.gz", 1).error().kind(), Errc::Missing);
}

TEST_F(CutBackTest, AFileOfALivingProcessIsLeftAlone) {
  const auto archive = open();
  const auto entry = archive->append(page("http://a.example/"));
  ASSERT_TRUE(entry.ok());
  EXPECT_EQ(Archive::cut_back(path_of(entry->filename), 0).error().kind(), Errc::Busy);
  EXPECT_EQ(url_at(*entry), "http://a.example/");
}

TEST_F(ArchiveTest, APrefixIsPartOfAName) {
  for (const char* prefix : {"", "a/b", "..", "a b", "ä"}) {
    EXPECT_EQ(Archive::open({.folder = folder_ / "warc", .prefix = prefix}).error().kind(),
              Errc::Invalid);
  }
}

}  // namespace
}  // namespace quern::web
