#include "api/upload_receiver.h"

#include "api/adding.h"
#include "api/await.h"

namespace quern::api {

UploadReceiver::UploadReceiver(std::shared_ptr<const Parts> parts, net::Exchange& exchange,
                               tree::Upload& upload, std::shared_ptr<io::PartFile> part)
    : parts_(std::move(parts)),
      exchange_(exchange),
      upload_(upload),
      part_(std::move(part)),
      buffer_(std::make_shared<std::vector<char>>(kUploadPieceBytes)),
      received_(upload.bytes),
      note_at_(net::in_ms(kUploadNoteMs)) {}

net::Task<Result<bool>> UploadReceiver::run(std::optional<model::TusChecksum> checksum) {
  using Algorithm = model::TusChecksum::Algorithm;
  using Kind = blob::Digest::Kind;
  if (checksum) {
    digest_ = std::make_shared<blob::Digest>(checksum->algorithm == Algorithm::Sha1 ? Kind::Sha1
                                                                                    : Kind::Sha256);
  }
  CO_TRY(expect_free_space(*parts_));
  exchange_.limit_body(static_cast<std::uint64_t>(upload_.length - upload_.bytes));
  for (Piece piece; !piece.last;) {
    piece = co_await read_piece();
    // A body that is longer than it may be is no piece of this upload.
    if (piece.broken && piece.broken->kind() == Errc::TooLarge) co_return *piece.broken;
    const Result<> written = co_await write_piece(piece.bytes);
    if (!written.ok()) piece.broken = written.error();
    if (!piece.broken && !piece.last && exchange_.stopping()) {
      piece.broken = Error{Errc::Unavailable, "the server is stopping: go on with the next one"};
    }
    if (!piece.broken && !is_time_to_note()) continue;
    // With a checksum nobody can tell yet whether these bytes are good.
    if (!digest_) CO_TRY(co_await note());
    if (piece.broken) co_return *piece.broken;
    CO_TRY(expect_free_space(*parts_));
  }
  co_return co_await end(checksum);
}

// As much as there is room for, so that slow senders do not cost a write for each packet.
net::Task<UploadReceiver::Piece> UploadReceiver::read_piece() {
  Piece piece;
  while (piece.bytes < buffer_->size() && !piece.last) {
    const Result<std::size_t> got =
        co_await exchange_.read(std::span(*buffer_).subspan(piece.bytes));
    if (!got.ok()) {
      piece.broken = got.error();
      break;
    }
    piece.bytes += *got;
    piece.last = *got == 0;
  }
  co_return piece;
}

net::Task<Result<>> UploadReceiver::write_piece(std::size_t bytes) {
  if (bytes == 0) co_return Result<>();
  auto store = [part = part_, buffer = buffer_, digest = digest_, bytes, at = received_] {
    const std::string_view piece(buffer->data(), bytes);
    if (digest) digest->add(piece);
    return part->write_at(at, piece);
  };
  CO_TRY(co_await offload(parts_->loop, parts_->pool, std::move(store)));
  received_ += static_cast<std::int64_t>(bytes);
  co_return Result<>();
}

net::Task<Result<bool>> UploadReceiver::end(const std::optional<model::TusChecksum>& checksum) {
  if (digest_ && digest_->finish() != checksum->digest) co_return false;
  if (received_ > upload_.bytes) CO_TRY(co_await note());
  co_return true;
}

bool UploadReceiver::is_time_to_note() const {
  return received_ - upload_.bytes >= kUploadNoteBytes || net::in_ms(0) >= note_at_;
}

net::Task<Result<>> UploadReceiver::note() {
  note_at_ = net::in_ms(kUploadNoteMs);
  if (received_ == upload_.bytes) co_return Result<>();
  auto sync = [part = part_] { return part->sync(); };
  CO_TRY(co_await offload(parts_->loop, parts_->pool, std::move(sync)));
  const std::int64_t bytes = received_;
  store::Lane& lane = parts_->writer.lane({static_cast<std::uint64_t>(upload_.shard.value)});
  auto remember = [id = upload_.id, bytes](store::Tx& tx) {
    return tree::note_bytes(tx, id, bytes);
  };
  auto fenced = store::Fenced{store::Fence{upload_.shard.value, 0}, std::move(remember)};
  CO_TRY_ASSIGN(upload_.expires_us, co_await write(parts_->loop, lane, fenced));
  upload_.bytes = bytes;
  co_return Result<>();
}

}  // namespace quern::api
