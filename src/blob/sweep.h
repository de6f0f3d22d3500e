// The sweep: removes blob rows that nothing refers to, then their bytes, then what dead sessions
// left without a row.
//
// Guarantee: it removes no bytes that a row names or will name, whoever puts, adopts or inherits
// meanwhile, and whenever it is killed. How: a row in doubt is locked, judged after that and
// deleted in one transaction, which also writes down the place (blob_dead); the bytes go after the
// commit. A place without a row goes only if its session is dead, and a dead session can name
// nothing any more (store_blobs locks its row).
//
// Blocks: for a pool's thread. Any number of processes may sweep at the same time.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/sql.h"

namespace quern::blob {

class BlobStore;

struct Swept {
  std::int64_t rows = 0;
  std::int64_t files = 0;
  bool more = false;  // call again; one call is a bounded step
};

// `delete_unreferenced` is given by whoever knows the referring tables. It runs as a bulk statement
// over ids in doubt, deletes those that nothing refers to, and returns their id and place:
//   SQLite:     DELETE FROM blob WHERE id = $1 AND NOT EXISTS (...) RETURNING id, place
//   PostgreSQL: DELETE FROM blob WHERE id = ANY($1::bigint[]) AND NOT EXISTS (...)
//               RETURNING id, place
Result<Swept> sweep(BlobStore& store, const store::Sql& delete_unreferenced);

}  // namespace quern::blob
