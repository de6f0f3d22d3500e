// Blobs in a bucket of a real S3: what holds for a folder holds there.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <thread>

#include "blob/place.h"
#include "blob/s3_backend.h"
#include "conformance/blob_fixture.h"
#include "support/proc.h"
#include "support/s3.h"

namespace quern::blob {
namespace {

using support::S3Server;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kLarge = kInlineBytesMax + 1;
constexpr Sql kCountSessions{"SELECT count(*) FROM blob_session"};

class BlobS3Test : public BlobTest {
 protected:
  void SetUp() override {
    static int tests = 0;
    prefix_ = "test/" + std::to_string(++tests);
    ::setenv("AWS_ACCESS_KEY_ID", S3Server::kAccessKey.c_str(), 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", S3Server::kSecretKey.c_str(), 1);
    client_ = *S3Client::open(blobs_url(), credentials(), {});
    CHECK_OK(client_->call({.method = "PUT"}));  // the bucket; it may be there
    BlobTest::SetUp();
  }

  static S3Credentials credentials() { return *S3Credentials::from_environment(); }
  BlobUrl blobs_url() override {
    return *BlobUrl::parse("s3://blobs/" + prefix_ + "?endpoint=" + S3Server::shared().endpoint());
  }
  void put_object(const std::string& place, std::string_view bytes) {
    CHECK_OK(client_->call({.method = "PUT", .key = prefix_ + "/" + place, .body = bytes}));
  }
  // All that lies under our prefix.
  std::vector<std::string> objects() {
    std::vector<std::string> found;
    std::string last_session;
    while (true) {
      const auto sessions = blobs_->backend().list_sessions(last_session);
      CHECK_OK(sessions);
      if (sessions->empty()) return found;
      for (const std::string& session : *sessions) {
        std::string after;
        do {
          const Result<Listing> listing = blobs_->backend().list(session, after);
          CHECK_OK(listing);
          found.insert(found.end(), listing->places.begin(), listing->places.end());
          after = listing->next;
        } while (!after.empty());
      }
      last_session = sessions->back();
    }
  }
  std::string session_name_of(const std::string& place) { return place.substr(0, place.find('/')); }

  std::string prefix_;
  std::unique_ptr<S3Client> client_;
};

// Where the store of rows has no part in it, one will do.
class BlobS3OnlyTest : public BlobS3Test {};

TEST_P(BlobS3Test, BytesOfEverySizeComeBackAsTheyWere) {
  std::int64_t key = 0;
  for (const std::size_t size :
       {std::size_t{0}, kInlineBytesMax, kLarge, kPieceBytes + 1, kS3PartBytes - 1, kS3PartBytes,
        kS3PartBytes + 1, 2 * kS3PartBytes + 12345}) {
    const std::string bytes = bytes_of(size, ++key);
    put_and_hold(key, bytes);
    const Blob blob = blob_of(key);
    EXPECT_EQ(blob.bytes, static_cast<std::int64_t>(size));
    EXPECT_EQ(blob.sha256, sha256_of(bytes));
    EXPECT_TRUE(contents(blob) == bytes) << size;
    EXPECT_EQ(blobs_->path_of(blob), std::nullopt);
  }
  EXPECT_THAT(*check_blobs(*blobs_), IsEmpty());
  EXPECT_THAT(objects(), SizeIs(6));
}

TEST_P(BlobS3Test, AnyRangeCanBeRead) {
  const std::string bytes = bytes_of(3'000'000, 1);
  put_and_hold(1, bytes);
  const Result<BlobReader> reader = blobs_->open_blob(blob_of(1));
  ASSERT_TRUE(reader.ok());
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1'500'000}, std::size_t{999'999},
                                   bytes.size() - 1, bytes.size(), bytes.size() + 7}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{2'000'000}}) {
      std::string piece(count, '\0');
      const Result<std::size_t> got = reader->read_at(static_cast<std::int64_t>(offset), piece);
      ASSERT_TRUE(got.ok()) << got.error().message();
      const std::string expected = offset >= bytes.size() ? "" : bytes.substr(offset, count);
      EXPECT_TRUE(piece.substr(0, *got) == expected) << offset << " " << count;
    }
  }
}

