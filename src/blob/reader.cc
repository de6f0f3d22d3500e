#include "blob/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace quern::blob {

BlobReader::BlobReader(std::string data)
    : data_(std::make_shared<const std::string>(std::move(data))) {}

BlobReader::BlobReader(std::shared_ptr<const PlaceReader> place) : place_(std::move(place)) {}

Result<std::size_t> BlobReader::read_at(std::int64_t offset, std::span<char> into) const {
  CHECK(offset >= 0);
  if (place_) return place_->read_at(offset, into);
  const auto begin = std::min(static_cast<std::size_t>(offset), data_->size());
  const std::size_t count = std::min(into.size(), data_->size() - begin);
  if (count > 0) std::memcpy(into.data(), data_->data() + begin, count);
  return count;
}

std::int64_t BlobReader::size_bytes() const {
  return place_ ? place_->size_bytes() : static_cast<std::int64_t>(data_->size());
}

VerifyingReader::VerifyingReader(BlobReader reader, const Blob& blob)
    : reader_(std::move(reader)), id_(blob.id), bytes_(blob.bytes), sha256_(blob.sha256) {}

Result<std::size_t> VerifyingReader::read(std::span<char> into) {
  CHECK(!into.empty());
  if (state_ == State::Corrupt) return corrupt();
  const std::int64_t left = bytes_ - offset_;
  const auto wanted = std::min(into.size(), static_cast<std::size_t>(left));
  TRY_ASSIGN(const std::size_t got, reader_.read_at(offset_, into.first(wanted)));
  digest_.add(std::string_view(into.data(), got));
  offset_ += static_cast<std::int64_t>(got);
  if (got < wanted) state_ = State::Corrupt;
  // With the last bytes; a blob without any is verified by its first read.
  if (state_ == State::Reading && offset_ == bytes_) {
    state_ = digest_.finish() == sha256_ ? State::Verified : State::Corrupt;
  }
  if (state_ == State::Corrupt) return corrupt();
  return got;
}

Error VerifyingReader::corrupt() const {
  if (offset_ < bytes_) {
    return Error{Errc::Corrupt,
                 fmt::format("blob {} ends after {} bytes of {}", id_, offset_, bytes_)};
  }
  return Error{Errc::Corrupt,
               fmt::format("blob {} is not what was written: its SHA-256 differs", id_)};
}

Result<std::string> read_whole(BlobReader reader, const Blob& blob) {
  VerifyingReader verifying(std::move(reader), blob);
  std::string text(static_cast<std::size_t>(blob.bytes), '\0');
  std::size_t at = 0;
  while (at < text.size()) {
    TRY_ASSIGN(const std::size_t got, verifying.read(std::span(text).subspan(at)));
    if (got == 0) return Error{Errc::Corrupt, "a blob ends too early"};
    at += got;
  }
  return text;
}

}  // namespace quern::blob
