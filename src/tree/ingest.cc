#include "tree/ingest.h"

#include <map>

#include "base/crash.h"
#include "tree/change.h"

namespace quern::tree {
namespace {

using model::FileClass;
using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

// A document is a leaf with a PDF and a text; what the step Page made of a web page is one by its
// text. One child that replaced its parent is not a container's only member: that depends on the
// step.
#define QUERN_CLASS                                                                        \
  "CASE WHEN error_kind IS NOT NULL THEN 5"                                                \
  " WHEN n_children = 0 AND has_text AND (content_type = 'application/pdf'"                \
  " OR (step = 'Page' AND parent IS NOT NULL)) THEN 1"                                     \
  " WHEN n_children = 0 THEN 4"                                                            \
  " WHEN n_children = 1 AND step NOT IN ('Archive', 'Email', 'Mbox', 'Msg', 'Pst') THEN 3" \
  " ELSE 2 END"
constexpr Sql kIngest{"UPDATE file SET state = 4, ingested_us = $2, class = " QUERN_CLASS
                      " WHERE id IN (SELECT id FROM file WHERE partition = $1 AND state = 3"
                      " AND n_ingested_children = n_children ORDER BY depth DESC LIMIT $3)"
                      " RETURNING id, parent, class, collection"};
constexpr Sql kTellParent{
    "UPDATE file SET n_ingested_children = n_ingested_children + $2 WHERE id = $1",
    "UPDATE file AS f SET n_ingested_children = f.n_ingested_children + w.ingested"
    " FROM unnest($1::bigint[], $2::bigint[]) AS w (id, ingested) WHERE f.id = w.id"};
constexpr Sql kCount{
    "UPDATE shard SET roots_ingested = roots_ingested + $2, documents = documents + $3,"
    " containers = containers + $4, converted = converted + $5, empty = empty + $6,"
    " errors = errors + $7 WHERE partition = $1 RETURNING roots > roots_ingested"};

struct Counts {
  std::int64_t roots = 0;
  std::int64_t of[6] = {};  // by stored class
};

Result<Ingest::Reply> ingest(Tx& tx, const Ingest& op) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const Rows rows, tx.query(kIngest, op.shard, now_us, kIngestedAtOnce));
  Ingest::Reply reply;
  Counts counts;
  std::map<FileId, std::int64_t> parents;
  std::vector<NewChange> added;
  for (const Row row : rows) {
    const int stored = row.get<int>(2);
    CHECK(stored >= 1 && stored <= 5);
    ++counts.of[stored];
    reply.files.push_back({row.get<FileId>(0), static_cast<FileClass>(stored - 1)});
    if (reply.files.back().became == FileClass::Document) {
      const auto collection = row.get<CollectionId>(3);
      added.push_back({collection, ChangeKind::Added, row.get<FileId>(0).value});
    }
    if (const auto parent = row.get<std::optional<FileId>>(1)) {
      ++parents[*parent];
    } else {
      ++counts.roots;
    }
  }
  Bulk told;
  for (const auto& [parent, ingested] : parents) told.add(parent, ingested);
  TRY(tx.bulk(kTellParent, told));
  TRY(note_changes(tx, added));
  crash_point("tree.ingested.counting");
  TRY_ASSIGN(const Rows left, tx.query(kCount, op.shard, counts.roots, counts.of[1], counts.of[2],
                                       counts.of[3], counts.of[4], counts.of[5]));
  if (left.empty()) return Error{Errc::Missing, "the shard is gone"};
  reply.roots_left = left[0].get<bool>(0);
  return reply;
}

}  // namespace

std::vector<Result<Ingest::Reply>> apply(Tx& tx, std::span<const Ingest> batch) {
  std::vector<Result<Ingest::Reply>> results;
  for (const Ingest& op : batch) {
    results.push_back(ingest(tx, op));
    if (tx.sql_failed()) {
      return store::fail_all<Ingest::Reply>(batch.size(), results.back().error());
    }
  }
  return results;
}

}  // namespace quern::tree
