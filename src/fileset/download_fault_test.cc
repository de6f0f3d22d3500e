// What faulty servers do to a download: each is repaired, or reported by name.
#include <zlib.h>

#include <atomic>
#include <thread>

#include "fileset/download.h"
#include "support/download_fixture.h"

namespace quern::fileset {
namespace {

using support::Fault;
using Kind = support::Fault::Kind;

class DownloadFaultTest : public DownloadFixture {
 protected:
  // A part of so many bytes, so that the next request asks for the rest.
  void begin_part(std::int64_t bytes, const std::string& path = "/a") {
    server_.add_fault(path, {.kind = Kind::Cut, .nth = 1, .after = bytes});
  }
};

std::string gzip_of(const std::string& text) {
  z_stream stream{};
  CHECK(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST_F(DownloadFaultTest, TooManyRequestsAndBusyServersAreWaitedFor) {
  server_.add_fault(
      "/a", {.kind = Kind::Status, .nth = 1, .status = 429, .headers = {{"Retry-After", "1"}}});
  server_.add_fault("/a", {.kind = Kind::Status, .nth = 2, .status = 503});
  const Downloaded done = download(order());
  expect_verified(done);
  EXPECT_EQ(done.tries, 3);
}

TEST_F(DownloadFaultTest, AHostThatWantsMorePatienceThanWeHaveIsReported) {
  server_.add_fault(
      "/a",
      {.kind = Kind::Status, .times = 100, .status = 429, .headers = {{"Retry-After", "3600"}}});
  const Downloaded done = download(order());
  EXPECT_EQ(done.status, "error-platform-download");
  EXPECT_TRUE(done.passing);
  EXPECT_NE(done.message.find("left alone"), std::string::npos) << done.message;
  EXPECT_EQ(server_.requests().size(), 1U);
  const Downloaded next = download(order());
  EXPECT_TRUE(next.passing);
  EXPECT_EQ(server_.requests().size(), 1U) << "it is left alone";
}

TEST_F(DownloadFaultTest, AnAllowanceThatIsUsedUpHoldsTheHost) {
  server_.put("/a", {.size = 10,
                     .headers = {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "7200"}}});
  expect_verified(download(order()));
  ASSERT_TRUE(remove_part(part()).ok());
  const Downloaded next = download(order());
  EXPECT_EQ(next.status, "error-platform-download");
  EXPECT_TRUE(next.passing);
  EXPECT_EQ(server_.requests().size(), 1U);
}

TEST_F(DownloadFaultTest, AWrongRangeIsNotTaken) {
  for (const Kind kind : {Kind::WrongStart, Kind::WrongTotal}) {
    const std::string path = kind == Kind::WrongStart ? "/start" : "/total";
    server_.put(path, {.size = kTestFileBytes, .seed = 3});
    begin_part(400'000, path);
    server_.add_fault(path, {.kind = kind, .nth = 2});
    const Downloaded done = download(order(path));
    expect_verified(done, path);
    EXPECT_EQ(done.wire_bytes, kTestFileBytes) << "nothing of it was taken, nothing was lost";
    ASSERT_TRUE(remove_part(part()).ok());
  }
}

TEST_F(DownloadFaultTest, RangesThatAreAlwaysWrongAreDoneWithout) {
  begin_part(400'000);
  server_.add_fault("/a", {.kind = Kind::WrongStart, .nth = 2, .times = kOddAnswersMax});
  const Downloaded done = download(order());
  expect_verified(done);
  EXPECT_EQ(done.wire_bytes, kTestFileBytes + 400'000);
}

TEST_F(DownloadFaultTest, AFileThatChangesIsBegunAgain) {
  const support::FaultyFile second{.size = 800'000, .seed = 2, .etag = "\"two\""};
  begin_part(400'000);
  server_.add_fault("/a", {.kind = Kind::Changed, .nth = 2, .changed = second});
  const Digests digests = digests_of(support::made_bytes(2, 0, 800'000));
  DownloadOrder asked = bare_order();
  asked.sha1 = digests.sha1;
  const Downloaded done = download(asked);
  expect_verified(done);
  EXPECT_EQ(server_.requests()[1].header("If-Range"), "\"one\"");
  EXPECT_EQ(server_.requests()[1].status, 200);
  EXPECT_EQ(web::find_header(done.headers, "ETag"), "\"two\"") << "not the first answer's";
}

// A server that gives the range although the tag is another.
TEST_F(DownloadFaultTest, ARangeOfAnotherVersionIsNotTaken) {
  server_.put("/a", {.size = kTestFileBytes, .etag = "W/\"one\""});
  begin_part(400'000);
  server_.add_fault("/a", {.kind = Kind::Changed,
                           .nth = 2,
                           .changed = {.size = kTestFileBytes, .seed = 2, .etag = "W/\"two\""}});
  DownloadOrder asked = bare_order();
  asked.sha1 = digests_of(support::made_bytes(2, 0, kTestFileBytes)).sha1;
  const Downloaded done = download(asked);
  expect_verified(done);
  EXPECT_EQ(server_.requests()[1].status, 206);
  EXPECT_EQ(note().answers, 1);
}

TEST_F(DownloadFaultTest, AFileThatChangedFromWhatTheManifestSaysDoesNotMatch) {
  begin_part(400'000);
  DownloadOrder asked = order();
  server_.add_fault("/a", {.kind = Kind::Changed,
                           .nth = 2,
                           .changed = {.size = kTestFileBytes, .seed = 2, .etag = "\"two\""}});
  expect_gone(download(asked), "mismatch-sha1");
}

TEST_F(DownloadFaultTest, AWholeAnswerInPlaceOfARangeIsTakenAsOne) {
  begin_part(400'000);
  server_.add_fault("/a", {.kind = Kind::WholeAnyway, .nth = 2});
  const Downloaded done = download(order());
  expect_verified(done);
  EXPECT_EQ(done.wire_bytes, kTestFileBytes + 400'000);
}

TEST_F(DownloadFaultTest, AnErrorsPageIsNotTheFile) {
  server_.add_fault("/a", {.kind = Kind::ErrorPage, .nth = 1, .times = 2});
  const Downloaded done = download(order());
  expect_verified(done);
  EXPECT_EQ(done.wire_bytes, kTestFileBytes);
}

TEST_F(DownloadFaultTest, AnErrorsPageInPlaceOfTheRestKeepsThePart) {
  begin_part(400'000);
  server_.add_fault("/a", {.kind = Kind::ErrorPage, .nth = 2});
  const Downloaded done = download(order());
  expect_verified(done);
  EXPECT_EQ(done.wire_bytes, kTestFileBytes);
}

// With 200, where only the length and the missing tag tell it from the file.
TEST_F(DownloadFaultTest, AWholeErrorsPageInPlaceOfTheRestKeepsThePart) {
  for (const bool sized : {true, false}) {
    const std::string path = sized ? "/sized" : "/unsized";
    server_.put(path, {.size = kTestFileBytes});
    begin_part(400'000, path);
    server_.add_fault(path,
                      {.kind = Kind::Status, .nth = 2, .times = kOddAnswersMax, .status = 200});
    DownloadOrder asked = order(path);
    if (!sized) asked.size.reset();
    const Downloaded done = download(asked);
    EXPECT_EQ(done.status, sized ? "error-platform-download" : "verified-local") << done.message;
    if (!sized) continue;
    EXPECT_TRUE(done.passing);
    EXPECT_EQ(note().synced, 400'000);
    expect_verified(download(asked), path);
    EXPECT_EQ(server_.requests(path).back().header("Range"), "bytes=400000-");
    ASSERT_TRUE(remove_part(part()).ok());
  }
}

TEST_F(DownloadFaultTest, AFileThatIsNeverTheManifestsSizeDoesNotMatch) {
  DownloadOrder asked = order();
  asked.size = kTestFileBytes + 5;
  const Downloaded done = download(asked);
  expect_gone(done, "mismatch-size");
  EXPECT_EQ(done.wire_bytes, 0) << "its length told";
  EXPECT_EQ(server_.requests().size(), static_cast<std::size_t>(kOddAnswersMax));
}

TEST_F(DownloadFaultTest, ErrorXmlInTheMiddleOfAResumedStreamIsRepaired) {
  begin_part(400'000);
  server_.add_fault("/a", {.kind = Kind::Garbage, .nth = 2, .after = 100'000});
  const Downloaded done = download(order());
  expect_verified(done);
  EXPECT_EQ(done.wire_bytes, 2 * kTestFileBytes) << "once more, as a whole";
  EXPECT_EQ(server_.requests()[2].header("Range"), "");
}

TEST_F(DownloadFaultTest, ACorruptedByteOfAResumedFileIsRepaired) {
  begin_part(400'000);
  server_.add_fault("/a", {.kind = Kind::Corrupt, .nth = 2, .after = 7});
  expect_verified(download(order()));
}

TEST_F(DownloadFaultTest, BytesThatAreWrongAgainAreReported) {
  begin_part(400'000);
  server_.add_fault("/a", {.kind = Kind::Corrupt, .nth = 2, .times = 100, .after = 7});
  const Downloaded done = download(order());
  expect_gone(done, "mismatch-sha1");
  EXPECT_EQ(server_.requests().size(), 3U) << "one new download, not more";
}

TEST_F(DownloadFaultTest, ACorruptedByteIsReportedByTheSumThatTells) {
  server_.add_fault("/a", {.kind = Kind::Corrupt, .times = 100, .after = 999'999});
  const DownloadOrder whole = order();
  DownloadOrder asked = whole;
  expect_gone(download(asked), "mismatch-sha1");
  asked.sha1.clear();
  expect_gone(download(asked), "mismatch-sha256");
  asked.sha256.clear();
  expect_gone(download(asked), "mismatch-md5");
}

TEST_F(DownloadFaultTest, AShortFileDoesNotMatch) {
  DownloadOrder asked = order();
  server_.put("/a", {.size = kTestFileBytes - 1});
  expect_gone(download(asked), "mismatch-size");
  server_.add_fault("/a", {.kind = Kind::NoLength, .nth = 1, .times = 100});
  expect_gone(download(asked), "mismatch-size");
}

TEST_F(DownloadFaultTest, WithoutALengthTheEndIsTheEnd) {
  server_.add_fault("/a", {.kind = Kind::NoLength, .times = 100});
  expect_verified(download(bare_order()));
}

TEST_F(DownloadFaultTest, WithoutALengthAnEndThatIsTooEarlyIsGoneOnWith) {
  const std::string text = server_.contents("/a");
  DownloadOrder asked = order();
  server_.put("/a", {.bytes = text.substr(0, 300'000)});
  server_.add_fault("/a", {.kind = Kind::NoLength, .nth = 1});
  server_.add_fault("/a", {.kind = Kind::Changed, .nth = 2, .changed = {.bytes = text}});
  const Downloaded done = download(asked);
  expect_verified(done);
  EXPECT_EQ(done.wire_bytes, kTestFileBytes);
  EXPECT_EQ(server_.requests()[1].header("Range"), "bytes=300000-");
}

TEST_F(DownloadFaultTest, ALongFileDoesNotMatch) {
  server_.add_fault("/a", {.kind = Kind::TooLong, .times = 100});
  expect_gone(download(order()), "mismatch-size");
}

TEST_F(DownloadFaultTest, AFileBeyondTheLimitIsTooLarge) {
  for (const bool told : {true, false}) {
    if (!told) server_.add_fault("/a", {.kind = Kind::NoLength, .nth = 1, .times = 100});
    DownloadOrder asked = bare_order();
    asked.bytes_max = kTestFileBytes - 1;
    const Downloaded done = download(asked);
    expect_gone(done, "too-large-size");
    EXPECT_EQ(done.wire_bytes == 0, told);
  }
}

TEST_F(DownloadFaultTest, ASignedAddressIsAskedForAnewEachTime) {
  server_.add_fault("/a", {.kind = Kind::Signed, .times = 100, .uses = 1});
  server_.put("/signed/a", {});
  server_.add_fault("/signed/a", {.kind = Kind::Reset, .nth = 1, .after = 300'000});
  const Downloaded done = download(order());
  expect_verified(done);
  EXPECT_EQ(done.wire_bytes, kTestFileBytes);
  EXPECT_EQ(done.terminal_url, server_.url("/signed/a?X-Signature=1"));
  EXPECT_EQ(server_.requests("/a").size(), 2U);
  ASSERT_EQ(server_.requests("/signed/a?X-Signature=2").size(), 1U);
  EXPECT_EQ(server_.requests("/signed/a?X-Signature=2")[0].status, 206);
}

TEST_F(DownloadFaultTest, ASignedAddressThatHasExpiredIsAskedForAgain) {
  server_.add_fault("/a", {.kind = Kind::Signed, .nth = 1, .times = 2, .uses = 0});
  server_.add_fault("/a", {.kind = Kind::Signed, .nth = 3, .uses = 1});
  const Downloaded done = download(order());
  expect_verified(done);
  EXPECT_EQ(done.tries, 3);
}

TEST_F(DownloadFaultTest, AServerThatFallsSilentIsAskedAgain) {
  server_.add_fault("/a", {.kind = Kind::Hang, .nth = 1, .after = 300'000});
  DownloadOrder asked = order();
  asked.idle_ms = 300;
  const Downloaded done = download(asked);
  expect_verified(done);
  EXPECT_EQ(done.wire_bytes, kTestFileBytes);
}

TEST_F(DownloadFaultTest, ASlowDripEndsWithTheTimeAndKeepsWhatCame) {
  server_.add_fault("/a", {.kind = Kind::Drip, .nth = 1, .after = 1000, .drip_ms = 5});
  DownloadOrder asked = order();
  asked.total_ms = 2000;  // of the five thousand seconds that it would take
  const Downloaded done = download(asked);
  EXPECT_EQ(done.status, "error-platform-download");
  EXPECT_TRUE(done.passing);
  EXPECT_GT(note().synced, 0);
  expect_verified(download(order()));
}

// Nothing but the mark ends any of these before the test's own time is up.
class DownloadStopTest : public DownloadFaultTest {
 protected:
  DownloadOrder patient_order() {
    DownloadOrder asked = order();
    asked.idle_ms = asked.total_ms = 3'600'000;
    asked.stop = std::make_shared<std::atomic<bool>>(false);
    return asked;
  }
  // Sets the mark once the condition holds.
  template <class Condition>
  Downloaded stopped_once(DownloadOrder asked, Condition holds) {
    std::thread stopper([&, stop = asked.stop] {
      while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      stop->store(true);
    });
    Downloaded done = download(std::move(asked));
    stopper.join();
    return done;
  }
  bool has_bytes() const {
    std::error_code none;
    return std::filesystem::file_size(part(), none) > 0 && !none;
  }
};

TEST_F(DownloadStopTest, WhatNobodyWantsAnyMoreEndsAndKeepsWhatCame) {
  for (const Kind kind : {Kind::Hang, Kind::Drip}) {
    const std::string path = kind == Kind::Hang ? "/hang" : "/drip";
    server_.put(path, {.size = kTestFileBytes, .seed = 5});
    server_.add_fault(path, {.kind = kind, .nth = 1, .after = 600'000, .drip_ms = 1000});
    DownloadOrder asked = patient_order();
    asked.url = server_.url(path);
    asked.md5 = asked.sha1 = asked.sha256 = "";
    const Downloaded done = stopped_once(asked, [this] { return has_bytes(); });
    EXPECT_EQ(done.status, "canceled");
    EXPECT_FALSE(done.passing);
    EXPECT_GE(note().synced, 600'000);
    const Downloaded next = download(order(path));
    expect_verified(next, path);
    EXPECT_EQ(done.wire_bytes + next.wire_bytes, kTestFileBytes);
    ASSERT_TRUE(remove_part(part()).ok());
  }
}

TEST_F(DownloadStopTest, NobodyWaitsForAHostOrBetweenTriesAfterwards) {
  options_.backoff_ms = 3'600'000;
  open();
  server_.add_fault("/a", {.kind = Kind::Status, .times = 100, .status = 503});
  const auto was_asked = [this] { return !server_.requests().empty(); };
  EXPECT_EQ(stopped_once(patient_order(), was_asked).status, "canceled");
  options_.backoff_ms = 1;
  open();
  server_.put("/b", {.size = 10});
  server_.add_fault(
      "/b",
      {.kind = Kind::Status, .times = 100, .status = 429, .headers = {{"Retry-After", "500"}}});
  server_.forget_requests();
  DownloadOrder held = patient_order();
  held.url = server_.url("/b");
  EXPECT_EQ(stopped_once(held, was_asked).status, "canceled");
  EXPECT_EQ(server_.requests().size(), 1U);
}

TEST_F(DownloadStopTest, AQuestionThatNobodyWantsAnsweredEnds) {
  server_.add_fault("/a", {.kind = Kind::Hang, .nth = 1, .after = 10});
  Ask question;
  question.url = server_.url("/a");
  question.total_ms = 3'600'000;
  question.stop = std::make_shared<std::atomic<bool>>(false);
  std::thread stopper([this, stop = question.stop] {
    while (server_.requests().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop->store(true);
  });
  EXPECT_EQ(ask(question).problem, web::FetchProblem::Canceled);
  stopper.join();
}

TEST_F(DownloadFaultTest, AGzipFileIsKeptAsItIs) {
  const std::string packed = gzip_of(std::string(300'000, 'x') + "the end");
  server_.put("/a", {.bytes = packed});
  expect_verified(download(order()));
  ASSERT_TRUE(remove_part(part()).ok());
  // Also where the server calls it a coding.
  server_.put("/a", {.bytes = packed, .content_encoding = "gzip"});
  expect_verified(download(order()));
  ASSERT_TRUE(remove_part(part()).ok());
  const Downloaded unknown = download(bare_order());
  expect_verified(unknown);
}

TEST_F(DownloadFaultTest, WhatWasCodedOnTheWayIsDecodedIfTheManifestSaysSo) {
  const std::string text = std::string(300'000, 'x') + "the end";
  server_.put("/a", {.bytes = gzip_of(text), .content_encoding = "gzip"});
  DownloadOrder asked = bare_order();
  asked.size = static_cast<std::int64_t>(text.size());
  asked.md5 = digests_of(text).md5;
  const Downloaded done = download(asked);
  EXPECT_EQ(done.status, "verified-local") << done.message;
  EXPECT_TRUE(part_bytes() == text);
  EXPECT_EQ(done.size, *asked.size);
  EXPECT_EQ(done.sha1, digests_of(text).sha1);
  open();
  EXPECT_EQ(download(asked).status, "verified-local");
  EXPECT_EQ(server_.requests().size(), 1U);
}

TEST_F(DownloadFaultTest, ABombIsNotDecodedBeyondItsSize) {
  server_.put("/a", {.bytes = gzip_of(std::string(8 << 20, '\0')), .content_encoding = "gzip"});
  DownloadOrder asked = bare_order();
  asked.size = 1000;
  expect_gone(download(asked), "mismatch-size");
}

TEST_F(DownloadFaultTest, AnAddressThatIsNotPublicIsNotAsked) {
  DownloadOrder asked = bare_order();
  asked.url = "http://127.0.0.2:" + std::to_string(server_.port()) + "/a";
  const Downloaded done = download(asked);
  EXPECT_EQ(done.status, "error-platform-download");
  EXPECT_FALSE(done.passing);
  EXPECT_TRUE(server_.requests().empty());
  asked.url = "ftp://x/";
  EXPECT_EQ(download(asked).status, "error-platform-download");
}

}  // namespace
}  // namespace quern::fileset
