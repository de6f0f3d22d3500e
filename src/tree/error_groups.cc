#include "tree/error_groups.h"

#include <algorithm>

namespace quern::tree {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kCollection{"SELECT id FROM collection WHERE name = $1"};
constexpr Sql kErrors{
    "SELECT f.id, f.job, f.filename, f.position, f.error_kind, f.processing_error, f.superseded"
    " FROM file AS f WHERE f.collection = $1 AND f.class = 5"
    " AND (f.filename, f.position) > ($2, $3) ORDER BY f.filename, f.position LIMIT $4"};

bool is_larger(const ErrorGroup* a, const ErrorGroup* b) {
  if (a->count != b->count) return a->count > b->count;
  return std::tie(a->kind, a->message) < std::tie(b->kind, b->message);
}

}  // namespace

Result<std::vector<ErrorRow>> list_error_rows(Tx& tx, const std::string& collection,
                                              const FileCursor& after, std::size_t limit) {
  TRY_ASSIGN(const auto id, tx.find_value<CollectionId>(kCollection, collection));
  std::vector<ErrorRow> errors;
  if (!id) return errors;
  TRY_ASSIGN(const Rows rows, tx.query(kErrors, *id, after.filename, after.position,
                                       std::min(limit, kErrorsPerRead)));
  for (const Row row : rows) {
    ErrorRow error;
    error.file = row.get<FileId>(0);
    error.job = row.get<JobId>(1);
    error.place = {row.get<std::string>(2), 0, row.get<std::string>(3)};
    error.kind = row.get<std::string>(4);
    error.message = row.get<std::string>(5);
    error.superseded = row.get<bool>(6);
    errors.push_back(std::move(error));
  }
  return errors;
}

void ErrorGroups::look_at(const std::vector<ErrorRow>& rows, std::optional<JobId> job) {
  looked_at_ += static_cast<std::int64_t>(rows.size());
  for (const ErrorRow& row : rows) {
    if (!job || row.job == *job) add(row);
  }
}

void ErrorGroups::add(const ErrorRow& row) {
  ++counted_;
  std::pair<std::string, std::string> key{row.kind, row.message};
  auto found = groups_.find(key);
  if (found == groups_.end()) {
    if (groups_.size() >= kGroupsHeldMax) return;
    found = groups_.emplace(std::move(key), ErrorGroup{row.kind, row.message}).first;
  }
  ErrorGroup& group = found->second;
  ++group.count;
  if (row.superseded) ++group.superseded;
  if (group.examples.size() < kGroupExamplesMax) {
    group.examples.emplace_back(row.file, row.place.filename);
  }
}

std::vector<ErrorGroup> ErrorGroups::largest() const {
  std::vector<const ErrorGroup*> all;
  for (const auto& [key, group] : groups_) all.push_back(&group);
  std::sort(all.begin(), all.end(), is_larger);
  all.resize(std::min(all.size(), kGroupsMax));
  std::vector<ErrorGroup> groups;
  for (const ErrorGroup* group : all) groups.push_back(*group);
  return groups;
}

}  // namespace quern::tree
