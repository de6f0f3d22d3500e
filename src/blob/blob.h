// Blobs: bytes of any size, stored once. This is the header for the folders above.
//
//   Spool -> Put (durable, nameless) -> store_blobs() in the transaction of the row that uses it
//   load_blob() -> Blob -> BlobStore::open_blob() -> BlobReader, VerifyingReader
//   doubt_blobs() where a reference goes -> sweep()
//
// A BlobStore is the place for the large ones: a folder, or a bucket of S3. It has a session, made
// with the first large blob: a row whose name begins the names of all that this process writes.
// While it lives, it is renewed; once it is dead, nothing of it can be named any more, and what
// was not named may be swept. A store whose session was declared dead (this process was stopped for
// longer than kSessionMs) begins another one.
//
// Threads: all functions from any thread; those that reach the backend block, except discard().
// Lifetime: opened once per process, after the writer and the readers; it ends before they do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "blob/check.h"
#include "blob/reader.h"
#include "blob/row.h"
#include "blob/spool.h"
#include "blob/sweep.h"
#include "blob/url.h"
#include "io/file.h"
#include "store/readers.h"
#include "store/writer.h"

namespace quern::blob {

class Session;
class Committer;

// How long a session of a process that does not answer is taken to live, and how often it renews.
inline constexpr std::int64_t kSessionMs = 10 * 60 * 1000;
inline constexpr std::int64_t kSessionRenewMs = 20 * 1000;

class BlobStore {
 public:
  // The only owner (SQLite) knows all former sessions to be dead.
  enum class Owner { Only, OneOfMany };

  static Result<std::unique_ptr<BlobStore>> open(const BlobUrl& url, store::Writer& writer,
                                                 store::Readers& readers, Owner owner);
  ~BlobStore();
  BlobStore(const BlobStore&) = delete;
  BlobStore& operator=(const BlobStore&) = delete;

  // A blob that lies in its row must have been loaded with its data. Missing where the bytes are
  // gone; Corrupt where there are more or fewer than the row says.
  Result<BlobReader> open_blob(const Blob& blob) const;
  // Where it lies in a folder: for local workers.
  std::optional<std::filesystem::path> path_of(const Blob& blob) const;
  // A place that no row names and none will: a put that was adopted, or not used. Never where the
  // outcome of its transaction is unknown. Best effort, in the background; a sweep gets the rest.
  void discard(const std::string& place);
  // Finishes a spool in the background and calls back, once, from a thread of the store's; at once
  // where it stays in memory. Those that wait at the same time share syncs of the disk. What was
  // taken is finished before the store ends.
  void finish(Spool spool, std::function<void(Result<Put>)> done);
  // A file in our hands becomes a put, without a copy where it lies on the same file system. It
  // stays where it is: whoever owns it removes it when the put is named, and can begin again
  // after a crash before that.
  Result<Put> adopt_file(const std::filesystem::path& file);
  // 0 before the first large blob.
  std::int64_t session() const;

  // For the rest of this folder.
  struct Place {
    std::string name;
    std::int64_t session = 0;
  };
  Result<Place> next_place();
  Backend& backend() const { return *backend_; }
  store::Writer& writer() const { return writer_; }
  store::Readers& readers() const { return readers_; }
  // Renews the session, as its thread does by itself. For tests.
  Result<> renew();

 private:
  BlobStore(std::unique_ptr<Backend> backend, store::Writer& writer, store::Readers& readers);
  Result<Put> hash_place(const io::FileReader& file, Place place);

  std::unique_ptr<Backend> backend_;
  store::Writer& writer_;
  store::Readers& readers_;
  std::unique_ptr<Session> session_;      // goes before those: its thread uses them
  std::unique_ptr<Committer> committer_;  // goes first
};

}  // namespace quern::blob
