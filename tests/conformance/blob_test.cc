// Blobs on every store: what is put is what is read, equal bytes are stored once, and the sweep
// takes exactly what nobody refers to.
#include <gmock/gmock.h>

#include <fstream>
#include <future>
#include <latch>
#include <thread>

#include "conformance/blob_fixture.h"
#include "io/fault.h"
#include "support/file_order.h"
#include "support/proc.h"

namespace quern::blob {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kLarge = kInlineBytesMax + 1;

TEST_P(BlobTest, BytesOfEverySizeComeBackAsTheyWere) {
  std::int64_t key = 0;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kInlineBytesMax - 1, kInlineBytesMax, kInlineBytesMax + 1,
        kPieceBytes - 1, kPieceBytes, kPieceBytes + 1, 3 * kPieceBytes, 3 * kPieceBytes + 17}) {
    const std::string bytes = bytes_of(size, ++key);
    const Stored stored = put_and_hold(key, bytes);
    EXPECT_FALSE(stored.adopted) << size;
    const Blob blob = blob_of(key);
    EXPECT_EQ(blob.id, stored.id);
    EXPECT_EQ(blob.bytes, static_cast<std::int64_t>(size));
    EXPECT_EQ(blob.place.empty(), size <= kInlineBytesMax) << size;
    EXPECT_EQ(blob.sha256, sha256_of(bytes));
    EXPECT_EQ(blob.sha1, sha1_of(bytes));
    EXPECT_TRUE(contents(blob) == bytes) << size;
  }
  EXPECT_THAT(*check_blobs(*blobs_), IsEmpty());
}

TEST_P(BlobTest, BytesThatComeInSmallPiecesAreTheSameBlob) {
  const std::string bytes = bytes_of(2 * kPieceBytes + 4321, 1);
  Spool spool(*blobs_);
  for (std::size_t at = 0; at < bytes.size(); at += 7001) {
    ASSERT_TRUE(spool.write(std::string_view(bytes).substr(at, 7001)).ok());
  }
  const Result<Put> put = spool.finish();
  ASSERT_TRUE(put.ok());
  EXPECT_EQ(put->sha256, sha256_of(bytes));
  EXPECT_EQ(put->sha1, sha1_of(bytes));
  const auto stored = writer_->run(store::LaneKey{}, [&](Tx& tx) { return hold(tx, 1, *put); });
  ASSERT_TRUE(stored.ok());
  EXPECT_TRUE(contents(blob_of(1)) == bytes);
}

TEST_P(BlobTest, ASpoolSaysWhenItWouldBlock) {
  Spool spool(*blobs_);
  EXPECT_TRUE(spool.stays_in_memory(0));
  EXPECT_TRUE(spool.stays_in_memory(kInlineBytesMax));
  EXPECT_FALSE(spool.stays_in_memory(kPieceBytes));
  ASSERT_TRUE(spool.write(std::string(kInlineBytesMax, 'x')).ok());
  EXPECT_TRUE(spool.stays_in_memory(0)) << "finish() has nothing to write";
  ASSERT_TRUE(spool.write("x").ok());
  EXPECT_FALSE(spool.stays_in_memory(0));
  EXPECT_EQ(blobs_->session(), 0) << "nothing was written yet";
  ASSERT_TRUE(spool.write(std::string(kPieceBytes, 'x')).ok());
  EXPECT_NE(blobs_->session(), 0);
}

TEST_P(BlobTest, SmallBlobsMakeNoSessionAndNoFile) {
  put_and_hold(1, "small");
  EXPECT_EQ(blobs_->session(), 0);
  EXPECT_THAT(files(), IsEmpty());
}

TEST_P(BlobTest, AnyRangeCanBeRead) {
  for (const std::size_t size : {std::size_t{1000}, kLarge + 5000}) {
    const std::string bytes = bytes_of(size, size);
    const auto key = static_cast<std::int64_t>(size);
    put_and_hold(key, bytes);
    const Result<BlobReader> reader = blobs_->open_blob(blob_of(key));
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(reader->size_bytes(), static_cast<std::int64_t>(size));
    EXPECT_EQ(reader->is_in_memory(), size <= kInlineBytesMax);
    for (const std::size_t offset :
         {std::size_t{0}, std::size_t{1}, size / 2, size - 1, size, size + 1, 10 * size}) {
      std::string piece(300, '\0');
      const Result<std::size_t> got =
          reader->read_at(static_cast<std::int64_t>(offset), std::span(piece));
      ASSERT_TRUE(got.ok());
      const std::string expected = offset >= size ? "" : bytes.substr(offset, 300);
      EXPECT_EQ(piece.substr(0, *got), expected) << offset;
    }
  }
}

