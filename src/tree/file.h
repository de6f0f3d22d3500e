// Files, as they are read: one, a page of a list, those that wait for a step.
//
// Lists are sorted by filename (then page), then by place in the tree, so that two runs can be
// compared; they page by key. Functions run in a read or on the writer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "blob/blob.h"
#include "model/steps.h"
#include "store/sql.h"
#include "tree/job.h"
#include "tree/page_ends.h"

namespace quern::tree {

struct File {
  FileId id;
  CollectionId collection;
  JobId job;
  ShardId shard;
  std::optional<FileId> root;
  std::optional<FileId> parent;
  std::int64_t index = 0;
  std::int64_t depth = 0;
  std::string position;
  std::string filename;
  std::string content_type;
  std::string detected_type;
  std::string metadata;
  std::string options;
  std::optional<blob::BlobId> blob;
  std::int64_t bytes = 0;
  std::optional<blob::BlobId> thumbnail;
  std::string thumbnail_type;
  bool has_text = false;
  std::optional<std::int64_t> page;
  std::optional<std::int64_t> pages;
  model::FileState state = model::FileState::Created;
  model::FileClass became = model::FileClass::InProgress;
  std::int64_t created_us = 0;
  std::optional<std::int64_t> written_us;
  std::optional<std::int64_t> processed_us;
  std::optional<std::int64_t> ingested_us;
  std::int64_t n_children = 0;
  std::int64_t n_ingested_children = 0;
  std::string step;
  std::string step_version;
  double progress_begin = 0;
  double progress_end = 0;
  std::string processing_error;
  std::string error_kind;
  std::int64_t attempts = 0;
  std::int64_t interruptions = 0;
  std::int64_t conflicts = 0;
  bool superseded = false;
  std::int64_t tree_files = 0;
  std::int64_t tree_bytes = 0;
  std::string worker;
  std::string note;
  std::optional<std::int64_t> wall_ms;
  std::optional<std::int64_t> cpu_ms;
  std::optional<std::int64_t> peak_kib;
};

Result<File> load_file(store::Tx& tx, FileId id);  // Missing
// The file, its parent, the parent of that, … up to the root. Missing.
inline constexpr std::size_t kLineageMax = 64;  // the limit of depth is far below
Result<std::vector<File>> load_lineage(store::Tx& tx, FileId id);

// Which ones: all files, or only those that became documents or errors.
enum class Listed { Files, Documents, Errors };
struct FileCursor {
  std::string filename;
  std::int64_t page = -1;
  std::string position;
};
struct FileFilter {
  Listed listed = Listed::Files;
  std::string collection;  // all collections where empty: by name, one after the other
  std::optional<JobId> job;
  std::optional<FileCursor> after;
  std::int64_t offset = 0;  // instead of `after`: the page begins behind so many
  std::size_t limit = kListMax;
};
// A skip walks an index: a million entries take 0.15 to 0.3 s. Who wants more goes on behind
// `next`.
inline constexpr std::int64_t kOffsetMax = 3'000'000;
struct FilePage {
  std::vector<File> files;         // after the filter by job: perhaps fewer than there are
  std::optional<FileCursor> next;  // where there may be more
};
Result<FilePage> list_files(store::Tx& tx, const FileFilter& filter);
// The place of the `count`-th one of a list, of all jobs; nothing where it is not so long.
Result<std::optional<FileCursor>> skip_files(store::Tx& tx, Listed listed, CollectionId collection,
                                             std::int64_t count);
// A cursor as text and back, for addresses. Invalid.
std::string to_string(const FileCursor& cursor);
Result<FileCursor> parse_cursor(std::string_view text);

// The children of a file, or the roots of a job, by index.
Result<std::vector<File>> list_children(store::Tx& tx, FileId parent, std::int64_t after_index,
                                        std::size_t limit);
Result<std::vector<File>> list_roots(store::Tx& tx, JobId job, std::int64_t after_index,
                                     std::size_t limit);

// What a document line shows beside its file.
struct Digests {
  std::string pdf_sha256;   // raw
  std::string text_sha256;  // raw; empty: no text
};
Result<std::vector<Digests>> load_digests(store::Tx& tx, const std::vector<File>& files);
struct StoredText {
  std::string text;
  std::optional<blob::BlobId> blob;  // instead
  bool cut = false;
  PageEnds page_ends;  // may be empty
};
Result<StoredText> load_text(store::Tx& tx, FileId file);  // Missing

// Files of a shard that wait for a step, deepest first. With their blobs' rows (without bytes).
struct Waiting {
  File file;
  blob::Blob blob;
};
Result<std::vector<Waiting>> load_waiting(store::Tx& tx, ShardId shard, const std::string& step,
                                          std::int64_t limit);
// Which steps a shard's files wait for, and how many, at most `limit` each.
struct WaitingCount {
  std::string step;
  std::int64_t files = 0;
};
Result<std::vector<WaitingCount>> count_waiting(store::Tx& tx, ShardId shard, std::int64_t limit);
// Whether a root of that name and these bytes is in the collection.
Result<bool> has_root(store::Tx& tx, const std::string& collection, const std::string& filename,
                      const std::string& sha256);

}  // namespace quern::tree
