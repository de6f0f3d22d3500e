#include "fileset/download.h"

#include "io/fault.h"
#include "support/download_fixture.h"

namespace quern::fileset {
namespace {

using support::Fault;
using support::FaultyRequest;
using Kind = support::Fault::Kind;

class DownloadTest : public DownloadFixture {
 protected:
  static net::Task<> one(DownloadTest* self, std::size_t i, Downloaded* into) {
    DownloadOrder order;
    order.url = self->server_.url("/made/300000/" + std::to_string(i));
    order.part = self->folder_ / ("files/" + std::to_string(i));
    *into = co_await self->outside_->download(std::move(order));
  }
  static net::Task<bool> all_done(net::Loop* loop, std::vector<Downloaded>* done) {
    const auto is_open = [](const Downloaded& each) { return each.status.empty(); };
    while (std::any_of(done->begin(), done->end(), is_open)) {
      co_await loop->sleep_until(net::in_ms(1));
    }
    co_return true;
  }
};

TEST_F(DownloadTest, AFileComesWithAllThatIsKnownOfIt) {
  const Downloaded done = download(order());
  expect_verified(done);
  EXPECT_EQ(done.http_status, 200);
  EXPECT_EQ(done.terminal_url, server_.url("/a"));
  EXPECT_EQ(done.wire_bytes, kTestFileBytes);
  EXPECT_EQ(done.tries, 1);
  EXPECT_EQ(done.address, "127.0.0.1");
  EXPECT_GT(done.began_us, 0);
  EXPECT_EQ(web::find_header(done.headers, "etag"), "\"one\"");
  EXPECT_TRUE(done.request_head.starts_with("GET /a HTTP/1.1\r\n"));
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].header("Accept-Encoding"), "identity");
  EXPECT_EQ(requests[0].header("Range"), "");
  EXPECT_TRUE(note().complete);
  EXPECT_EQ(note().synced, kTestFileBytes);
}

TEST_F(DownloadTest, AFileOfNoBytesIsAFile) {
  server_.put("/empty", {.size = 0});
  expect_verified(download(order("/empty")), "/empty");
  EXPECT_EQ(part_bytes(), "");
  EXPECT_TRUE(std::filesystem::exists(part()));
}

TEST_F(DownloadTest, WhatIsThereAlreadyIsNotAskedFor) {
  const Downloaded first = download(order());
  open();
  const Downloaded again = download(order());
  expect_verified(again);
  EXPECT_EQ(server_.requests().size(), 1U);
  EXPECT_EQ(again.wire_bytes, 0);
  EXPECT_EQ(again.terminal_url, first.terminal_url);
  EXPECT_EQ(again.headers, first.headers);
  EXPECT_EQ(again.request_head, first.request_head);
  EXPECT_EQ(again.began_us, first.began_us);
}

