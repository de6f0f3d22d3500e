#include "tree/retry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crash.h"
#include "base/utf8.h"

namespace quern::tree {
namespace {

using store::Sql;
using store::Tx;

// A retry that was canceled leaves the error as it was; nobody needs more of them.
constexpr int kRetriesMax = 1000;
constexpr Sql kBegun{
    "SELECT retry_of FROM job WHERE state = 1 AND NOT sealed AND kind = 'retry'"
    " AND retry_of IS NOT NULL ORDER BY id LIMIT $1"};
constexpr Sql kCollectionName{"SELECT name FROM collection WHERE id = $1"};

Result<> expect_failed(const File& file) {
  if (file.state != model::FileState::Ingested || file.error_kind.empty()) {
    return Error{Errc::Conflict, fmt::format("file {} did not fail", file.id)};
  }
  if (file.superseded) {
    return Error{Errc::Conflict, fmt::format("file {} was tried again already", file.id)};
  }
  if (!file.blob) {
    return Error{Errc::Conflict,
                 fmt::format("file {} has no bytes of its own; try its parent again", file.id)};
  }
  return {};
}

// The first one that is not over.
Result<std::string> key_of(Tx& tx, FileId file) {
  for (int number = 1; number <= kRetriesMax; ++number) {
    const std::string key = fmt::format("retry:{}:{}", file, number);
    TRY_ASSIGN(const std::optional<Job> job, find_job(tx, key));
    if (!job || job->state == JobState::Running) return key;
  }
  return Error{Errc::Conflict, fmt::format("file {} was tried {} times", file, kRetriesMax)};
}

NewFile root_of(const File& failed, const RetryRoot& order) {
  NewFile root;
  root.filename = failed.filename;
  root.content_type = failed.content_type;
  root.metadata = failed.metadata;
  root.options = failed.options;
  root.inherited = failed.blob;
  root.bytes = failed.bytes;
  root.page = failed.page;
  root.pages = failed.pages;
  root.step = order.step;
  root.failure = order.failure;
  return root;
}

}  // namespace

Result<Retry> plan_retry(Tx& tx, FileId id) {
  Retry retry;
  TRY_ASSIGN(retry.file, load_file(tx, id));
  TRY(expect_failed(retry.file));
  retry.order.kind = kRetryKind;
  TRY_ASSIGN(retry.order.collection, tx.value<std::string>(kCollectionName, retry.file.collection));
  TRY_ASSIGN(retry.order.key, key_of(tx, id));
  const std::string source = retry.file.filename.substr(0, kSourceBytesMax);
  retry.order.source = source.substr(0, valid_utf8_prefix(source));
  retry.order.retry_of = id;
  return retry;
}

Result<Job> add_retry_root(Tx& tx, const RetryRoot& order) {
  TRY_ASSIGN(const Job job, load_job(tx, order.job));
  if (job.sealed) return job;  // our own earlier attempt got through
  TRY_ASSIGN(const File file, load_file(tx, order.failed));
  TRY(expect_failed(file));
  const blob::BlobId blob = *file.blob;
  TRY(blob::keep_blobs(tx, std::span(&blob, 1)));
  AddRoot root;
  root.job = job.id;
  root.collection = job.collection;
  root.shard = order.shard;
  root.file = root_of(file, order);
  std::vector<Result<AddedFile>> added = apply(tx, std::span<const AddRoot>(&root, 1));
  TRY(std::move(added[0]));
  crash_point("tree.retry.added");
  return seal_job(tx, job.id, 0);
}

Result<std::vector<FileId>> list_begun_retries(Tx& tx, std::size_t limit) {
  TRY_ASSIGN(const store::Rows rows, tx.query(kBegun, std::min(limit, kListMax)));
  std::vector<FileId> files;
  for (const store::Row row : rows) files.push_back(row.get<FileId>(0));
  return files;
}

}  // namespace quern::tree
