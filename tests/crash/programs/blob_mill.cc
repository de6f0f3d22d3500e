// blob_mill FOLDER DATABASE ORDER: a program for the kill sweep of blobs.
//
// It goes through a story of puts, adoptions, deletions and sweeps; each chapter is written down in
// the transaction that ends it, so that a later start goes on where the last one died. At the end
// it prints what is there, without ids and names. ORDER: right; swapped (the row is stored before
// its bytes are written); stops (like right, but it kills itself in the middle of the first start).
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "base/crash.h"
#include "blob/blob.h"
#include "io/file.h"

namespace quern::blob {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kMakeHolder{
    "CREATE TABLE IF NOT EXISTS holder (key BIGINT PRIMARY KEY, blob BIGINT NOT NULL REFERENCES"
    " blob (id))"};
constexpr Sql kMakeChapter{"CREATE TABLE IF NOT EXISTS chapter (number BIGINT PRIMARY KEY)"};
constexpr Sql kTold{"SELECT number FROM chapter WHERE number = $1"};
constexpr Sql kTell{"INSERT INTO chapter (number) VALUES ($1)"};
constexpr Sql kHold{"INSERT INTO holder (key, blob) VALUES ($1, $2)"};
constexpr Sql kRelease{"DELETE FROM holder WHERE key = $1 RETURNING blob"};
constexpr Sql kHeld{"SELECT key, blob FROM holder ORDER BY key LIMIT 100"};
constexpr Sql kCounts{
    "SELECT (SELECT count(*) FROM blob), (SELECT count(*) FROM blob_doubt),"
    " (SELECT count(*) FROM blob_dead)"};
constexpr Sql kExpireOthers{"UPDATE blob_session SET until_us = 0 WHERE id <> $1"};
constexpr Sql kDeleteUnreferenced{
    "DELETE FROM blob WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM holder WHERE blob = $1)"
    " RETURNING id, place",
    "DELETE FROM blob WHERE id = ANY($1::bigint[])"
    " AND NOT EXISTS (SELECT 1 FROM holder WHERE holder.blob = blob.id) RETURNING id, place"};

std::string bytes_of(std::size_t size, unsigned seed) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) {
    seed = seed * 1'664'525 + 1'013'904'223;
    byte = static_cast<char>(seed >> 24);
  }
  return bytes;
}

class Mill {
 public:
  Mill(std::filesystem::path folder, std::string order)
      : folder_(std::move(folder)), order_(std::move(order)) {}

  Result<> open(const std::string& database) {
    TRY(io::make_folders_durably(folder_));
    TRY_ASSIGN(const store::DatabaseUrl url, store::DatabaseUrl::parse(database));
    TRY_ASSIGN(database_, store::Database::open(url, {}));
    TRY_ASSIGN(writer_, store::Writer::open(*database_, {}));
    TRY_ASSIGN(readers_, store::Readers::open(*database_, {}));
    TRY(write([](Tx& tx) -> Result<> {
      TRY(tx.exec(kMakeHolder));
      TRY(tx.exec(kMakeChapter));
      return {};
    }));
    const bool alone = url.kind == store::StoreKind::Sqlite;
    TRY_ASSIGN(store_,
               BlobStore::open(BlobUrl::of_folder(folder_ / "blobs"), *writer_, *readers_,
                               alone ? BlobStore::Owner::Only : BlobStore::Owner::OneOfMany));
    return {};
  }

