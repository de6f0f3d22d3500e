// What the tests of trees share: a store of either kind with the partitions' guard, jobs with real
// partitions, and short words for what a worker does to a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "blob/digest.h"
#include "conformance/queue_fixture.h"
#include "step/import.h"
#include "tree/check.h"
#include "tree/child.h"
#include "tree/file.h"
#include "tree/finish.h"
#include "tree/ingest.h"
#include "tree/job.h"

namespace quern::tree {

using store::StoreKind;
using store::Tx;

class TreeTest : public queue::QueueTest {
 protected:
  // -- jobs --
  Job open_job(const std::string& key = "job", const std::string& collection = "default",
               std::int64_t shards = 1);
  Job reload(JobId id);
  ShardId shard_of(JobId job, std::int64_t index = 0);
  Job seal(JobId id, std::int64_t skipped = 0);

  // -- files --
  static blob::Put put(const std::string& bytes);
  static NewFile file_of(const std::string& name, const std::string& bytes,
                         const std::string& step = "Archive");
  // A complete document.
  static NewFile document(const std::string& name, const std::string& text);
  static NewFile failed(const std::string& name, model::ErrorKind kind);

  AddRoot root_of(const Job& job, std::int64_t index, NewFile file);
  File add_root(const Job& job, std::int64_t index, const std::string& name,
                const std::string& step = "Archive");
  FinishChild child_of(const File& parent, std::int64_t index, NewFile file);
  AddedFile add_child(const File& parent, std::int64_t index, NewFile file);
  Result<AddedFile> try_child(const FinishChild& op);
  File load(FileId id);

  // -- what ends a file --
  bool finish(const File& file, std::optional<Failure> failure = std::nullopt);
  CountEnd::Reply count(const File& file, CountEnd::Kind kind);
  Ingest::Reply ingest_once(ShardId shard);
  // Until nothing is left; what became of how many.
  std::string ingest(ShardId shard);
  bool finish_shard_of(const Job& job, std::int64_t shard = 0);

  // A closure on the writer, behind the lock of the shard.
  template <class Function>
  auto change(ShardId shard, Function function) {
    auto fenced = store::Fenced{store::Fence{shard.value, 0}, std::move(function)};
    return writer_->run({static_cast<std::uint64_t>(shard.value)}, std::move(fenced));
  }
  template <class Function>
  auto read(Function function) {
    return readers_->run(std::move(function));
  }
  std::int64_t rows_of(const std::string& table);

  // "a.zip container | a.zip/b document | …": the tree of a job, as it stands.
  std::string show(JobId job);
  // Empty: every invariant holds.
  std::string problems();
};

}  // namespace quern::tree
