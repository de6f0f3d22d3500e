// Blob rows: what the database knows of bytes. One row for equal bytes, whoever put them.
//
// Guarantee: a row's bytes are durable before the row is, and stay as long as the row. How: bytes
// become durable first, under a name that was never used before (or they are few and lie in the
// row); then, in the transaction of the row that uses them, store_blobs() inserts or adopts. An
// adopted row is locked until that transaction ends, so no sweep takes it away before the reference
// stands; a foreign key is the last word.
//
// Runs in a transaction of the writer; the loads in any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "store/tx.h"

namespace quern::blob {

using BlobId = Id<struct BlobTag>;
// Up to here the bytes lie in the row.
inline constexpr std::size_t kInlineBytesMax = 16 * 1024;

// Bytes that are durable and that no row names yet.
struct Put {
  std::int64_t bytes = 0;
  std::string sha256;        // 32 raw bytes
  std::string sha1;          // 20 raw bytes
  std::string data;          // the bytes themselves, where they are few
  std::string place;         // else the name under which they lie
  std::int64_t session = 0;  // that wrote the place
};

struct Stored {
  BlobId id;
  bool adopted = false;  // the row was there, or another of the batch made it: our place is unused
};

// One result for each, in order; equal bytes get the same row. Stale where the session that wrote a
// place is dead (a sweep may have removed it): nothing was written, the bytes must be put again.
// Corrupt where a row with the same SHA-256 has another size.
Result<std::vector<Stored>> store_blobs(store::Tx& tx, std::span<const Put* const> puts);

struct Blob {
  BlobId id;
  std::int64_t bytes = 0;
  std::string sha256;
  std::string sha1;
  std::string place;  // empty: the bytes lie in the row
  std::string data;   // only where asked for, and only of those
};
enum class Data { Without, With };

// Missing where there is none, or one of them is missing. In the order asked for.
Result<Blob> load_blob(store::Tx& tx, BlobId id, Data data);
Result<std::vector<Blob>> load_blobs(store::Tx& tx, std::span<const BlobId> ids, Data data);

// For a row that is about to refer to blobs which it knows by id only (a retry inherits them):
// holds them until the transaction ends. Missing where one is gone.
Result<> keep_blobs(store::Tx& tx, std::span<const BlobId> ids);

// For whoever removes references, in that transaction: these may have lost their last one.
Result<> doubt_blobs(store::Tx& tx, std::span<const BlobId> ids);

}  // namespace quern::blob
