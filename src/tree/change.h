// Changes: what happened to documents that search does not show yet.
//
// Guarantee: a document that comes or goes is noted in the transaction in which it does, and the
// note stays until whoever publishes the search removes it, in the transaction that publishes.
//
// Functions run on the writer, or in a read where they only load.
#pragma once

#include <string>
#include <vector>

#include "tree/job.h"

namespace quern::tree {

enum class ChangeKind { Added = 1, Gone = 2, JobGone = 3 };

struct Change {
  std::int64_t id = 0;
  ChangeKind kind = ChangeKind::Added;
  std::int64_t subject = 0;  // a file, or a job
};

struct NewChange {
  CollectionId collection;
  ChangeKind kind = ChangeKind::Added;
  std::int64_t subject = 0;
};
Result<> note_changes(store::Tx& tx, const std::vector<NewChange>& changes);

// The oldest ones of a collection, behind an id.
Result<std::vector<Change>> list_changes(store::Tx& tx, CollectionId collection, std::int64_t after,
                                         std::size_t limit);
Result<> drop_changes(store::Tx& tx, const std::vector<std::int64_t>& ids);

// A collection with changes; the name is empty where it is gone and was never published.
struct ChangedCollection {
  CollectionId id;
  std::string name;
  std::int64_t first = 0;      // the oldest change
  std::int64_t last = 0;       // the newest
  std::int64_t oldest_us = 0;  // when the first one was made
};
// By id, at most kListMax. Costs as much as there are collections, however many changes.
Result<std::vector<ChangedCollection>> list_changed(store::Tx& tx);

// Jobs whose documents must not be shown any more, though packs may still have them. At most
// kListMax, the oldest first.
Result<std::vector<JobId>> list_hidden_jobs(store::Tx& tx);

}  // namespace quern::tree
