#include <fmt/format.h>

#include "blob/blob.h"
#include "blob/committer.h"
#include "blob/folder_backend.h"
#include "blob/s3_backend.h"
#include "blob/session.h"
#include "io/file.h"

namespace quern::blob {
namespace {

constexpr std::size_t kReadBytes = 1024 * 1024;

// Hands all of a file to `take`, in pieces. How many bytes that were.
template <class Take>
Result<std::int64_t> read_all(const io::FileReader& file, Take take) {
  std::string buffer(kReadBytes, '\0');
  std::int64_t offset = 0;
  while (true) {
    TRY_ASSIGN(const std::size_t got, file.read_at(offset, buffer));
    if (got == 0) return offset;
    TRY(take(std::string_view(buffer.data(), got)));
    offset += static_cast<std::int64_t>(got);
  }
}

}  // namespace

Result<std::unique_ptr<Backend>> open_backend(const BlobUrl& url) {
  if (url.kind == BlobUrl::Kind::Folder) return FolderBackend::open(url.folder);
  TRY_ASSIGN(S3Credentials credentials, S3Credentials::from_environment());
  return S3Backend::open(url, std::move(credentials));
}

Result<std::unique_ptr<BlobStore>> BlobStore::open(const BlobUrl& url, store::Writer& writer,
                                                   store::Readers& readers, Owner owner) {
  TRY_ASSIGN(std::unique_ptr<Backend> backend, open_backend(url));
  if (owner == Owner::Only) TRY(end_all_sessions(writer, readers));
  std::unique_ptr<BlobStore> store(new BlobStore(std::move(backend), writer, readers));
  store->session_ = std::make_unique<Session>(*store->backend_, writer, owner);
  store->committer_ = std::make_unique<Committer>(*store->backend_);
  return store;
}

BlobStore::BlobStore(std::unique_ptr<Backend> backend, store::Writer& writer,
                     store::Readers& readers)
    : backend_(std::move(backend)), writer_(writer), readers_(readers) {}

BlobStore::~BlobStore() = default;

Result<BlobReader> BlobStore::open_blob(const Blob& blob) const {
  if (blob.place.empty()) {
    CHECK(blob.data.size() == static_cast<std::size_t>(blob.bytes));  // loaded with Data::With
    return BlobReader(blob.data);
  }
  TRY_ASSIGN(std::unique_ptr<PlaceReader> place, backend_->open(blob.place));
  if (place->size_bytes() != blob.bytes) {
    return Error{Errc::Corrupt, fmt::format("blob {} has {} bytes; {} were written", blob.id,
                                            place->size_bytes(), blob.bytes)};
  }
  return BlobReader(std::shared_ptr<const PlaceReader>(std::move(place)));
}

std::optional<std::filesystem::path> BlobStore::path_of(const Blob& blob) const {
  if (blob.place.empty()) return std::nullopt;
  return backend_->path_of(blob.place);
}

void BlobStore::discard(const std::string& place) {
  if (!place.empty()) session_->discard(place);
}

void BlobStore::finish(Spool spool, std::function<void(Result<Put>)> done) {
  if (spool.stays_in_memory(0)) return done(spool.finish());
  committer_->push(std::move(spool), std::move(done));
}

Result<Put> BlobStore::adopt_file(const std::filesystem::path& path) {
  TRY_ASSIGN(const io::FileReader file, io::FileReader::open(path));
  if (file.size_bytes() > static_cast<std::int64_t>(kInlineBytesMax)) {
    TRY_ASSIGN(Place place, next_place());
    TRY_ASSIGN(const bool linked, backend_->adopt(path, place.name));
    if (linked) return hash_place(file, std::move(place));
  }
  Spool spool(*this);
  TRY(read_all(file, [&](std::string_view bytes) { return spool.write(bytes); }));
  return spool.finish();
}

Result<Put> BlobStore::hash_place(const io::FileReader& file, Place place) {
  Digest sha256(Digest::Kind::Sha256);
  Digest sha1(Digest::Kind::Sha1);
  const auto add = [&](std::string_view bytes) -> Result<> {
    sha256.add(bytes);
    sha1.add(bytes);
    return {};
  };
  const Result<std::int64_t> bytes = read_all(file, add);
  if (!bytes.ok()) {
    discard(place.name);
    return bytes.error();
  }
  return Put{.bytes = *bytes,
             .sha256 = sha256.finish(),
             .sha1 = sha1.finish(),
             .place = std::move(place.name),
             .session = place.session};
}

std::int64_t BlobStore::session() const {
  return session_->id();
}

Result<BlobStore::Place> BlobStore::next_place() {
  return session_->next_place();
}

Result<> BlobStore::renew() {
  return session_->renew();
}

}  // namespace quern::blob
