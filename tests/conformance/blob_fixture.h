// What the tests of blobs share: a store with blobs in a folder, and a table that refers to them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "blob/blob.h"
#include "conformance/store_fixture.h"

namespace quern::blob {

using store::Rows;
using store::Sql;
using store::StoreKind;
using store::Tx;

// The holders are what files are in real life.
inline constexpr Sql kDeleteUnreferenced{
    "DELETE FROM blob WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM holder WHERE blob = $1)"
    " RETURNING id, place",
    "DELETE FROM blob WHERE id = ANY($1::bigint[])"
    " AND NOT EXISTS (SELECT 1 FROM holder WHERE holder.blob = blob.id) RETURNING id, place"};
inline constexpr Sql kHold{"INSERT INTO holder (key, blob) VALUES ($1, $2)"};
inline constexpr Sql kHeld{"SELECT blob FROM holder WHERE key = $1"};
inline constexpr Sql kRelease{"DELETE FROM holder WHERE key = $1 RETURNING blob"};

// Bytes that look like nothing in particular, the same for the same seed.
std::string bytes_of(std::size_t size, std::uint64_t seed);

// In the transaction: the put is stored, and a holder refers to it.
Result<Stored> hold(Tx& tx, std::int64_t key, const Put& put);
// The reference goes, and the blob is in doubt.
Result<> release(Tx& tx, std::int64_t key);

class BlobTest : public store::StoreTest {
 protected:
  void SetUp() override;
  void TearDown() override;
  void open_store();
  // Where large blobs lie.
  virtual BlobUrl blobs_url() { return BlobUrl::of_folder(blobs_folder()); }
  // The process is gone and another one opens the store. On PostgreSQL its session lives on.
  void reopen();
  BlobStore::Owner owner() const {
    return GetParam() == StoreKind::Sqlite ? BlobStore::Owner::Only : BlobStore::Owner::OneOfMany;
  }

  Put put(std::string_view bytes);
  Stored put_and_hold(std::int64_t key, std::string_view bytes);
  void release_holder(std::int64_t key);
  Blob blob_of(std::int64_t key);
  // Reads and verifies; an error's kind instead, where it fails.
  std::string contents(const Blob& blob);
  // Until there is no more to do.
  Swept sweep_all();
  // What others would find expired.
  void end_session(std::int64_t session);

  std::int64_t count(const Sql& sql);
  std::int64_t rows();
  // Paths below the folder of blobs, sorted.
  std::vector<std::string> files();
  std::filesystem::path blobs_folder() const { return folder_.path() / "blobs"; }

  std::unique_ptr<store::Readers> readers_;
  std::unique_ptr<BlobStore> blobs_;
};

}  // namespace quern::blob