TEST_F(DownloadTest, WhatIsThereAndIsNotTheFileIsFetchedAgain) {
  expect_verified(download(order()));
  {
    std::fstream file(part(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(500'000);
    file.put('?');
  }
  open();
  expect_verified(download(order()));
  EXPECT_EQ(server_.requests().size(), 2U);
}

// Goal: no byte that came is asked for again, in one call.
TEST_F(DownloadTest, AResetIsGoneOnWith) {
  for (const Kind kind : {Kind::Reset, Kind::Cut}) {
    server_.forget_requests();
    const std::string path = kind == Kind::Reset ? "/reset" : "/cut";
    server_.put(path, {.size = kTestFileBytes, .seed = 5});
    server_.add_fault(path, {.kind = kind, .nth = 1, .times = 3, .after = 200'000});
    const Downloaded done = download(order(path));
    expect_verified(done, path);
    EXPECT_EQ(done.wire_bytes, kTestFileBytes) << "each byte once";
    EXPECT_EQ(done.tries, 4);
    const auto requests = server_.requests();
    ASSERT_EQ(requests.size(), 4U);
    EXPECT_EQ(requests[1].header("Range"), "bytes=" + std::to_string(requests[1].offset) + "-");
    EXPECT_EQ(requests[1].header("If-Range"), "\"one\"");
    EXPECT_EQ(note().answers, 4);
    ASSERT_TRUE(remove_part(part()).ok());
  }
}

// Goal: across calls, and processes, only what was not synced is asked for again.
TEST_F(DownloadTest, AnotherDayGoesOnWhereThisOneEnded) {
  server_.add_fault("/a", {.kind = Kind::Cut, .nth = 1, .times = 1, .after = 700'000});
  DownloadOrder once = order();
  once.tries = 1;
  const Downloaded first = download(once);
  EXPECT_EQ(first.status, "error-platform-download");
  EXPECT_TRUE(first.passing);
  EXPECT_EQ(note().synced, 700'000);
  EXPECT_FALSE(note().complete);
  open();
  const Downloaded second = download(order());
  expect_verified(second);
  EXPECT_EQ(second.wire_bytes, kTestFileBytes - 700'000);
  EXPECT_EQ(server_.requests()[1].header("Range"), "bytes=700000-");
  EXPECT_TRUE(second.request_head.find("Range") == std::string::npos)
      << "the first answer's: " << second.request_head;
}

TEST_F(DownloadTest, WhatWasNotSyncedDoesNotCount) {
  server_.add_fault("/a", {.kind = Kind::Cut, .after = 500'000});
  DownloadOrder once = order();
  once.tries = 1;
  (void)download(once);
  ASSERT_EQ(note().synced, 500'000);
  std::ofstream(part(), std::ios::app | std::ios::binary) << "what a crash has left";
  open();
  const Downloaded done = download(order());
  expect_verified(done);
  EXPECT_EQ(server_.requests()[1].header("Range"), "bytes=500000-");
}

TEST_F(DownloadTest, APartThatNobodyKnowsIsThrownAway) {
  const std::string whole = server_.contents("/a");
  struct Case {
    const char* name;
    std::string bytes;
    std::string note;
  };
  PartNote other;
  other.url = server_.url("/other");
  other.synced = 10;
  PartNote longer;
  longer.url = server_.url("/a");
  longer.synced = 2000;
  for (const Case& each :
       {Case{"no note", whole.substr(0, 1000), ""},
        {"no JSON", whole.substr(0, 1000), "{"},
        {"too long", whole.substr(0, 1000), std::string(kPartNoteBytesMax + 1, ' ')},
        {"of another file", "0123456789", to_text(other)},
        {"of more bytes than there are", whole.substr(0, 1000), to_text(longer)}}) {
    server_.forget_requests();
    std::filesystem::create_directories(part().parent_path());
    std::ofstream(part(), std::ios::binary) << each.bytes;
    if (!each.note.empty()) std::ofstream(note_path(part())) << each.note;
    const Downloaded done = download(order());
    expect_verified(done);
    EXPECT_EQ(server_.requests()[0].header("Range"), "") << each.name;
    ASSERT_TRUE(remove_part(part()).ok());
  }
}

TEST_F(DownloadTest, AWeakMarkIsNoneButADateIs) {
  const std::string date = "Mon, 16 Nov 2026 06:00:00 GMT";
  server_.put("/a", {.size = kTestFileBytes, .etag = "W/\"one\"", .last_modified = date});
  server_.add_fault("/a", {.kind = Kind::Cut, .after = 300'000});
  expect_verified(download(order()));
  EXPECT_EQ(server_.requests()[1].header("If-Range"), date);
  EXPECT_EQ(server_.requests()[1].status, 206);
}

TEST_F(DownloadTest, WithoutAnyMarkASumIsWhatMakesItWhole) {
  server_.put("/a", {.size = kTestFileBytes, .etag = ""});
  server_.add_fault("/a", {.kind = Kind::Cut, .after = 300'000});
  expect_verified(download(order()));
  const auto requests = server_.requests();
  EXPECT_EQ(requests[1].header("Range"), "bytes=300000-");
  EXPECT_EQ(requests[1].header("If-Range"), "");
}

TEST_F(DownloadTest, WithoutMarkAndSumItBeginsAgain) {
  server_.put("/a", {.size = kTestFileBytes, .etag = ""});
  server_.add_fault("/a", {.kind = Kind::Cut, .after = 300'000});
  DownloadOrder bare = bare_order();
  bare.size = kTestFileBytes;
  expect_verified(download(bare));
  EXPECT_EQ(server_.requests()[1].header("Range"), "");
}

TEST_F(DownloadTest, AServerWithoutRangesIsAskedForAllOfIt) {
  server_.put("/a", {.size = kTestFileBytes, .ranges = false});
  server_.add_fault("/a", {.kind = Kind::Cut, .after = 300'000});
  const Downloaded done = download(order());
  expect_verified(done);
  EXPECT_EQ(done.wire_bytes, kTestFileBytes + 300'000);
  EXPECT_EQ(note().answers, 1);
}

TEST_F(DownloadTest, TriesThatBringNothingAreCounted) {
  server_.add_fault("/a", {.kind = Kind::Status, .nth = 1, .times = 1000, .status = 503});
  DownloadOrder few = order();
  few.tries = 3;
  const Downloaded done = download(few);
  EXPECT_EQ(done.status, "error-platform-download");
  EXPECT_TRUE(done.passing);
  EXPECT_NE(done.message.find("503"), std::string::npos) << done.message;
  EXPECT_EQ(done.tries, 3);
  EXPECT_EQ(server_.requests().size(), 3U);
  EXPECT_FALSE(part_exists()) << "nothing came";
}

TEST_F(DownloadTest, TriesThatBringAByteEachHaveAnEndToo) {
  options_.attempts_max = 5;
  open();
  server_.add_fault("/a", {.kind = Kind::Cut, .times = 1000, .after = 1});
  const Downloaded done = download(order());
  EXPECT_EQ(done.status, "error-platform-download");
  EXPECT_TRUE(done.passing);
  EXPECT_EQ(done.tries, 5);
  EXPECT_EQ(note().synced, 5);
}

TEST_F(DownloadTest, NoFileIsLargerThanTheLargest) {
  const Downloaded done = download(bare_order("/made/" + std::to_string(kFileBytesMax + 1) + "/1"));
  expect_gone(done, "too-large-size");
}

TEST_F(DownloadTest, WhatDoesNotPassIsAskedOnce) {
  for (const int status : {401, 403, 404, 410, 451}) {
    server_.forget_requests();
    const std::string path = "/" + std::to_string(status);
    server_.put(path, {.size = 10});
    server_.add_fault(path, {.kind = Kind::Status, .times = 100, .status = status});
    const Downloaded done = download(order(path));
    EXPECT_EQ(done.status, "error-platform-download");
    EXPECT_FALSE(done.passing) << status;
    EXPECT_EQ(done.http_status, status);
    EXPECT_EQ(server_.requests().size(), 1U);
  }
}

TEST_F(DownloadTest, AFullDiskKeepsWhatIsThere) {
  DownloadOrder asked = order();
  {
    const io::ScopedFault full(
        {.call = io::FileCall::Write, .nth = 3, .times = 1'000'000, .error_number = ENOSPC});
    const Downloaded done = download(asked);
    EXPECT_EQ(done.status, "error-platform-download");
    EXPECT_TRUE(done.passing);
    EXPECT_NE(done.message.find("full"), std::string::npos) << done.message;
  }
  EXPECT_TRUE(std::filesystem::exists(part()));
  expect_verified(download(asked));
}

// The N-th call of each kind fails: the next download still ends well. A folder's sync is left
// out: nobody goes on after that.
TEST_F(DownloadTest, ADiskThatFailsAtAnyCallOnlyDelays) {
  using io::FileCall;
  int failures = 0;
  for (const FileCall call : {FileCall::Open, FileCall::Write, FileCall::Fsync, FileCall::Rename,
                              FileCall::Unlink, FileCall::Truncate}) {
    bool fired = true;
    for (int nth = 1; fired && nth < 100; ++nth) {
      ASSERT_TRUE(remove_part(part()).ok());
      const DownloadOrder asked = order();
      {
        const io::ScopedFault fault({.call = call, .nth = nth, .error_number = EIO});
        const Downloaded done = download(asked);
        fired = fault.fired();
        if (done.status != "verified-local") {
          ++failures;
          EXPECT_EQ(done.status, "error-platform-download") << to_string(call) << nth;
          EXPECT_TRUE(done.passing) << to_string(call) << nth;
        }
      }
      expect_verified(download(asked));
    }
  }
  EXPECT_GT(failures, 10);
}

TEST_F(DownloadTest, BytesAreSyncedBeforeTheNoteSpeaksOfThem) {
  const io::FileRecorder recorder;
  expect_verified(download(order()));
  std::int64_t written = 0;
  std::int64_t synced = 0;
  int notes = 0;
  for (const io::FileOperation& each : recorder.operations()) {
    const bool of_part = each.path == part().native();
    if (of_part && each.call == io::FileCall::Write) written += each.bytes;
    if (of_part && each.call == io::FileCall::Fsync) synced = written;
    if (each.call == io::FileCall::Rename && each.to == note_path(part()).native()) {
      ++notes;
      EXPECT_GT(synced, 0);
    }
  }
  EXPECT_EQ(synced, kTestFileBytes);
  EXPECT_GE(notes, 2) << "on the way, too";
}

TEST_F(DownloadTest, APartHasOneWriter) {
  auto held = DownloadPart::open(part(), "http://x/");
  ASSERT_TRUE(held.ok());
  const Downloaded done = download(order());
  EXPECT_EQ(done.status, "error-platform-download");
  EXPECT_TRUE(done.passing);
  EXPECT_TRUE(server_.requests().empty());
  held->reset();
  expect_verified(download(order()));
}

TEST_F(DownloadTest, FilesComeSideBySide) {
  std::vector<Downloaded> done(20);
  for (std::size_t i = 0; i < done.size(); ++i) loop_.spawn("test", one(this, i, &done[i]));
  expect_verified(download(order()));
  (void)loop_.run_until(all_done(&loop_, &done));
  for (std::size_t i = 0; i < done.size(); ++i) {
    EXPECT_EQ(done[i].status, "verified-local") << done[i].message;
    EXPECT_EQ(done[i].sha1, digests_of(support::made_bytes(i, 0, 300'000)).sha1);
  }
}

TEST(DownloadRulesTest, PausesDoubleUpToALimit) {
  EXPECT_EQ(backoff_ms(1000, 1), 1000);
  EXPECT_EQ(backoff_ms(1000, 2), 2000);
  EXPECT_EQ(backoff_ms(1000, 4), 8000);
  EXPECT_EQ(backoff_ms(1000, 1000), kBackoffMsMax);
}

TEST(DownloadRulesTest, TheFirstMismatchIsNamed) {
  DownloadOrder order;
  const Digests digests{"m", "s1", "s2"};
  EXPECT_EQ(mismatch_of(order, 5, digests), "") << "nothing is known";
  order.size = 5;
  order.md5 = "m";
  order.sha1 = "s1";
  order.sha256 = "s2";
  EXPECT_EQ(mismatch_of(order, 5, digests), "");
  order.md5 = "x";
  EXPECT_EQ(mismatch_of(order, 5, digests), "mismatch-md5");
  order.sha256 = "x";
  EXPECT_EQ(mismatch_of(order, 5, digests), "mismatch-sha256");
  order.sha1 = "x";
  EXPECT_EQ(mismatch_of(order, 5, digests), "mismatch-sha1");
  order.size = 6;
  EXPECT_EQ(mismatch_of(order, 5, digests), "mismatch-size");
}

}  // namespace
}  // namespace quern::fileset
