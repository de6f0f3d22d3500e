// Files of datasets as they are stored: one row for each file of a manifest, and one for the bundle
// where that is kept instead.
//
// Guarantee: what a row calls kept is durable: its bytes are a blob that the row names, its capture
// is noted. Both appear with the row's end, in one transaction.
//
// Functions run on the writer behind the lock of the request's partition, or in a read where they
// only load.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "blob/blob.h"
#include "fileset/own_archive.h"
#include "fileset/result.h"
#include "store/tx.h"
#include "tree/job.h"

namespace quern::fileset {

inline constexpr std::int64_t kBundleNumber = -1;
inline constexpr std::int64_t kRowsRemovedAtOnce = 500;

struct FileRow {
  std::int64_t number = 0;
  ManifestFile file;  // with what was found out since
  bool ended = false;
  std::string message;
  std::optional<blob::BlobId> blob;
  std::optional<Capture> capture;
  std::int64_t tries = 0;
  std::int64_t bytes = 0;  // that came over the network
};

// Makes the rows; those that are there stay.
Result<> add_files(store::Tx& tx, tree::JobId job, const std::vector<FileRow>& files);
Result<FileRow> load_file(store::Tx& tx, tree::JobId job, std::int64_t number);  // Missing
// In order; the bundle first.
Result<std::vector<FileRow>> list_files(store::Tx& tx, tree::JobId job);

// Of the blobs that its files are so far.
Result<std::int64_t> sum_kept_bytes(store::Tx& tx, tree::JobId job);

// How a file ended.
struct FileEnd {
  FileRow row;
  std::optional<blob::Put> put;    // its bytes
  std::vector<OwnRecord> records;  // of our own archive, that nobody has noted yet
};
// False where it has ended before. `orphans`: places of bytes that the store had already.
Result<bool> end_file(store::Tx& tx, tree::JobId job, tree::CollectionId collection,
                      const FileEnd& end, std::vector<std::string>& orphans);
// A try that failed, and will be made again.
Result<> note_try(store::Tx& tx, tree::JobId job, const FileRow& row);

// Records of our own archive, so that they can be found, replayed, exported and checked as those of
// crawls are.
Result<> note_records(store::Tx& tx, tree::CollectionId collection,
                      const std::vector<OwnRecord>& records);

// Prefixes of WARC files (web/archive_name.h) that go with a job that is being deleted: of its own,
// and of jobs that went before it and whose captures it had taken over; not where a job that stays
// has taken them over as well. Before remove_fileset().
Result<std::vector<std::string>> list_archives(store::Tx& tx, tree::JobId job);
// What a job leaves when it is deleted. Up to kRowsRemovedAtOnce rows; whether nothing is left.
Result<bool> remove_fileset(store::Tx& tx, tree::JobId job);

}  // namespace quern::fileset