TEST_P(BlobS3Test, EqualBytesHaveOneRowAndOneObject) {
  const std::string bytes = bytes_of(kLarge, 1);
  EXPECT_FALSE(put_and_hold(1, bytes).adopted);
  EXPECT_TRUE(put_and_hold(2, bytes).adopted);
  reopen();  // what was discarded has gone when the store ends
  EXPECT_THAT(objects(), SizeIs(1));
  EXPECT_TRUE(contents(blob_of(2)) == bytes);
}

TEST_P(BlobS3Test, BytesThatWereReplacedAreFound) {
  put_and_hold(1, bytes_of(kLarge, 1));
  put_and_hold(2, bytes_of(kLarge, 2));
  put_object(blob_of(1).place, bytes_of(kLarge, 3));
  const std::string gone = blob_of(2).place;
  CHECK_OK(blobs_->backend().remove(std::span(&gone, 1)));
  EXPECT_EQ(contents(blob_of(1)), to_string(Errc::Corrupt));
  EXPECT_EQ(contents(blob_of(2)), to_string(Errc::Missing));
  EXPECT_THAT(*check_blobs(*blobs_), SizeIs(2));
}

TEST_P(BlobS3Test, TheSweepTakesWhatNobodyRefersToAndNothingElse) {
  put_and_hold(1, bytes_of(kLarge, 1));
  put_and_hold(2, bytes_of(kLarge, 2));
  release_holder(1);
  const Swept swept = sweep_all();
  EXPECT_EQ(swept.rows, 1);
  EXPECT_EQ(swept.files, 1);
  EXPECT_THAT(objects(), ElementsAre(blob_of(2).place));
  EXPECT_EQ(sweep_all().files, 0);
}

TEST_P(BlobS3Test, WhatADeadSessionLeftGoes) {
  put_and_hold(1, bytes_of(kLarge, 1));
  const Put nameless = put(bytes_of(kS3PartBytes + 1, 2));
  // Half of a large one: begun, and never finished.
  const std::string half = prefix_ + "/" + session_name_of(nameless.place) + "/000/000999";
  CHECK_OK(client_->call({.method = "POST", .key = half, .query = {{"uploads", ""}}}));
  const std::int64_t session = blobs_->session();
  reopen();
  end_session(session);
  EXPECT_EQ(sweep_all().files, 1);
  EXPECT_THAT(objects(), ElementsAre(blob_of(1).place));
  EXPECT_THAT(*find_orphans(*blobs_), IsEmpty());
  const Result<S3Reply> uploads =
      client_->call({.query = {{"uploads", ""}, {"prefix", prefix_ + "/"}}});
  ASSERT_TRUE(uploads.ok());
  EXPECT_EQ(uploads->body.find("<Upload>"), std::string::npos) << uploads->body;
}

TEST_P(BlobS3OnlyTest, ASessionWithMoreThanOnePageOfObjectsIsSweptWhole) {
  put_and_hold(1, bytes_of(kLarge, 1));
  const std::string session = session_name_of(blob_of(1).place);
  {
    std::vector<std::jthread> threads;
    for (int first = 1; first <= 5; ++first) {
      threads.emplace_back([&, first] {
        for (int i = first; i <= 1005; i += 5) put_object(place_name(session, i), "x");
      });
    }
  }
  reopen();
  EXPECT_THAT(*find_orphans(*blobs_), SizeIs(kFindingsMax + 1)) << "and others";
  EXPECT_EQ(sweep_all().files, 1005);
  EXPECT_THAT(objects(), ElementsAre(blob_of(1).place));
  EXPECT_EQ(count(kCountSessions), 1);
}

TEST_P(BlobS3Test, ASpoolThatIsGivenUpLeavesNothing) {
  {
    Spool spool(*blobs_);
    ASSERT_TRUE(spool.write(bytes_of(kS3PartBytes + 1, 1)).ok());
  }
  const Result<S3Reply> uploads =
      client_->call({.query = {{"uploads", ""}, {"prefix", prefix_ + "/"}}});
  EXPECT_EQ(uploads->body.find("<Upload>"), std::string::npos) << uploads->body;
  EXPECT_THAT(objects(), IsEmpty());
}

