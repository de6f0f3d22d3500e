// Readers of blobs: at any offset, or from the beginning to the end with verification.
//
// Threads: one object is used by one thread at a time. Reading blocks (a pool's thread) unless the
// bytes lie in the row. Lifetime: the store outlives its readers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "blob/backend.h"
#include "blob/digest.h"
#include "blob/row.h"

namespace quern::blob {

class BlobReader {
 public:
  // For the store, see BlobStore::open_blob().
  explicit BlobReader(std::string data);
  explicit BlobReader(std::shared_ptr<const PlaceReader> place);

  // Fills `into` unless the blob ends before; 0 at the end or beyond it.
  Result<std::size_t> read_at(std::int64_t offset, std::span<char> into) const;
  std::int64_t size_bytes() const;
  // Whether read_at() may be called on the loop.
  bool is_in_memory() const { return place_ == nullptr; }

 private:
  std::shared_ptr<const std::string> data_;
  std::shared_ptr<const PlaceReader> place_;
};

// The whole blob in order. Where its SHA-256 is not the row's, the last bytes never come: Corrupt.
class VerifyingReader {
 public:
  VerifyingReader(BlobReader reader, const Blob& blob);

  // 0 at the end.
  Result<std::size_t> read(std::span<char> into);
  std::int64_t offset() const { return offset_; }

 private:
  enum class State { Reading, Verified, Corrupt };
  Error corrupt() const;

  BlobReader reader_;
  BlobId id_;
  std::int64_t bytes_;
  std::string sha256_;
  Digest digest_{Digest::Kind::Sha256};
  std::int64_t offset_ = 0;
  State state_ = State::Reading;
};
// All of it in memory, verified: for texts, whose length is limited.
Result<std::string> read_whole(BlobReader reader, const Blob& blob);

}  // namespace quern::blob
