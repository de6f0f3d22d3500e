#include "api/file_text.h"

#include "api/await.h"

namespace quern::api {
namespace {

using store::Tx;

Result<std::string> read_text(const blob::BlobStore& blobs, const blob::Blob& blob) {
  TRY_ASSIGN(blob::BlobReader reader, blobs.open_blob(blob));
  return blob::read_whole(std::move(reader), blob);
}

}  // namespace

net::Task<Result<WholeText>> load_whole_text(std::shared_ptr<const Parts> parts, tree::FileId id) {
  auto load = [id](Tx& tx) { return tree::load_text(tx, id); };
  CO_TRY_ASSIGN(tree::StoredText stored,
                co_await read(parts->loop, parts->readers, std::move(load)));
  WholeText whole;
  whole.cut = stored.cut;
  whole.page_ends = std::move(stored.page_ends);
  if (!stored.blob) {
    whole.text = std::move(stored.text);
    co_return whole;
  }
  const blob::BlobId blob_id = *stored.blob;
  auto load_row = [blob_id](Tx& tx) { return blob::load_blob(tx, blob_id, blob::Data::With); };
  CO_TRY_ASSIGN(const blob::Blob blob,
                co_await read(parts->loop, parts->readers, std::move(load_row)));
  auto load_bytes = [parts, blob] { return read_text(parts->blobs, blob); };
  CO_TRY_ASSIGN(whole.text, co_await offload(parts->loop, parts->pool, std::move(load_bytes)));
  co_return whole;
}

}  // namespace quern::api
