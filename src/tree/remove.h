// Removing: a job goes with all its files, in bounded transactions.
//
//   mark -> its partitions go (nobody can write for it any more) -> files -> shards -> job
//
// Guarantee: a job that is marked goes, whoever dies on the way: each step is one transaction, and
// the next one finds out where the last one got to. From the mark on it takes no file, is in no
// list, no sum and no search, and its key is free. A blob is put in doubt in the transaction that
// takes a reference to it away; blob::sweep judges it.
//
// Functions run on the writer. The partitions belong to the work engine, which this folder does not
// see: whoever calls remove_some() has taken them away.
#pragma once

#include <string>
#include <vector>

#include "store/sql.h"
#include "tree/job.h"

namespace quern::tree {

inline constexpr std::int64_t kRemovedAtOnce = 500;

// For blob::sweep: blobs that no file, thumbnail, text, rendering, segment of a pack, file of a
// dataset or fingerprint refers to.
inline constexpr store::Sql kDeleteUnreferenced{
    "DELETE FROM blob WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM file WHERE blob = $1)"
    " AND NOT EXISTS (SELECT 1 FROM file WHERE thumbnail = $1)"
    " AND NOT EXISTS (SELECT 1 FROM file_text WHERE blob = $1)"
    " AND NOT EXISTS (SELECT 1 FROM rendering WHERE pdf = $1)"
    " AND NOT EXISTS (SELECT 1 FROM rendering WHERE thumbnail = $1)"
    " AND NOT EXISTS (SELECT 1 FROM segment WHERE blob = $1)"
    " AND NOT EXISTS (SELECT 1 FROM fileset_file WHERE blob = $1)"
    " AND NOT EXISTS (SELECT 1 FROM research_fingerprint WHERE blob = $1) RETURNING id, place",
    "DELETE FROM blob AS b WHERE b.id = ANY ($1::bigint[])"
    " AND NOT EXISTS (SELECT 1 FROM file AS f WHERE f.blob = b.id)"
    " AND NOT EXISTS (SELECT 1 FROM file AS f WHERE f.thumbnail = b.id)"
    " AND NOT EXISTS (SELECT 1 FROM file_text AS t WHERE t.blob = b.id)"
    " AND NOT EXISTS (SELECT 1 FROM rendering AS n WHERE n.pdf = b.id)"
    " AND NOT EXISTS (SELECT 1 FROM rendering AS n WHERE n.thumbnail = b.id)"
    " AND NOT EXISTS (SELECT 1 FROM segment AS s WHERE s.blob = b.id)"
    " AND NOT EXISTS (SELECT 1 FROM fileset_file AS d WHERE d.blob = b.id)"
    " AND NOT EXISTS (SELECT 1 FROM research_fingerprint AS r WHERE r.blob = b.id)"
    " RETURNING b.id, b.place"};

// Missing where there is no such job. Again: changes nothing.
Result<> mark_deleting(store::Tx& tx, JobId id);
// Marks up to kListMax jobs of a collection; returns them. Missing where there is no such
// collection. A collection goes with its last job.
Result<std::vector<JobId>> mark_collection(store::Tx& tx, const std::string& name);
// What is marked and not gone yet, the oldest first.
Result<std::vector<JobId>> list_deleting(store::Tx& tx, std::size_t limit);
// Up to kRemovedAtOnce files; where none is left, the shards and the job. Whether it is gone.
Result<bool> remove_some(store::Tx& tx, JobId id);

// One root goes with all that became of it: a web page has a newer version, or none any more. Its
// documents are noted as gone, and no sum counts it. Up to kRemovedAtOnce files; whether it is
// gone, also where it was before. Conflict where it is not ingested. Behind the lock of its shard.
Result<bool> remove_root(store::Tx& tx, FileId root);

}  // namespace quern::tree
