// Children: what a step makes of a file, one at a time, in order. And roots, which nobody made.
//
// Guarantee: a child's row and its bytes appear together, once. After a crash at any instant the
// row is absent or complete; finishing the same child again changes nothing, whatever it brings.
// How: bytes are durable before the row names them, (parent, index) is unique, and a blob that no
// row names is removed by blob::sweep. See docs/states.md.
//
// Bulk operations behind the fence of their partition.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blob/blob.h"
#include "model/steps.h"
#include "store/operation.h"
#include "tree/job.h"
#include "tree/page_ends.h"

namespace quern::tree {

inline constexpr std::size_t kTextInlineBytesMax = 64 * 1024;

struct Text {
  std::string text;               // where it is short
  std::optional<blob::Put> blob;  // else
  std::string sha256;             // raw
  bool cut = false;
  PageEnds page_ends;  // of a text of several pages, perhaps
  // Of a web page: so many bytes are its own, what follows is navigation and the like.
  std::optional<std::int64_t> main_bytes;
  std::string headings;  // a JSON list; empty: nobody said
};

struct Thumbnail {
  blob::Put blob;
  std::string content_type;
};

struct Failure {
  model::ErrorKind kind = model::ErrorKind::Internal;
  std::string message;
};

// What a file is when it enters.
struct NewFile {
  std::string filename;
  std::string content_type;
  std::string metadata = "{}";  // JSON objects
  std::string options = "{}";
  std::optional<blob::Put> blob;
  std::optional<blob::BlobId> inherited;  // instead
  std::int64_t bytes = 0;                 // of either
  std::optional<Thumbnail> thumbnail;
  std::optional<Text> text;
  std::optional<std::int64_t> page;
  std::optional<std::int64_t> pages;
  // What it becomes: an error, processed (nothing is left to do), or written, for a step.
  std::optional<Failure> failure;
  bool complete = false;
  std::string step;
};

// Where a child belongs; the same for all children of a file.
struct ParentInfo {
  FileId id;
  FileId root;
  JobId job;
  CollectionId collection;
  ShardId shard;
  std::int64_t depth = 0;
  std::string position;
};

struct AddedFile {
  FileId id;
  bool existed = false;
  // Of the root, after this; for limits.
  std::int64_t tree_files = 0;
  std::int64_t tree_bytes = 0;
  // Bytes that the store had already: these places are orphans now.
  std::vector<std::string> orphans;
};

struct FinishChild {
  std::int64_t token = 0;
  ParentInfo parent;
  std::int64_t index = 0;
  NewFile file;
  double progress_begin = 0;
  double progress_end = 0;

  using Reply = AddedFile;
  store::Fence fence() const { return {parent.shard.value, token}; }
};
std::vector<Result<AddedFile>> apply(store::Tx& tx, std::span<const FinishChild> batch);

// A root that arrives whole. Conflict where another file has its index; Missing where the job is
// gone, Conflict where it is sealed.
struct AddRoot {
  JobId job;
  CollectionId collection;
  ShardId shard;
  std::int64_t index = 0;
  NewFile file;

  using Reply = AddedFile;
  store::Fence fence() const { return {shard.value, 0}; }
};
std::vector<Result<AddedFile>> apply(store::Tx& tx, std::span<const AddRoot> batch);

// A root whose bytes are still to come (file.blob is empty): created, then written once.
Result<FileId> create_root(store::Tx& tx, const AddRoot& root);
// Missing where it is gone, Conflict where it was written before with other bytes.
struct WriteRoot {
  FileId id;
  ShardId shard;
  blob::Put blob;
  std::string step;
};
Result<AddedFile> write_root(store::Tx& tx, const WriteRoot& root);
// A created root whose bytes will not come. Whether there was one.
Result<bool> drop_root(store::Tx& tx, ShardId shard, FileId id);

// How much of a job a root of that size is.
double root_weight(std::int64_t bytes);

}  // namespace quern::tree
