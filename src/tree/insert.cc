#include "tree/insert.h"

#include <deque>

namespace quern::tree {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kInsert{
    "INSERT INTO file (collection, job, partition, root, parent, index_in_parent, depth, position,"
    " filename, content_type, metadata, options, blob, bytes, thumbnail, thumbnail_type, has_text,"
    " page, pages, state, created_us, written_us, processed_us, step, progress_begin,"
    " progress_end, processing_error, error_kind, waited, n_children, n_ingested_children,"
    " progress_given, attempts, interruptions, lent, conflicts, superseded, tree_files, tree_bytes)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,"
    " $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)"
    " RETURNING id, job, parent, index_in_parent",
    "INSERT INTO file (collection, job, partition, root, parent, index_in_parent, depth, position,"
    " filename, content_type, metadata, options, blob, bytes, thumbnail, thumbnail_type, has_text,"
    " page, pages, state, created_us, written_us, processed_us, step, progress_begin,"
    " progress_end, processing_error, error_kind, waited, n_children, n_ingested_children,"
    " progress_given, attempts, interruptions, lent, conflicts, superseded, tree_files, tree_bytes)"
    " SELECT w.*, 0, 0, 0, 0, 0, FALSE, 0, FALSE, 0, 0 FROM unnest($1::bigint[], $2::bigint[],"
    " $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[],"
    " $9::text[], $10::text[], $11::text[], $12::text[], $13::bigint[], $14::bigint[],"
    " $15::bigint[], $16::text[], $17::boolean[], $18::bigint[], $19::bigint[], $20::bigint[],"
    " $21::bigint[], $22::bigint[], $23::bigint[], $24::text[], $25::double precision[],"
    " $26::double precision[], $27::text[], $28::text[], $29::boolean[]) AS w"
    " RETURNING id, job, parent, index_in_parent"};
constexpr Sql kInsertText{
    "INSERT INTO file_text (file, text, blob, sha256, cut, page_ends, main_bytes, headings)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    "INSERT INTO file_text (file, text, blob, sha256, cut, page_ends, main_bytes, headings)"
    " SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bytea[], $5::boolean[],"
    " $6::text[], $7::bigint[], $8::text[])"};
constexpr Sql kAddToShard{
    "UPDATE shard SET roots = roots + $2, files = files + $3, bytes_in = bytes_in + $4,"
    " weight = weight + $5, progress = progress + $6 WHERE partition = $1",
    "UPDATE shard AS s SET roots = s.roots + w.roots, files = s.files + w.files,"
    " bytes_in = s.bytes_in + w.bytes_in, weight = s.weight + w.weight,"
    " progress = s.progress + w.progress FROM unnest($1::bigint[], $2::bigint[], $3::bigint[],"
    " $4::bigint[], $5::double precision[], $6::double precision[])"
    " AS w (partition, roots, files, bytes_in, weight, progress) WHERE s.partition = w.partition"};

// The blobs of a row, in the order in which they are stored.
struct RowBlobs {
  std::optional<std::size_t> blob;  // among all puts
  std::optional<std::size_t> thumbnail;
  std::optional<std::size_t> text;
};

store::Bytes bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Whose child, and which one.
using Slot = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

Slot slot_of(JobId job, std::optional<FileId> parent, std::int64_t index) {
  return parent ? Slot{0, parent->value, index} : Slot{1, job.value, index};
}

std::vector<RowBlobs> gather(const std::vector<FileRow>& rows,
                             std::vector<const blob::Put*>& puts) {
  std::vector<RowBlobs> all;
  const auto add = [&puts](const blob::Put& put) {
    puts.push_back(&put);
    return puts.size() - 1;
  };
  for (const FileRow& row : rows) {
    RowBlobs blobs;
    if (row.file->blob) blobs.blob = add(*row.file->blob);
    if (row.file->thumbnail) blobs.thumbnail = add(row.file->thumbnail->blob);
    if (row.file->text && row.file->text->blob) blobs.text = add(*row.file->text->blob);
    all.push_back(blobs);
  }
  return all;
}

std::optional<blob::BlobId> id_of(const std::optional<std::size_t>& at,
                                  const std::vector<blob::Stored>& kept) {
  return at ? std::optional(kept[*at].id) : std::nullopt;
}

// Values that a Bulk refers to and that stand in no NewFile.
struct Derived {
  std::optional<blob::BlobId> blob;
  std::optional<blob::BlobId> thumbnail;
  std::optional<std::string> thumbnail_type;
  std::optional<std::int64_t> written_us;
  std::optional<std::int64_t> processed_us;
  std::optional<std::string> step;
  std::optional<std::string> error;
  std::optional<std::string> error_kind;
};

Derived derive(const NewFile& file, const RowBlobs& blobs, const std::vector<blob::Stored>& kept,
               std::int64_t now_us) {
  const FileState state = state_of(file);
  Derived derived;
  derived.blob = file.inherited ? file.inherited : id_of(blobs.blob, kept);
  derived.thumbnail = id_of(blobs.thumbnail, kept);
  if (file.thumbnail) derived.thumbnail_type = file.thumbnail->content_type;
  if (state >= FileState::Written) derived.written_us = now_us;
  if (state >= FileState::Processed) derived.processed_us = now_us;
  if (!file.step.empty()) derived.step = file.step;
  if (file.failure) {
    derived.error = file.failure->message;
    derived.error_kind = model::to_string(file.failure->kind);
  }
  return derived;
}

Result<> insert_texts(Tx& tx, const std::vector<FileRow>& rows, const std::vector<AddedFile>& added,
                      const std::vector<RowBlobs>& blobs, const std::vector<blob::Stored>& kept) {
  Bulk texts;
  std::deque<std::optional<std::string>> kept_texts;  // which `texts` refers to
  const auto or_null = [&kept_texts](std::string text) -> const std::optional<std::string>& {
    kept_texts.emplace_back();
    if (!text.empty()) kept_texts.back() = std::move(text);
    return kept_texts.back();
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].file->text) continue;
    const Text& text = *rows[i].file->text;
    store::Param inline_text(text.text);
    inline_text.null = text.blob.has_value();
    const auto& page_ends = or_null(text.page_ends.empty() ? "" : to_json(text.page_ends));
    texts.add(added[i].id, inline_text, id_of(blobs[i].text, kept), bytes_of(text.sha256), text.cut,
              page_ends, text.main_bytes, or_null(text.headings));
  }
  TRY(tx.bulk(kInsertText, texts));
  return {};
}

