// Uploads: roots whose bytes come in pieces, over several requests, perhaps over days.
//
//   create_upload() -> note_bytes() with every piece that is durable -> complete_upload()
//                      or drop_upload(): by its client, or when nobody has gone on with it for long
//
// Guarantee: asking twice for the same upload finds one. Bytes count once note_bytes() is
// committed, which is called after they were synced; those behind them count for nothing, whatever
// lies in the part file. The root is written, the upload done and a job of its own sealed in one
// transaction; done again, it changes nothing. An upload that goes takes its root with it, unless
// that is written. How: each function that changes something runs behind the lock of the root's
// shard, so that a piece, the end and a drop never meet.
//
// Functions that take a Tx& run on the writer, or in a read where they only load.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tree/child.h"
#include "tree/job.h"

namespace quern::tree {

using UploadId = Id<struct UploadTag>;

// After its last byte, or its end.
inline constexpr std::int64_t kUploadKeptUs = 7LL * 24 * 3600 * 1'000'000;
// How keys of jobs begin that uploads made for themselves.
inline constexpr char kUploadJobPrefix[] = "upload:";
inline constexpr std::size_t kUploadsListed = 200;

struct Upload {
  UploadId id;
  std::string name;
  FileId file;
  JobId job;
  ShardId shard;
  bool own_job = false;
  std::string node;
  std::int64_t length = 0;
  std::int64_t bytes = 0;  // that count
  bool done = false;
  std::string metadata;
  std::int64_t expires_us = 0;
  bool expired = false;  // by the database's time
  // Of the root.
  bool root_waits = false;  // for its bytes; neither written, nor canceled, nor deleted
  std::string content_type;
  std::string options;

  bool complete() const { return bytes == length; }
};

struct NewUpload {
  AddRoot root;  // without bytes; file.bytes says how many there will be
  std::string name;
  std::string node;
  std::string metadata;
  bool own_job = false;
};
// A new one, or the one that the root has: Conflict where that differs. For a root that has arrived
// by other means, with as many bytes: one that is done.
Result<Upload> create_upload(store::Tx& tx, const NewUpload& order);

Result<Upload> load_upload(store::Tx& tx, const std::string& name);  // Missing

// So many bytes are durable: never fewer than before. When it expires now. Missing where it has
// gone or is done.
Result<std::int64_t> note_bytes(store::Tx& tx, UploadId id, std::int64_t bytes);

struct CompleteUpload {
  Upload upload;
  blob::Put blob;  // all of its bytes
  std::string step;
  std::optional<Failure> failure;  // no step takes it
};
// Missing where it has gone: then the put is nobody's.
Result<AddedFile> complete_upload(store::Tx& tx, const CompleteUpload& order);

// Asked: whatever its state. Expired: only where it is. Whether it went.
enum class Drop { Asked, Expired };
Result<bool> drop_upload(store::Tx& tx, const Upload& upload, Drop drop);
// An upload whose root was deleted with its job. Needs no lock: nobody can go on with it.
Result<bool> forget_upload(store::Tx& tx, UploadId id);

// At most kUploadsListed each: those whose time is over; those of a node that need only be
// completed; of these names, those that still take bytes.
Result<std::vector<Upload>> list_expired_uploads(store::Tx& tx);
Result<std::vector<Upload>> list_complete_uploads(store::Tx& tx, const std::string& node,
                                                  UploadId after);
Result<std::vector<std::string>> find_open_uploads(store::Tx& tx,
                                                   const std::vector<std::string>& names);
// Jobs that were made for an upload which never came to be, long ago: nobody else will seal them.
Result<std::vector<JobId>> list_deserted_jobs(store::Tx& tx);

}  // namespace quern::tree
