#include "tree/rendering.h"

#include <fmt/format.h>

#include "base/crash.h"
#include "blob/row.h"

namespace quern::tree {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kFind{
    "SELECT pdf, thumbnail, thumbnail_type, error_kind, error FROM rendering WHERE file = $1"};
// Whoever removes the file waits until the rendering stands, and then finds it.
constexpr Sql kHoldFile{"SELECT id FROM file WHERE id = $1 AND class = 1",
                        "SELECT id FROM file WHERE id = $1 AND class = 1 FOR KEY SHARE"};
constexpr Sql kInsert{
    "INSERT INTO rendering (file, pdf, thumbnail, thumbnail_type, error_kind, error, made_us)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (file) DO NOTHING"};
constexpr Sql kRemove{
    "DELETE FROM rendering WHERE file = $1 RETURNING pdf, thumbnail",
    "DELETE FROM rendering WHERE file = ANY ($1::bigint[]) RETURNING pdf, thumbnail"};

std::vector<const blob::Put*> puts_of(const NewRendering& rendering) {
  std::vector<const blob::Put*> puts;
  if (rendering.pdf) puts.push_back(&*rendering.pdf);
  if (rendering.thumbnail) puts.push_back(&rendering.thumbnail->blob);
  return puts;
}

KeptRendering unused(const NewRendering& rendering) {
  KeptRendering none;
  for (const blob::Put* put : puts_of(rendering)) {
    if (!put->place.empty()) none.orphans.push_back(put->place);
  }
  return none;
}

}  // namespace

bool needs_rendering(const File& file) {
  return file.became == model::FileClass::Document && file.content_type != model::kPdfType &&
         file.step == model::to_string(model::StepId::Page) && file.blob;
}

Result<std::optional<Rendering>> find_rendering(Tx& tx, FileId file) {
  TRY_ASSIGN(const Rows rows, tx.query(kFind, file));
  if (rows.empty()) return std::optional<Rendering>();
  const Row row = rows[0];
  Rendering found;
  found.pdf = row.get<std::optional<blob::BlobId>>(0);
  found.thumbnail = row.get<std::optional<blob::BlobId>>(1);
  found.thumbnail_type = row.get<std::optional<std::string>>(2).value_or("");
  if (!row.is_null(3)) {
    const auto kind = model::parse_error_kind(row.get<std::string>(3));
    found.failure = Failure{kind.value_or(model::ErrorKind::Internal), row.get<std::string>(4)};
  }
  return std::optional<Rendering>(std::move(found));
}

Result<Waiting> load_unrendered(Tx& tx, FileId id) {
  Waiting waiting;
  TRY_ASSIGN(waiting.file, load_file(tx, id));
  if (!needs_rendering(waiting.file)) {
    return Error{Errc::Missing, fmt::format("file {} is no web page", id)};
  }
  TRY_ASSIGN(waiting.blob, blob::load_blob(tx, *waiting.file.blob, blob::Data::Without));
  return waiting;
}

Result<KeptRendering> keep_rendering(Tx& tx, const NewRendering& rendering) {
  CHECK(rendering.pdf.has_value() != rendering.failure.has_value());
  TRY_ASSIGN(const Rows file, tx.query(kHoldFile, rendering.file));
  if (file.empty()) return unused(rendering);
  TRY_ASSIGN(const auto there, find_rendering(tx, rendering.file));
  if (there) return unused(rendering);
  const std::vector<const blob::Put*> puts = puts_of(rendering);
  TRY_ASSIGN(const std::vector<blob::Stored> stored, blob::store_blobs(tx, puts));
  crash_point("tree.rendering.blobs_stored");
  std::optional<blob::BlobId> pdf;
  std::optional<blob::BlobId> thumbnail;
  std::optional<std::string> type;
  if (rendering.pdf) pdf = stored[0].id;
  if (rendering.thumbnail) {
    thumbnail = stored.back().id;
    type = rendering.thumbnail->content_type;
  }
  std::optional<std::string> kind;
  std::optional<std::string> error;
  if (rendering.failure) {
    kind = model::to_string(rendering.failure->kind);
    error = rendering.failure->message;
  }
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY(tx.exec(kInsert, rendering.file, pdf, thumbnail, type, kind, error, now_us));
  KeptRendering kept;
  kept.kept = true;
  for (std::size_t i = 0; i < puts.size(); ++i) {
    if (stored[i].adopted && !puts[i]->place.empty()) kept.orphans.push_back(puts[i]->place);
  }
  return kept;
}

Result<> remove_renderings(Tx& tx, const Bulk& files, std::vector<blob::BlobId>& blobs) {
  TRY_ASSIGN(const Rows removed, tx.bulk(kRemove, files));
  for (const Row row : removed) {
    for (const std::size_t column : {std::size_t{0}, std::size_t{1}}) {
      if (!row.is_null(column)) blobs.push_back(row.get<blob::BlobId>(column));
    }
  }
  return {};
}

}  // namespace quern::tree
