#include "blob/judgement.h"

#include "base/crash.h"

namespace quern::blob {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::StoreKind;
using store::Tx;

constexpr std::size_t kDoubtsMax = 500;

constexpr Sql kDoubts{"SELECT id, blob FROM blob_doubt ORDER BY id LIMIT 500"};
constexpr Sql kForgetDoubts{"DELETE FROM blob_doubt WHERE id = $1",
                            "DELETE FROM blob_doubt WHERE id = ANY($1::bigint[])"};
constexpr Sql kLock{"SELECT id FROM blob WHERE id = $1",
                    "SELECT id FROM blob WHERE id = ANY($1::bigint[]) ORDER BY sha256"
                    " LIMIT 100000 FOR UPDATE SKIP LOCKED"};
constexpr Sql kExisting{"SELECT id FROM blob WHERE id = $1",
                        "SELECT id FROM blob WHERE id = ANY($1::bigint[]) LIMIT 100000"};
constexpr Sql kAddDead{"INSERT INTO blob_dead (place) VALUES ($1)",
                       "INSERT INTO blob_dead (place) SELECT unnest($1::text[])"};

Bulk bulk_of(const std::set<BlobId>& ids) {
  Bulk bulk;
  for (const BlobId id : ids) bulk.add(id);
  return bulk;
}

}  // namespace

Result<> Judgement::read(Tx& tx) {
  TRY_ASSIGN(const Rows rows, tx.query(kDoubts));
  for (const Row row : rows) doubts_.emplace_back(row.get<std::int64_t>(0), row.get<BlobId>(1));
  full_ = doubts_.size() == kDoubtsMax;
  return {};
}

Result<> Judgement::lock(Tx& tx) {
  std::set<BlobId> doubted;
  for (const auto& [doubt, blob] : doubts_) doubted.insert(blob);
  TRY_ASSIGN(const Rows locked, tx.bulk(kLock, bulk_of(doubted)));
  for (const Row row : locked) ours_.insert(row.get<BlobId>(0));
  if (tx.store() == StoreKind::Sqlite || ours_.size() == doubted.size()) return {};
  TRY_ASSIGN(const Rows existing, tx.bulk(kExisting, bulk_of(doubted)));
  for (const Row row : existing) {
    if (!ours_.contains(row.get<BlobId>(0))) others_.insert(row.get<BlobId>(0));
  }
  return {};
}

Result<> Judgement::remove(Tx& tx, const Sql& delete_unreferenced) {
  TRY_ASSIGN(const Rows deleted, tx.bulk(delete_unreferenced, bulk_of(ours_)));
  for (const Row row : deleted) {
    if (!row.is_null(1)) places_.push_back(row.get<std::string>(1));
  }
  rows_ = static_cast<std::int64_t>(deleted.size());
  crash_point("blob.sweep.deleted");
  return {};
}

Result<> Judgement::note(Tx& tx) {
  Bulk dead;
  for (const std::string& place : places_) dead.add(place);
  TRY(tx.bulk(kAddDead, dead));
  Bulk judged;
  for (const auto& [doubt, blob] : doubts_) {
    if (!others_.contains(blob)) judged.add(doubt);
  }
  TRY(tx.bulk(kForgetDoubts, judged));
  judged_ = judged.rows();
  return {};
}

}  // namespace quern::blob