TEST_P(BlobS3Test, AFileInOurHandsIsSent) {
  const std::string bytes = bytes_of(kLarge, 1);
  const std::filesystem::path file = folder_.path() / "upload";
  CHECK_OK(io::write_file_durably(file, bytes));
  const Result<Put> adopted = blobs_->adopt_file(file);
  ASSERT_TRUE(adopted.ok()) << adopted.error().message();
  CHECK_OK(writer_->run(store::LaneKey{}, [&](Tx& tx) { return hold(tx, 1, *adopted); }));
  EXPECT_TRUE(contents(blob_of(1)) == bytes);
}

TEST_P(BlobS3Test, ABucketThatIsMissingOrNotOursIsRefusedAtOnce) {
  const auto open = [&](const BlobUrl& url) {
    return BlobStore::open(url, *writer_, *readers_, owner());
  };
  BlobUrl missing = blobs_url();
  missing.bucket = "nowhere";
  EXPECT_EQ(open(missing).error().kind(), Errc::Missing);
  ::setenv("AWS_SECRET_ACCESS_KEY", "wrong", 1);
  EXPECT_EQ(open(blobs_url()).error().kind(), Errc::Denied);
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  EXPECT_EQ(open(blobs_url()).error().kind(), Errc::Invalid);
}

TEST_P(BlobS3Test, WhileItIsAwayPutsFailAndAfterwardsTheyWork) {
  put_and_hold(1, bytes_of(kLarge, 1));
  S3Server::shared().stop_gateway();
  Spool spool(*blobs_);
  const Result<> written = spool.write(bytes_of(kLarge, 2));
  const Result<Put> put = written.ok() ? spool.finish() : Result<Put>(written.error());
  EXPECT_EQ(put.error().kind(), Errc::Unavailable);
  EXPECT_EQ(contents(blob_of(1)), to_string(Errc::Unavailable));
  S3Server::shared().start_gateway();
  put_and_hold(2, bytes_of(kLarge, 2));
  EXPECT_TRUE(contents(blob_of(2)) == bytes_of(kLarge, 2));
  EXPECT_TRUE(contents(blob_of(1)) == bytes_of(kLarge, 1));
}

TEST_P(BlobS3OnlyTest, A100MegabyteBlobNeedsLittleMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // The sanitizer keeps 256 MiB of what was freed.
  constexpr std::int64_t kPeakKbMax = 400 * 1024;
#else
  constexpr std::int64_t kPeakKbMax = 32 * 1024;
#endif
  constexpr std::int64_t kBytes = 100'000'000;
  const std::string piece = bytes_of(1'000'000, 1);
  put_and_hold(1, bytes_of(2 * kS3PartBytes, 2));  // what is needed once is there
  const std::int64_t before_kb = support::rss_anon_kb(getpid());
  Spool spool(*blobs_);
  std::int64_t peak_kb = 0;
  while (spool.bytes() < kBytes) {
    ASSERT_TRUE(spool.write(piece).ok());
    peak_kb = std::max(peak_kb, support::rss_anon_kb(getpid()) - before_kb);
  }
  const Result<Put> put = spool.finish();
  ASSERT_TRUE(put.ok()) << put.error().message();
  CHECK_OK(writer_->run(store::LaneKey{}, [&](Tx& tx) { return hold(tx, 2, *put); }));
  const Blob blob = blob_of(2);
  VerifyingReader reader(*blobs_->open_blob(blob), blob);
  std::string into(100'000, '\0');
  while (true) {
    const Result<std::size_t> got = reader.read(into);
    ASSERT_TRUE(got.ok()) << got.error().message();
    if (*got == 0) break;
  }
  EXPECT_EQ(reader.offset(), kBytes);
  peak_kb = std::max(peak_kb, support::rss_anon_kb(getpid()) - before_kb);
  EXPECT_LT(peak_kb, kPeakKbMax);
}

INSTANTIATE_TEST_SUITE_P(Stores, BlobS3Test,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

INSTANTIATE_TEST_SUITE_P(Stores, BlobS3OnlyTest, testing::Values(StoreKind::Sqlite),
                         store::store_name);

}  // namespace
}  // namespace quern::blob
