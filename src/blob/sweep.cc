#include "blob/sweep.h"

#include <set>
#include <string>
#include <vector>

#include "base/crash.h"
#include "blob/blob.h"
#include "blob/judgement.h"
#include "blob/place.h"
#include "blob/session.h"

namespace quern::blob {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr std::int64_t kDeadPerStep = 500;

constexpr Sql kAnyDoubt{"SELECT id FROM blob_doubt LIMIT 1"};
constexpr Sql kDead{"SELECT place FROM blob_dead ORDER BY place LIMIT $1"};
constexpr Sql kForgetDead{"DELETE FROM blob_dead WHERE place = $1",
                          "DELETE FROM blob_dead WHERE place = ANY($1::text[])"};

constexpr Sql kAnyExpired{
    "SELECT id FROM blob_session WHERE NOT swept AND NOT dead AND until_us < $1 LIMIT 1"};
constexpr Sql kUnswept{
    "SELECT id, name, swept_to FROM blob_session WHERE NOT swept AND dead ORDER BY id LIMIT 1"};
constexpr Sql kNamed{"SELECT place FROM blob WHERE place = $1",
                     "SELECT place FROM blob WHERE place = ANY($1::text[]) LIMIT 100000"};
constexpr Sql kNote{"UPDATE blob_session SET swept_to = $2 WHERE id = $1"};
// '0' follows '/': everything that begins with the session's name and a slash.
constexpr Sql kEndSweep{
    "UPDATE blob_session SET swept = TRUE WHERE id = $1 AND EXISTS"
    " (SELECT 1 FROM blob WHERE place >= $2 AND place < $3)"};
constexpr Sql kForgetSession{"DELETE FROM blob_session WHERE id = $1 AND dead AND NOT swept"};

template <class T>
std::set<T> first_column(const Rows& rows) {
  std::set<T> values;
  for (const Row row : rows) values.insert(row.get<T>(0));
  return values;
}

Bulk bulk_of(const std::vector<std::string>& places) {
  Bulk bulk;
  for (const std::string& place : places) bulk.add(place);
  return bulk;
}

Result<Swept> judge(Tx& tx, const Sql& delete_unreferenced) {
  Judgement judgement;
  TRY(judgement.read(tx));
  TRY(judgement.lock(tx));
  TRY(judgement.remove(tx, delete_unreferenced));
  TRY(judgement.note(tx));
  return Swept{judgement.rows(), 0, judgement.more()};
}

class Sweep {
 public:
  explicit Sweep(BlobStore& store) : store_(store) {}

  Result<> sweep_rows(const Sql& delete_unreferenced) {
    const auto any = [](Tx& tx) { return tx.find_value<std::int64_t>(kAnyDoubt); };
    TRY_ASSIGN(const std::optional<std::int64_t> doubt, store_.readers().run(any));
    if (!doubt) return {};
    TRY_ASSIGN(swept_, write([&](Tx& tx) { return judge(tx, delete_unreferenced); }));
    return {};
  }

  Result<> remove_dead() {
    const auto list = [](Tx& tx) { return tx.query(kDead, kDeadPerStep); };
    TRY_ASSIGN(const Rows rows, store_.readers().run(list));
    if (rows.empty()) return {};
    const std::set<std::string> dead = first_column<std::string>(rows);
    const std::vector<std::string> places(dead.begin(), dead.end());
    TRY(store_.backend().remove(places));
    crash_point("blob.sweep.removed");
    TRY(write([&](Tx& tx) { return tx.bulk(kForgetDead, bulk_of(places)); }));
    swept_.files += static_cast<std::int64_t>(places.size());
    if (static_cast<std::int64_t>(places.size()) == kDeadPerStep) swept_.more = true;
    return {};
  }

  // Only where there is one, so that a sweep of nothing writes nothing.
  Result<> end_expired() {
    const auto any = [](Tx& tx) -> Result<std::optional<std::int64_t>> {
      TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
      return tx.find_value<std::int64_t>(kAnyExpired, now_us);
    };
    TRY_ASSIGN(const std::optional<std::int64_t> expired, store_.readers().run(any));
    if (!expired) return {};
    return write(end_expired_sessions);
  }

  Result<> sweep_session() {
    TRY_ASSIGN(const Rows rows, store_.readers().run([](Tx& tx) { return tx.query(kUnswept); }));
    if (rows.empty()) return {};
    const auto id = rows[0].get<std::int64_t>(0);
    const std::string name = session_name(id, rows[0].get<std::string>(1));
    TRY_ASSIGN(const Listing listing, store_.backend().list(name, rows[0].get<std::string>(2)));
    TRY(remove_nameless(listing));
    swept_.more = true;
    if (!listing.next.empty()) {
      TRY(write([&](Tx& tx) { return tx.exec(kNote, id, listing.next); }));
      return {};
    }
    TRY(store_.backend().tidy(name));
    crash_point("blob.sweep.tidied");
    return write([&](Tx& tx) { return end_sweep(tx, id, name); });
  }

  Swept swept() const { return swept_; }

 private:
  template <class Function>
  auto write(Function function) -> Result<store::Answer<Function>> {
    store::Writer& writer = store_.writer();
    return writer.run(writer.control(), store::Alone{std::move(function)});
  }

  // The session is dead, so what has no name now will never have one.
  Result<> remove_nameless(const Listing& listing) {
    const auto ask = [&](Tx& tx) { return tx.bulk(kNamed, bulk_of(listing.places)); };
    TRY_ASSIGN(const Rows rows, store_.readers().run(ask));
    const std::set<std::string> named = first_column<std::string>(rows);
    std::vector<std::string> nameless = listing.leftovers;
    for (const std::string& place : listing.places) {
      if (!named.contains(place)) nameless.push_back(place);
    }
    if (nameless.empty()) return {};
    TRY(store_.backend().remove(nameless));
    swept_.files += static_cast<std::int64_t>(nameless.size());
    return {};
  }

  // A session that left nothing is forgotten: store_blobs() takes it for dead as well.
  static Result<> end_sweep(Tx& tx, std::int64_t id, const std::string& name) {
    TRY(tx.exec(kEndSweep, id, name + "/", name + "0"));
    TRY(tx.exec(kForgetSession, id));
    return {};
  }

  BlobStore& store_;
  Swept swept_;
};

}  // namespace

Result<Swept> sweep(BlobStore& store, const Sql& delete_unreferenced) {
  Sweep sweep(store);
  TRY(sweep.sweep_rows(delete_unreferenced));
  crash_point("blob.sweep.judged");
  TRY(sweep.remove_dead());
  TRY(sweep.end_expired());
  TRY(sweep.sweep_session());
  return sweep.swept();
}

}  // namespace quern::blob