  Result<> tell() {
    const std::string a = bytes_of(40'000, 1);
    const std::string b = bytes_of(600'000, 2);
    TRY(chapter(1, [&] { return put(1, a); }));
    TRY(chapter(2, [&] { return put(2, a); }));
    TRY(chapter(3, [&] { return put(3, b); }));
    TRY(chapter(4, [&] { return put(4, "few bytes"); }));
    if (order_ == "stops") TRY(stop_once());
    TRY(chapter(5, [&] { return release(1); }));
    TRY(sweep_all());
    TRY(chapter(6, [&] { return upload(6, bytes_of(50'000, 3)); }));
    TRY(chapter(7, [&] { return release(3); }));
    TRY(chapter(8, [&] { return release(2); }));
    TRY(sweep_all());
    TRY(chapter(9, [&] { return put(9, a); }));
    TRY(chapter(10, [&] { return release(4); }));
    TRY(chapter(11, [&] { return put(11, "few bytes"); }));
    // Where processes share a database, the dead are known by their silence.
    const std::int64_t session = store_->session();
    TRY(write([session](Tx& tx) { return tx.exec(kExpireOthers, session); }));
    return sweep_all();
  }

  Result<std::string> outcome() {
    std::string text;
    TRY_ASSIGN(const Rows held, read([](Tx& tx) { return tx.query(kHeld); }));
    for (const Row row : held) {
      const auto id = row.get<BlobId>(1);
      TRY_ASSIGN(const Blob blob, read([id](Tx& tx) { return load_blob(tx, id, Data::Without); }));
      text += fmt::format("holder {}: {} bytes, {}\n", row.get<int>(0), blob.bytes,
                          hex_of(blob.sha256).substr(0, 8));
    }
    TRY_ASSIGN(const Rows counts, read([](Tx& tx) { return tx.query(kCounts); }));
    text += fmt::format("{} rows, {} in doubt, {} dead\n", counts[0].get<int>(0),
                        counts[0].get<int>(1), counts[0].get<int>(2));
    TRY_ASSIGN(const std::vector<std::string> problems, check_blobs(*store_));
    TRY_ASSIGN(const std::vector<std::string> orphans, find_orphans(*store_));
    text += fmt::format("{} problems, {} orphans\n", problems.size(), orphans.size());
    store_.reset();  // what was discarded is gone then
    text += fmt::format("{} files\n", count_files());
    return text;
  }

 private:
  template <class Function>
  Result<store::Answer<Function>> write(Function function) {
    return writer_->run(store::LaneKey{}, std::move(function));
  }
  template <class Function>
  Result<store::Answer<Function>> read(Function function) {
    return readers_->run(std::move(function));
  }

  // What is done in the chapter's own transaction happens once; the rest may happen again.
  Result<> chapter(int number, const std::function<Result<>()>& act) {
    TRY_ASSIGN(const auto told,
               read([number](Tx& tx) { return tx.find_value<std::int64_t>(kTold, number); }));
    if (told) return {};
    number_ = number;
    return act();
  }

  Result<> put(int key, const std::string& bytes) {
    Spool spool(*store_);
    TRY(spool.write(bytes));
    if (order_ == "swapped" && bytes.size() > kInlineBytesMax) return put_swapped(key, bytes);
    TRY_ASSIGN(const Put put, spool.finish());
    TRY(name(key, put));
    return {};
  }
  Result<> put_swapped(int key, const std::string& bytes) {
    TRY_ASSIGN(const BlobStore::Place place, store_->next_place());
    const Put put{.bytes = static_cast<std::int64_t>(bytes.size()),
                  .sha256 = sha256_of(bytes),
                  .sha1 = sha1_of(bytes),
                  .place = place.name,
                  .session = place.session};
    TRY_ASSIGN(const Stored stored, name(key, put));
    if (stored.adopted) return {};
    TRY_ASSIGN(const auto writer, store_->backend().create(place.name));
    TRY(writer->write(bytes));
    return writer->commit();
  }
  Result<> upload(int key, const std::string& bytes) {
    const std::filesystem::path file = folder_ / "upload";
    TRY(io::write_file_durably(file, bytes));
    TRY_ASSIGN(const Put put, store_->adopt_file(file));
    TRY(name(key, put));
    return io::remove_durably(file, io::IfMissing::Fine);
  }
  Result<Stored> name(int key, const Put& put) {
    TRY_ASSIGN(const Stored stored, write([&](Tx& tx) -> Result<Stored> {
                 const Put* one = &put;
                 TRY_ASSIGN(const auto all, store_blobs(tx, std::span(&one, 1)));
                 TRY(tx.exec(kHold, key, all[0].id));
                 TRY(tx.exec(kTell, number_));
                 return all[0];
               }));
    if (stored.adopted) store_->discard(put.place);
    return stored;
  }
  Result<> release(int key) {
    return write([&](Tx& tx) -> Result<> {
      TRY_ASSIGN(const BlobId blob, tx.value<BlobId>(kRelease, key));
      TRY(doubt_blobs(tx, std::span(&blob, 1)));
      TRY(tx.exec(kTell, number_));
      return {};
    });
  }
  Result<> sweep_all() {
    for (bool more = true; more;) {
      TRY_ASSIGN(const Swept swept, sweep(*store_, kDeleteUnreferenced));
      more = swept.more;
    }
    return {};
  }

  // With a put that nobody named, and half of another.
  Result<> stop_once() {
    TRY_ASSIGN(const bool stopped, io::path_exists(folder_ / "stopped"));
    if (stopped) return {};
    TRY(io::write_file_durably(folder_ / "stopped", ""));
    Spool whole(*store_);
    TRY(whole.write(bytes_of(30'000, 8)));
    TRY(whole.finish());
    Spool half(*store_);
    TRY(half.write(bytes_of(300'000, 9)));
    ::kill(::getpid(), SIGKILL);
    return {};
  }

  std::int64_t count_files() const {
    std::int64_t files = 0;
    std::error_code failed;
    for (std::filesystem::recursive_directory_iterator at(folder_ / "blobs", failed), end;
         at != end; at.increment(failed)) {
      files += at->is_regular_file(failed) ? 1 : 0;
    }
    return files;
  }

  const std::filesystem::path folder_;
  const std::string order_;
  int number_ = 0;
  std::unique_ptr<store::Database> database_;
  std::unique_ptr<store::Writer> writer_;
  std::unique_ptr<store::Readers> readers_;
  std::unique_ptr<BlobStore> store_;
};

}  // namespace
}  // namespace quern::blob

int main(int argc, char** argv) {
  CHECK(argc == 4);
  CHECK_OK(quern::arm_crash_from_environment());
  quern::blob::Mill mill(argv[1], argv[3]);
  CHECK_OK(mill.open(argv[2]));
  CHECK_OK(mill.tell());
  const quern::Result<std::string> outcome = mill.outcome();
  CHECK_OK(outcome);
  fmt::print("{}", *outcome);
  return 0;
}