TEST_P(BlobTest, EqualBytesHaveOneRowAndOneFile) {
  const std::string bytes = bytes_of(kLarge, 1);
  const Stored first = put_and_hold(1, bytes);
  const Stored second = put_and_hold(2, bytes);
  EXPECT_FALSE(first.adopted);
  EXPECT_TRUE(second.adopted);
  EXPECT_EQ(first.id, second.id);
  blobs_.reset();  // what was discarded has gone when the store ends
  EXPECT_EQ(files().size(), 1u);
}

TEST_P(BlobTest, EqualBlobsOfOneBatchGetTheSameRow) {
  const std::string bytes = bytes_of(kLarge, 1);
  const Put large = put(bytes);
  const Put again = put(bytes);
  const Put small = put("small");
  const Put small_again = put("small");
  const Put other = put("other");
  const Put* const puts[] = {&large, &small, &again, &other, &small_again};
  const auto stored = writer_->run(store::LaneKey{}, [&](Tx& tx) { return store_blobs(tx, puts); });
  ASSERT_TRUE(stored.ok()) << stored.error().message();
  ASSERT_EQ(stored->size(), 5u);
  EXPECT_EQ((*stored)[0].id, (*stored)[2].id);
  EXPECT_EQ((*stored)[1].id, (*stored)[4].id);
  EXPECT_NE((*stored)[1].id, (*stored)[3].id);
  EXPECT_FALSE((*stored)[0].adopted);
  EXPECT_TRUE((*stored)[2].adopted) << "its place is unused";
  EXPECT_EQ(rows(), 3);
}

TEST_P(BlobTest, StoringAPutOnceMoreAfterALostAnswerIsNoAdoption) {
  const Put one = put(bytes_of(kLarge, 1));
  for (std::int64_t key = 1; key <= 2; ++key) {
    const auto stored = writer_->run(store::LaneKey{}, [&](Tx& tx) { return hold(tx, key, one); });
    ASSERT_TRUE(stored.ok());
    EXPECT_FALSE(stored->adopted) << "the row names this very place: it must not be discarded";
  }
}

TEST_P(BlobTest, ManyPuttersOfTheSameBytesAgree) {
  constexpr int kThreads = 6;
  const std::string bytes = bytes_of(kLarge, 1);
  std::latch together(kThreads);
  std::vector<BlobId> ids(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        const Put one = put(bytes);
        together.arrive_and_wait();
        const store::LaneKey lane{static_cast<std::uint64_t>(i)};
        const auto stored = writer_->run(lane, [&](Tx& tx) { return hold(tx, i, one); });
        CHECK_OK(stored);
        ids[static_cast<std::size_t>(i)] = stored->id;
        if (stored->adopted) blobs_->discard(one.place);
      });
    }
  }
  EXPECT_THAT(ids, testing::Each(ids[0]));
  EXPECT_EQ(rows(), 1);
  blobs_.reset();
  EXPECT_EQ(files().size(), 1u);
}

TEST_P(BlobTest, LoadingKeepsTheOrderAndNamesWhatIsMissing) {
  const BlobId a = put_and_hold(1, "a").id;
  const BlobId b = put_and_hold(2, "b").id;
  const BlobId ids[] = {b, a, b};
  const auto loaded = readers_->run([&](Tx& tx) { return load_blobs(tx, ids, Data::With); });
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ((*loaded)[0].data, "b");
  EXPECT_EQ((*loaded)[1].data, "a");
  EXPECT_EQ((*loaded)[2].data, "b");
  const BlobId wrong[] = {a, BlobId{4711}};
  const auto missing = readers_->run([&](Tx& tx) { return load_blobs(tx, wrong, Data::Without); });
  EXPECT_EQ(missing.error().kind(), Errc::Missing);
  const auto without = readers_->run([&](Tx& tx) { return load_blob(tx, a, Data::Without); });
  EXPECT_EQ(without->data, "");
}