std::vector<std::string> orphans_of(const RowBlobs& blobs,
                                    const std::vector<const blob::Put*>& puts,
                                    const std::vector<blob::Stored>& kept) {
  std::vector<std::string> orphans;
  for (const auto& at : {blobs.blob, blobs.thumbnail, blobs.text}) {
    if (at && kept[*at].adopted && !puts[*at]->place.empty()) {
      orphans.push_back(puts[*at]->place);
    }
  }
  return orphans;
}

}  // namespace

FileState state_of(const NewFile& file) {
  if (file.failure || file.complete) return FileState::Processed;
  return file.blob || file.inherited ? FileState::Written : FileState::Created;
}

Result<std::vector<AddedFile>> insert_files(Tx& tx, const std::vector<FileRow>& rows) {
  std::vector<const blob::Put*> puts;
  const std::vector<RowBlobs> blobs = gather(rows, puts);
  TRY_ASSIGN(const std::vector<blob::Stored> kept, blob::store_blobs(tx, puts));
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  std::vector<Derived> derived;
  derived.reserve(rows.size());
  Bulk bulk;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const FileRow& row = rows[i];
    const NewFile& file = *row.file;
    const Derived& d = derived.emplace_back(derive(file, blobs[i], kept, now_us));
    bulk.add(row.collection, row.job, row.shard, row.root, row.parent, row.index, row.depth,
             row.position, file.filename, file.content_type, file.metadata, file.options, d.blob,
             file.bytes, d.thumbnail, d.thumbnail_type, file.text.has_value(),
             file.page.value_or(0), file.pages, stored(state_of(file)), now_us, d.written_us,
             d.processed_us, d.step, row.progress_begin, row.progress_end, d.error, d.error_kind,
             state_of(file) < FileState::Processed);
  }
  TRY_ASSIGN(const Rows made, tx.bulk(kInsert, bulk));
  std::map<Slot, FileId> ids;
  for (const Row row : made) {
    ids[slot_of(row.get<JobId>(1), row.get<std::optional<FileId>>(2), row.get<std::int64_t>(3))] =
        row.get<FileId>(0);
  }
  CHECK(ids.size() == rows.size());
  std::vector<AddedFile> added;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    AddedFile file;
    file.id = ids.at(slot_of(rows[i].job, rows[i].parent, rows[i].index));
    file.orphans = orphans_of(blobs[i], puts, kept);
    added.push_back(std::move(file));
  }
  TRY(insert_texts(tx, rows, added, blobs, kept));
  return added;
}

void count_new(StepSums& steps, const NewFile& file) {
  if (file.step.empty() || state_of(file) != FileState::Written) return;
  ++steps[file.step].entered;
}

Result<> add_to_shards(Tx& tx, const std::map<ShardId, ShardDelta>& deltas) {
  Bulk bulk;
  std::map<ShardId, StepSums> steps;
  for (const auto& [id, delta] : deltas) {
    bulk.add(id, delta.roots, delta.files, delta.bytes_in, delta.weight, delta.progress);
    if (!delta.steps.empty()) steps[id] = delta.steps;
  }
  TRY(tx.bulk(kAddToShard, bulk));
  return add_to_steps(tx, steps);
}

}  // namespace quern::tree
