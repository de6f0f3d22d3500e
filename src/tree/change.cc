#include "tree/change.h"

namespace quern::tree {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kNote{
    "INSERT INTO document_change (collection, kind, subject, at_us) VALUES ($1, $2, $3, $4)",
    "INSERT INTO document_change (collection, kind, subject, at_us)"
    " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])"};
constexpr Sql kList{
    "SELECT id, kind, subject FROM document_change WHERE collection = $1 AND id > $2"
    " ORDER BY id LIMIT $3"};
constexpr Sql kDrop{"DELETE FROM document_change WHERE id = $1",
                    "DELETE FROM document_change WHERE id = ANY ($1::bigint[])"};
// A step from one collection to the next by the index.
constexpr Sql kNextCollection{"SELECT min(collection) FROM document_change WHERE collection > $1"};
constexpr Sql kEnds{
    "SELECT (SELECT id FROM document_change WHERE collection = $1 ORDER BY id LIMIT 1),"
    " (SELECT id FROM document_change WHERE collection = $1 ORDER BY id DESC LIMIT 1),"
    " (SELECT at_us FROM document_change WHERE collection = $1 ORDER BY id LIMIT 1),"
    " coalesce((SELECT name FROM collection WHERE id = $1),"
    " (SELECT name FROM pack WHERE collection = $1), '')"};
constexpr Sql kHidden{
    "SELECT subject FROM document_change WHERE kind = 3 ORDER BY subject LIMIT $1"};

}  // namespace

Result<> note_changes(Tx& tx, const std::vector<NewChange>& changes) {
  if (changes.empty()) return {};
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  Bulk rows;
  for (const NewChange& change : changes) {
    rows.add(change.collection, static_cast<std::int64_t>(change.kind), change.subject, now_us);
  }
  TRY(tx.bulk(kNote, rows));
  return {};
}

Result<std::vector<Change>> list_changes(Tx& tx, CollectionId collection, std::int64_t after,
                                         std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kList, collection, after, limit));
  std::vector<Change> changes;
  for (const Row row : rows) {
    changes.push_back({row.get<std::int64_t>(0), static_cast<ChangeKind>(row.get<int>(1)),
                       row.get<std::int64_t>(2)});
  }
  return changes;
}

Result<> drop_changes(Tx& tx, const std::vector<std::int64_t>& ids) {
  Bulk rows;
  for (const std::int64_t id : ids) rows.add(id);
  TRY(tx.bulk(kDrop, rows));
  return {};
}

Result<std::vector<ChangedCollection>> list_changed(Tx& tx) {
  std::vector<ChangedCollection> found;
  CollectionId at;
  while (found.size() < kListMax) {
    TRY_ASSIGN(const auto next, tx.value<std::optional<CollectionId>>(kNextCollection, at));
    if (!next) break;
    at = *next;
    TRY_ASSIGN(const Rows rows, tx.query(kEnds, at));
    found.push_back({at, rows[0].get<std::string>(3), rows[0].get<std::int64_t>(0),
                     rows[0].get<std::int64_t>(1), rows[0].get<std::int64_t>(2)});
  }
  return found;
}

Result<std::vector<JobId>> list_hidden_jobs(Tx& tx) {
  TRY_ASSIGN(const Rows rows, tx.query(kHidden, kListMax));
  std::vector<JobId> jobs;
  for (const Row row : rows) jobs.push_back(row.get<JobId>(0));
  return jobs;
}

}  // namespace quern::tree
