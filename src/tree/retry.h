// Retry: a file that failed is tried again, as the root of a new job.
//
// Guarantee: asking again while the retry runs finds the same job. The old error is superseded when
// the new job is done (tree::finish_shard), whatever came of it: what is left to say stands there.
// How: the job's key names the file and how often it was tried before.
//
// Functions run on the writer, or in a read where they only look.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tree/child.h"
#include "tree/file.h"

namespace quern::tree {

inline constexpr char kRetryKind[] = "retry";

struct Retry {
  File file;     // that failed
  NewJob order;  // of the job that tries it again: perhaps one that runs already
};
// Missing where there is no such file; Conflict where it did not fail, was retried before, or has
// no bytes of its own.
Result<Retry> plan_retry(store::Tx& tx, FileId id);

struct RetryRoot {
  JobId job;
  ShardId shard;
  FileId failed;
  std::string step;                // that takes it now
  std::optional<Failure> failure;  // or why none does
};
// The root that inherits, and the seal behind it: the job is complete. Behind the shard's lock.
// Missing where the file or its bytes went meanwhile.
Result<Job> add_retry_root(store::Tx& tx, const RetryRoot& order);

// Files whose retry was begun, and whose job has no root yet: somebody died in between.
Result<std::vector<FileId>> list_begun_retries(store::Tx& tx, std::size_t limit);

}  // namespace quern::tree
