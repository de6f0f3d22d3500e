#include "conformance/blob_fixture.h"

#include <algorithm>
#include <random>

namespace quern::blob {
namespace {

constexpr Sql kCountBlobs{"SELECT count(*) FROM blob"};
constexpr Sql kExpire{"UPDATE blob_session SET until_us = 0 WHERE id = $1"};
constexpr std::size_t kReadBytes = 64 * 1024;

}  // namespace

std::string bytes_of(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes;
  bytes.reserve(size + sizeof(std::uint64_t));
  while (bytes.size() < size) {
    const std::uint64_t number = random();
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  bytes.resize(size);
  return bytes;
}

Result<Stored> hold(Tx& tx, std::int64_t key, const Put& put) {
  const Put* one = &put;
  TRY_ASSIGN(const std::vector<Stored> stored, store_blobs(tx, std::span(&one, 1)));
  TRY(tx.exec(kHold, key, stored[0].id));
  return stored[0];
}

Result<> release(Tx& tx, std::int64_t key) {
  TRY_ASSIGN(const BlobId blob, tx.value<BlobId>(kRelease, key));
  return doubt_blobs(tx, std::span(&blob, 1));
}

void BlobTest::SetUp() {
  StoreTest::SetUp();
  open_store();
}

void BlobTest::TearDown() {
  blobs_.reset();
  readers_.reset();
}

void BlobTest::open_store() {
  ASSERT_NO_FATAL_FAILURE(open({.lanes = 2}));
  ASSERT_NO_FATAL_FAILURE(
      script("CREATE TABLE IF NOT EXISTS holder ("
             " key BIGINT PRIMARY KEY, blob BIGINT NOT NULL REFERENCES blob (id));"
             "CREATE INDEX IF NOT EXISTS holder_blob ON holder (blob)"));
  auto readers = store::Readers::open(*database_, {});
  ASSERT_TRUE(readers.ok()) << readers.error().message();
  readers_ = *std::move(readers);
  auto blobs = BlobStore::open(blobs_url(), *writer_, *readers_, owner());
  ASSERT_TRUE(blobs.ok()) << blobs.error().message();
  blobs_ = *std::move(blobs);
}

void BlobTest::reopen() {
  blobs_.reset();
  readers_.reset();
  close();
  ASSERT_NO_FATAL_FAILURE(open_store());
}

Put BlobTest::put(std::string_view bytes) {
  Spool spool(*blobs_);
  CHECK_OK(spool.write(bytes));
  Result<Put> put = spool.finish();
  CHECK_OK(put);
  return *std::move(put);
}

Stored BlobTest::put_and_hold(std::int64_t key, std::string_view bytes) {
  const Put one = put(bytes);
  const Result<Stored> stored =
      writer_->run(store::LaneKey{}, [&](Tx& tx) { return hold(tx, key, one); });
  CHECK_OK(stored);
  if (stored->adopted) blobs_->discard(one.place);
  return *stored;
}

void BlobTest::release_holder(std::int64_t key) {
  CHECK_OK(writer_->run(store::LaneKey{}, [key](Tx& tx) { return release(tx, key); }));
}

Blob BlobTest::blob_of(std::int64_t key) {
  Result<Blob> blob = readers_->run([key](Tx& tx) -> Result<Blob> {
    TRY_ASSIGN(const BlobId id, tx.value<BlobId>(kHeld, key));
    return load_blob(tx, id, Data::With);
  });
  CHECK_OK(blob);
  return *std::move(blob);
}

std::string BlobTest::contents(const Blob& blob) {
  Result<BlobReader> opened = blobs_->open_blob(blob);
  if (!opened.ok()) return std::string(to_string(opened.error().kind()));
  VerifyingReader reader(*std::move(opened), blob);
  std::string all;
  std::string piece(kReadBytes, '\0');
  while (true) {
    const Result<std::size_t> got = reader.read(piece);
    if (!got.ok()) return std::string(to_string(got.error().kind()));
    if (*got == 0) return all;
    all.append(piece, 0, *got);
  }
}

Swept BlobTest::sweep_all() {
  Swept all;
  for (int step = 0; step < 1000; ++step) {
    const Result<Swept> swept = sweep(*blobs_, kDeleteUnreferenced);
    CHECK_OK(swept);
    all.rows += swept->rows;
    all.files += swept->files;
    if (!swept->more) return all;
  }
  ADD_FAILURE() << "the sweep finds no end";
  return all;
}

void BlobTest::end_session(std::int64_t session) {
  CHECK_OK(writer_->run(store::LaneKey{}, [&](Tx& tx) { return tx.exec(kExpire, session); }));
}

std::int64_t BlobTest::count(const Sql& sql) {
  const auto found = readers_->run([&](Tx& tx) { return tx.value<std::int64_t>(sql); });
  CHECK_OK(found);
  return *found;
}

std::int64_t BlobTest::rows() {
  return count(kCountBlobs);
}

std::vector<std::string> BlobTest::files() {
  std::vector<std::string> found;
  std::error_code failed;
  for (std::filesystem::recursive_directory_iterator at(blobs_folder(), failed), end; at != end;
       at.increment(failed)) {
    if (at->is_regular_file(failed)) {
      found.push_back(at->path().lexically_relative(blobs_folder()).native());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace quern::blob
