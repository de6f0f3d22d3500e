#include "conformance/store_fixture.h"

namespace quern::store {
namespace {

constexpr Sql kAddNotes{
    "INSERT INTO note (key, text) VALUES ($1, $2) RETURNING key",
    "INSERT INTO note (key, text) SELECT * FROM unnest($1::bigint[], $2::text[]) RETURNING key"};
constexpr Sql kAddNote{"INSERT INTO note (key, text) VALUES ($1, $2) RETURNING key"};

}  // namespace

std::vector<Result<std::int64_t>> apply(Tx& tx, std::span<const AddNote> batch) {
  Bulk rows;
  for (const AddNote& note : batch) rows.add(note.key, note.text);
  const Result<Rows> added = tx.bulk(kAddNotes, rows);
  if (!added.ok()) return fail_all<std::int64_t>(batch.size(), added.error());
  std::vector<Result<std::int64_t>> results;
  for (const AddNote& note : batch) results.push_back(note.key);
  return results;
}

Result<std::int64_t> insert_note(Tx& tx, std::int64_t key, const std::string& text) {
  return tx.value<std::int64_t>(kAddNote, key, text);
}

std::string fresh_postgres() {
  static const std::string migrated = [] {
    std::string url = support::Postgres::shared().create_database();
    const Result<DatabaseUrl> parsed = DatabaseUrl::parse(url);
    CHECK_OK(parsed);
    CHECK_OK(Database::open(*parsed, {}));
    // Each copy gets a name of its own.
    support::Postgres::shared().run_sql(url, "DELETE FROM store_identity");
    return url;
  }();
  return support::Postgres::shared().copy_database(migrated);
}

HeldLane::HeldLane(Lane& lane) {
  auto operation = make_operation(
      [this](Tx&) -> Result<int> {
        held_.set_value();
        released_.get_future().wait();
        return 0;
      },
      [this](const Result<int>&) { done_.set_value(); });
  CHECK(lane.try_push(operation) == Lane::Push::Taken);
  held_.get_future().wait();
}

void HeldLane::release() {
  if (open_) return;
  open_ = true;
  released_.set_value();
  done_.get_future().wait();
}

}  // namespace quern::store
