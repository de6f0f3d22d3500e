// Spool: one blob on its way in. It hashes as it goes; few bytes stay in memory, others go to the
// store's backend in large pieces.
//
// Guarantee: what finish() returns is durable, and named by nobody. Destroyed unfinished, or after
// an error, what was written goes.
// Threads: one at a time. Lifetime: the store outlives it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "blob/backend.h"
#include "blob/digest.h"
#include "blob/row.h"

namespace quern::blob {

class BlobStore;

// What is handed to the disk at once; a spool holds no more than this in memory.
inline constexpr std::size_t kPieceBytes = 256 * 1024;

class Spool {
 public:
  explicit Spool(BlobStore& store);
  ~Spool();
  Spool(Spool&&) noexcept;
  Spool& operator=(Spool&&) = delete;

  // Whether write() of so many more bytes stays in memory, so that it may be called on the loop;
  // otherwise it blocks: call it on a pool's thread. With 0: whether finish() does.
  bool stays_in_memory(std::size_t more) const;
  // After an error only destruction is left.
  Result<> write(std::string_view bytes);
  std::int64_t bytes() const { return bytes_; }
  // Once, and last. Blocks unless stays_in_memory(0). Where many finish at the same time,
  // BlobStore::finish() does it with fewer syncs of the disk.
  Result<Put> finish();

 private:
  friend class Committer;
  enum class State { Writing, Failed, Finished };

  // The parts of finish(): what is left goes to the writer; the writer commits; the put.
  Result<> write_rest();
  PlaceWriter* writer() const { return writer_.get(); }
  Put seal();

  Result<> put_piece(std::string_view bytes);
  Result<> flush();
  Result<> hand_over(std::string_view bytes);
  void hash(std::string_view bytes);

  BlobStore* store_;
  Put put_;
  std::int64_t bytes_ = 0;
  std::string buffer_;
  Digest sha256_{Digest::Kind::Sha256};
  Digest sha1_{Digest::Kind::Sha1};
  State state_ = State::Writing;
  std::unique_ptr<PlaceWriter> writer_;
};

}  // namespace quern::blob
