#include "search/pack_source.h"

#include <fmt/format.h>

#include "search/pack_file.h"

namespace quern::search {
namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;

}  // namespace

Result<std::shared_ptr<const Pack>> PackSource::load(const Segment& segment) {
  Result<std::shared_ptr<const Pack>> here = folder_.find(segment.digest);
  const auto is_elsewhere = [](const Error& error) {
    return error.kind() == Errc::Missing || error.kind() == Errc::Corrupt;
  };
  if (here.ok() || !is_elsewhere(here.error())) return here;
  const std::scoped_lock lock(fetching_);
  if (!folder_.has(segment.digest)) TRY(fetch(segment));
  return folder_.find(segment.digest);
}

Result<> PackSource::fetch(const Segment& segment) {
  const blob::BlobId id = segment.blob;
  TRY_ASSIGN(const blob::Blob blob, readers_.run([id](store::Tx& tx) {
    return blob::load_blob(tx, id, blob::Data::With);
  }));
  TRY_ASSIGN(blob::BlobReader reader, blobs_.open_blob(blob));
  blob::VerifyingReader verifying(std::move(reader), blob);
  TRY_ASSIGN(PackReceiver receiver, PackReceiver::create(folder_.path(), segment.digest));
  std::string piece(kPieceBytes, '\0');
  while (true) {
    TRY_ASSIGN(const std::size_t got, verifying.read(piece));
    if (got == 0) break;
    TRY(receiver.write(std::string_view(piece).substr(0, got)));
  }
  TRY(receiver.finish());
  folder_.note(segment.digest);
  return {};
}

Result<std::shared_ptr<const Mask>> PackSource::load_mask(const Segment& segment) {
  if (segment.masked == 0) return std::shared_ptr<const Mask>();
  const SegmentId id = segment.id;
  TRY_ASSIGN(StoredMask stored,
             readers_.run([id](store::Tx& tx) { return search::load_mask(tx, id); }));
  if (stored.version != segment.mask_version) {
    return Error{Errc::Stale, fmt::format("the mask of segment {} is newer", segment.id)};
  }
  return std::make_shared<const Mask>(Mask::from_bytes(std::move(stored.bits)));
}

}  // namespace quern::search