TEST_P(BlobTest, AFlippedBitIsFoundBeforeTheLastBytesAreGiven) {
  const std::string bytes = bytes_of(3 * kPieceBytes, 1);
  put_and_hold(1, bytes);
  const Blob blob = blob_of(1);
  const std::filesystem::path path = *blobs_->path_of(blob);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(100'000);
  file.put(static_cast<char>(bytes[100'000] ^ 1));
  file.close();

  EXPECT_EQ(contents(blob), to_string(Errc::Corrupt));
  VerifyingReader reader(*blobs_->open_blob(blob), blob);
  std::string piece(bytes.size() - 1, '\0');
  EXPECT_EQ(*reader.read(piece), bytes.size() - 1);
  EXPECT_EQ(reader.read(piece).error().kind(), Errc::Corrupt);
  EXPECT_EQ(reader.read(piece).error().kind(), Errc::Corrupt) << "and it stays so";
  const auto problems = check_blobs(*blobs_);
  ASSERT_EQ(problems->size(), 1u);
  EXPECT_THAT((*problems)[0], HasSubstr(fmt::format("blob {}", blob.id)));
}

TEST_P(BlobTest, AFileThatIsShorterLongerOrGoneIsFound) {
  for (std::int64_t key = 1; key <= 3; ++key) put_and_hold(key, bytes_of(kLarge, key));
  std::error_code failed;
  std::filesystem::resize_file(*blobs_->path_of(blob_of(1)), kLarge - 1, failed);
  std::filesystem::resize_file(*blobs_->path_of(blob_of(2)), kLarge + 1, failed);
  std::filesystem::remove(*blobs_->path_of(blob_of(3)), failed);
  EXPECT_EQ(contents(blob_of(1)), to_string(Errc::Corrupt));
  EXPECT_EQ(contents(blob_of(2)), to_string(Errc::Corrupt));
  EXPECT_EQ(contents(blob_of(3)), to_string(Errc::Missing));
  EXPECT_EQ(check_blobs(*blobs_)->size(), 3u);
}

TEST_P(BlobTest, ARowWhoseOwnBytesWereChangedIsFound) {
  put_and_hold(1, "these bytes");
  static constexpr Sql kChange{"UPDATE blob SET data = $1"};
  const std::string wrong = "those bytes";
  CHECK_OK(writer_->run(store::LaneKey{}, [&](Tx& tx) {
    return tx.exec(kChange, std::as_bytes(std::span(wrong.data(), wrong.size())));
  }));
  EXPECT_EQ(contents(blob_of(1)), to_string(Errc::Corrupt));
  EXPECT_EQ(check_blobs(*blobs_)->size(), 1u);
}

TEST_P(BlobTest, RowsThatCannotBeAreRefusedByTheStore) {
  const std::string hash256 = sha256_of("x");
  const std::string hash1 = sha1_of("x");
  static constexpr Sql kInsert{
      "INSERT INTO blob (sha256, sha1, bytes, data, place) VALUES ($1, $2, $3, $4, $5)"};
  const auto insert = [&](std::int64_t bytes, std::optional<std::string> data,
                          std::optional<std::string> place) {
    return writer_->run(store::LaneKey{}, [&](Tx& tx) -> Result<std::int64_t> {
      const auto raw = [](const std::string& s) {
        return std::as_bytes(std::span(s.data(), s.size()));
      };
      std::optional<store::Bytes> given;
      if (data) given = raw(*data);
      return tx.exec(kInsert, raw(hash256), raw(hash1), bytes, given, place);
    });
  };
  EXPECT_FALSE(insert(1, std::nullopt, std::nullopt).ok()) << "neither data nor place";
  EXPECT_FALSE(insert(1, "x", "1-a/000/000000").ok()) << "both";
  EXPECT_FALSE(insert(2, "x", std::nullopt).ok()) << "another size";
  EXPECT_FALSE(insert(1, std::nullopt, "1-a/000/000000").ok()) << "few bytes lie in the row";
  EXPECT_FALSE(insert(99'999, std::string(99'999, 'x'), std::nullopt).ok()) << "many do not";
  EXPECT_TRUE(insert(1, "x", std::nullopt).ok());
}

TEST_P(BlobTest, TheSweepTakesWhatNobodyRefersToAndNothingElse) {
  put_and_hold(1, bytes_of(kLarge, 1));
  put_and_hold(2, bytes_of(kLarge, 2));
  put_and_hold(3, bytes_of(kLarge, 2));  // shares with the second
  put_and_hold(4, "small");
  EXPECT_EQ(sweep_all().rows, 0) << "nothing is in doubt";
  for (const std::int64_t key : {1, 2, 4}) release_holder(key);
  const Swept swept = sweep_all();
  EXPECT_EQ(swept.rows, 2) << "1 and 4; 3 holds what 2 held";
  EXPECT_EQ(swept.files, 1);
  EXPECT_TRUE(contents(blob_of(3)) == bytes_of(kLarge, 2));
  blobs_.reset();
  EXPECT_EQ(files().size(), 1u);
  EXPECT_EQ(rows(), 1);
}

TEST_P(BlobTest, ASweepOfNothingWritesNothing) {
  put_and_hold(1, bytes_of(kLarge, 1));
  sweep_all();
  const std::int64_t before = commits();
  sweep_all();
  EXPECT_EQ(commits(), before);
}

TEST_P(BlobTest, ManyDoubtsAreSweptInSteps) {
  constexpr int kBlobs = 1200;
  std::vector<Put> puts;
  for (int i = 0; i < kBlobs; ++i) puts.push_back(put(fmt::format("blob {}", i)));
  std::vector<const Put*> all;
  for (const Put& one : puts) all.push_back(&one);
  CHECK_OK(writer_->run(store::LaneKey{}, [&](Tx& tx) -> Result<> {
    TRY_ASSIGN(const auto stored, store_blobs(tx, all));
    std::vector<BlobId> ids;
    for (const Stored& one : stored) ids.push_back(one.id);
    return doubt_blobs(tx, ids);
  }));
  EXPECT_EQ(rows(), kBlobs);
  const Result<Swept> first = sweep(*blobs_, kDeleteUnreferenced);
  EXPECT_TRUE(first->more);
  EXPECT_LT(first->rows, kBlobs);
  EXPECT_EQ(first->rows + sweep_all().rows, kBlobs);
  EXPECT_EQ(rows(), 0);
}

TEST_P(BlobTest, WhoInheritsHoldsTheBlobOrLearnsThatItIsGone) {
  const BlobId id = put_and_hold(1, bytes_of(kLarge, 1)).id;
  const auto inherit = [&](std::int64_t key) {
    return writer_->run(store::LaneKey{}, [&](Tx& tx) -> Result<> {
      TRY(keep_blobs(tx, std::span(&id, 1)));
      TRY(tx.exec(kHold, key, id));
      return {};
    });
  };
  ASSERT_TRUE(inherit(2).ok());
  release_holder(1);
  EXPECT_EQ(sweep_all().rows, 0);
  EXPECT_TRUE(contents(blob_of(2)) == bytes_of(kLarge, 1));
  release_holder(2);
  EXPECT_EQ(sweep_all().rows, 1);
  EXPECT_EQ(inherit(3).error().kind(), Errc::Missing);
}

TEST_P(BlobTest, ASpoolThatIsGivenUpLeavesNothing) {
  {
    Spool spool(*blobs_);
    ASSERT_TRUE(spool.write(bytes_of(2 * kPieceBytes, 1)).ok());
    EXPECT_EQ(files().size(), 1u);
  }
  EXPECT_THAT(files(), IsEmpty());
}

TEST_P(BlobTest, BytesAreDurableBeforeTheyAreNamed) {
  const io::FileRecorder recorder;
  put_and_hold(1, bytes_of(3 * kPieceBytes + 5, 1));
  put_and_hold(2, bytes_of(kLarge, 2));
  put_and_hold(3, bytes_of(kLarge, 2));
  release_holder(1);
  sweep_all();
  EXPECT_THAT(support::order_violations(recorder.operations()), IsEmpty());
}

// Finishes all at once, in the background.
std::vector<Result<Put>> finish_together(BlobStore& store, std::vector<Spool> spools) {
  std::vector<std::promise<Result<Put>>> promises(spools.size());
  for (std::size_t i = 0; i < spools.size(); ++i) {
    store.finish(std::move(spools[i]),
                 [&promises, i](Result<Put> put) { promises[i].set_value(std::move(put)); });
  }
  std::vector<Result<Put>> puts;
  for (auto& promise : promises) puts.push_back(promise.get_future().get());
  return puts;
}

TEST_P(BlobTest, ManyThatFinishTogetherShareSyncs) {
  constexpr std::size_t kSpools = 200;
  put_and_hold(0, bytes_of(kLarge, 0));  // the session's folder is there
  const io::FileRecorder recorder;
  std::vector<Spool> spools;
  for (std::size_t i = 1; i <= kSpools; ++i) {
    spools.emplace_back(*blobs_);
    ASSERT_TRUE(spools.back().write(bytes_of(i % 10 == 0 ? 10 : kLarge, i)).ok());
  }
  const std::vector<Result<Put>> puts = finish_together(*blobs_, std::move(spools));
  EXPECT_THAT(support::order_violations(recorder.operations()), IsEmpty());
  std::size_t syncs = 0;
  for (const io::FileOperation& operation : recorder.operations()) {
    syncs += operation.call == io::FileCall::SyncFolder ? 1 : 0;
  }
  EXPECT_LT(syncs, kSpools / 2);
  for (std::size_t i = 1; i <= kSpools; ++i) {
    ASSERT_TRUE(puts[i - 1].ok());
    const auto key = static_cast<std::int64_t>(i);
    CHECK_OK(writer_->run(store::LaneKey{}, [&](Tx& tx) { return hold(tx, key, *puts[i - 1]); }));
  }
  EXPECT_TRUE(contents(blob_of(33)) == bytes_of(kLarge, 33));
  EXPECT_TRUE(contents(blob_of(40)) == bytes_of(10, 40));
  EXPECT_THAT(*check_blobs(*blobs_), IsEmpty());
}

TEST_P(BlobTest, OneThatFailsAmongThemFailsAlone) {
  put_and_hold(0, bytes_of(kLarge, 0));
  for (const io::FileCall call : {io::FileCall::Write, io::FileCall::Fsync, io::FileCall::Rename}) {
    std::vector<Spool> spools;
    for (std::uint64_t i = 1; i <= 5; ++i) {
      spools.emplace_back(*blobs_);
      ASSERT_TRUE(spools.back().write(bytes_of(kLarge, i)).ok());
    }
    const io::ScopedFault fault({.call = call, .nth = 3, .error_number = ENOSPC});
    const std::vector<Result<Put>> puts = finish_together(*blobs_, std::move(spools));
    int failed = 0;
    for (const Result<Put>& put : puts) {
      if (put.ok()) continue;
      EXPECT_EQ(put.error().kind(), Errc::Full);
      ++failed;
    }
    EXPECT_EQ(failed, 1) << to_string(call);
  }
}

TEST_P(BlobTest, WhatWasHandedOverIsFinishedBeforeTheStoreEnds) {
  int finished = 0;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    Spool spool(*blobs_);
    ASSERT_TRUE(spool.write(bytes_of(kLarge, i)).ok());
    blobs_->finish(std::move(spool), [&finished](const Result<Put>& put) { finished += put.ok(); });
  }
  blobs_.reset();
  EXPECT_EQ(finished, 20);
  EXPECT_THAT(files(), SizeIs(20));
}

// Every call to the disk fails once, and stays so (a full disk).
TEST_P(BlobTest, AFullDiskLosesNothingAndLeavesNothing) {
  put_and_hold(1, bytes_of(kLarge, 1));  // the session's folder is there
  std::vector<std::string> before = files();
  for (const io::FileCall call :
       {io::FileCall::Open, io::FileCall::Write, io::FileCall::Fsync, io::FileCall::Rename}) {
    for (int nth = 1; nth <= 3; ++nth) {
      bool fired = false;
      Result<Put> finished = Error{Errc::Internal, ""};
      {
        const io::ScopedFault fault(
            {.call = call, .nth = nth, .times = 1000, .error_number = ENOSPC});
        Spool spool(*blobs_);
        const Result<> written = spool.write(bytes_of(2 * kPieceBytes + 1, 7));
        finished = written.ok() ? spool.finish() : Result<Put>(written.error());
        fired = fault.fired();
      }
      if (!fired) {
        before = files();  // it was put
        continue;
      }
      ASSERT_FALSE(finished.ok()) << to_string(call) << " " << nth;
      EXPECT_EQ(finished.error().kind(), Errc::Full) << to_string(call) << " " << nth;
      EXPECT_EQ(files(), before) << to_string(call) << " " << nth;
    }
  }
  const std::string bytes = bytes_of(2 * kPieceBytes + 1, 7);
  put_and_hold(2, bytes);
  EXPECT_TRUE(contents(blob_of(2)) == bytes) << "with room again it goes on";
}

TEST_P(BlobTest, AFileInOurHandsBecomesABlobWithoutACopy) {
  const std::string bytes = bytes_of(5 * kPieceBytes + 3, 1);
  const std::filesystem::path file = folder_.path() / "upload";
  std::ofstream(file, std::ios::binary) << bytes;
  const Result<Put> adopted = blobs_->adopt_file(file);
  ASSERT_TRUE(adopted.ok()) << adopted.error().message();
  EXPECT_EQ(adopted->bytes, static_cast<std::int64_t>(bytes.size()));
  EXPECT_EQ(adopted->sha256, sha256_of(bytes));
  EXPECT_EQ(adopted->sha1, sha1_of(bytes));
  std::error_code failed;
  EXPECT_TRUE(std::filesystem::exists(file, failed)) << "its owner removes it when it is named";
  EXPECT_EQ(std::filesystem::hard_link_count(file, failed), 2u);
  CHECK_OK(writer_->run(store::LaneKey{}, [&](Tx& tx) { return hold(tx, 1, *adopted); }));
  std::filesystem::remove(file, failed);
  EXPECT_TRUE(contents(blob_of(1)) == bytes);
}

TEST_P(BlobTest, AFileOfAnotherFileSystemIsCopied) {
  const std::string bytes = bytes_of(kPieceBytes + 3, 1);
  const std::filesystem::path file = folder_.path() / "upload";
  std::ofstream(file, std::ios::binary) << bytes;
  const io::ScopedFault fault({.call = io::FileCall::Link, .error_number = EXDEV});
  const Result<Put> adopted = blobs_->adopt_file(file);
  ASSERT_TRUE(adopted.ok()) << adopted.error().message();
  EXPECT_TRUE(fault.fired());
  std::error_code failed;
  EXPECT_EQ(std::filesystem::hard_link_count(file, failed), 1u);
  CHECK_OK(writer_->run(store::LaneKey{}, [&](Tx& tx) { return hold(tx, 1, *adopted); }));
  EXPECT_TRUE(contents(blob_of(1)) == bytes);
}

TEST_P(BlobTest, ASmallFileInOurHandsGoesIntoTheRow) {
  const std::filesystem::path file = folder_.path() / "upload";
  std::ofstream(file, std::ios::binary) << "few bytes";
  const Result<Put> adopted = blobs_->adopt_file(file);
  ASSERT_TRUE(adopted.ok());
  EXPECT_EQ(adopted->data, "few bytes");
  EXPECT_EQ(adopted->place, "");
}

TEST_P(BlobTest, A200MegabyteBlobNeedsNoMemory) {
  constexpr std::int64_t kBytes = 200'000'000;
  const std::string piece = bytes_of(1'000'000, 1);
  put_and_hold(1, piece);  // what is needed once is there
  const std::int64_t before_kb = support::rss_anon_kb(getpid());
  Spool spool(*blobs_);
  while (spool.bytes() < kBytes) ASSERT_TRUE(spool.write(piece).ok());
  const Result<Put> put = spool.finish();
  ASSERT_TRUE(put.ok());
  CHECK_OK(writer_->run(store::LaneKey{}, [&](Tx& tx) { return hold(tx, 2, *put); }));
  const Blob blob = blob_of(2);
  EXPECT_EQ(blob.bytes, kBytes);
  VerifyingReader reader(*blobs_->open_blob(blob), blob);
  std::string into(1'000'000, '\0');
  std::int64_t read = 0;
  while (true) {
    const Result<std::size_t> got = reader.read(into);
    ASSERT_TRUE(got.ok()) << got.error().message();
    if (*got == 0) break;
    read += static_cast<std::int64_t>(*got);
  }
  EXPECT_EQ(read, kBytes);
  const std::int64_t grown_kb = support::rss_anon_kb(getpid()) - before_kb;
  EXPECT_LT(grown_kb, 8 * 1024);
}

INSTANTIATE_TEST_SUITE_P(Stores, BlobTest, testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::blob
