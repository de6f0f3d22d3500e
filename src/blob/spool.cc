#include "blob/spool.h"

#include <algorithm>

#include "base/crash.h"
#include "blob/blob.h"

namespace quern::blob {

Spool::Spool(BlobStore& store) : store_(&store) {}
Spool::~Spool() = default;
Spool::Spool(Spool&&) noexcept = default;

bool Spool::stays_in_memory(std::size_t more) const {
  if (more == 0) return bytes_ <= static_cast<std::int64_t>(kInlineBytesMax);
  return buffer_.size() + more < kPieceBytes;
}

Result<> Spool::write(std::string_view bytes) {
  CHECK(state_ == State::Writing);
  while (!bytes.empty()) {
    // Large pieces go through without a copy.
    if (buffer_.empty() && bytes.size() >= kPieceBytes) {
      const std::size_t whole = bytes.size() - bytes.size() % kPieceBytes;
      TRY(put_piece(bytes.substr(0, whole)));
      bytes.remove_prefix(whole);
      continue;
    }
    const std::size_t taken = std::min(kPieceBytes - buffer_.size(), bytes.size());
    buffer_.append(bytes.substr(0, taken));
    bytes_ += static_cast<std::int64_t>(taken);
    bytes.remove_prefix(taken);
    if (buffer_.size() == kPieceBytes) TRY(flush());
  }
  return {};
}

Result<> Spool::put_piece(std::string_view bytes) {
  bytes_ += static_cast<std::int64_t>(bytes.size());
  return hand_over(bytes);
}

Result<> Spool::flush() {
  TRY(hand_over(buffer_));
  buffer_.clear();
  return {};
}

Result<> Spool::hand_over(std::string_view bytes) {
  state_ = State::Failed;  // unless this comes to its end
  if (!writer_) {
    TRY_ASSIGN(BlobStore::Place place, store_->next_place());
    TRY_ASSIGN(writer_, store_->backend().create(place.name));
    put_.place = std::move(place.name);
    put_.session = place.session;
  }
  hash(bytes);
  TRY(writer_->write(bytes));
  state_ = State::Writing;
  return {};
}

void Spool::hash(std::string_view bytes) {
  sha256_.add(bytes);
  sha1_.add(bytes);
}

Result<Put> Spool::finish() {
  TRY(write_rest());
  if (writer_) TRY(writer_->commit());
  return seal();
}

Result<> Spool::write_rest() {
  CHECK(state_ == State::Writing);
  if (!stays_in_memory(0)) {
    if (!buffer_.empty()) TRY(flush());
  } else {
    hash(buffer_);
    put_.data = std::move(buffer_);
  }
  state_ = State::Failed;  // unless it is sealed
  return {};
}

Put Spool::seal() {
  if (writer_) crash_point("blob.put.durable");
  state_ = State::Finished;
  put_.bytes = bytes_;
  put_.sha256 = sha256_.finish();
  put_.sha1 = sha1_.finish();
  return std::move(put_);
}

}  // namespace quern::blob
