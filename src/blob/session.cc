#include "blob/session.h"

#include <openssl/rand.h>

#include <chrono>
#include <limits>

#include "base/log.h"
#include "blob/digest.h"
#include "blob/place.h"

namespace quern::blob {
namespace {

using store::Sql;
using store::Tx;

constexpr Sql kAnyAlive{"SELECT id FROM blob_session WHERE NOT dead LIMIT 1"};
constexpr Sql kEndAll{"UPDATE blob_session SET dead = TRUE WHERE NOT dead"};
constexpr Sql kBegin{"INSERT INTO blob_session (name, until_us) VALUES ($1, $2) RETURNING id"};
constexpr Sql kRenew{"UPDATE blob_session SET until_us = $2 WHERE id = $1 AND NOT dead"};

// A lock that no KEY SHARE of store_blobs() can share: nothing of the session is being named.
constexpr Sql kExpired{
    "SELECT id FROM blob_session WHERE NOT swept AND NOT dead AND until_us < $1"
    " ORDER BY id LIMIT 100",
    "SELECT id FROM blob_session WHERE NOT swept AND NOT dead AND until_us < $1"
    " ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED"};
constexpr Sql kEnd{"UPDATE blob_session SET dead = TRUE WHERE id = $1",
                   "UPDATE blob_session SET dead = TRUE WHERE id = ANY($1::bigint[])"};

constexpr std::size_t kRandomBytes = 4;

std::string random_name() {
  unsigned char raw[kRandomBytes];
  CHECK(RAND_bytes(raw, sizeof raw) == 1);
  return hex_of(std::string_view(reinterpret_cast<const char*>(raw), sizeof raw));
}

Result<std::int64_t> session_ends_us(Tx& tx, BlobStore::Owner owner) {
  if (owner == BlobStore::Owner::Only) return std::numeric_limits<std::int64_t>::max();
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  return now_us + kSessionMs * 1000;
}

Result<> renew_session(Tx& tx, std::int64_t session, BlobStore::Owner owner) {
  TRY_ASSIGN(const std::int64_t until_us, session_ends_us(tx, owner));
  TRY_ASSIGN(const std::int64_t renewed, tx.exec(kRenew, session, until_us));
  if (renewed == 1) return {};
  return Error{Errc::Stale, "the session of blobs was declared dead"};
}

}  // namespace

Result<> end_all_sessions(store::Writer& writer, store::Readers& readers) {
  const auto any_alive = [](Tx& tx) { return tx.find_value<std::int64_t>(kAnyAlive); };
  TRY_ASSIGN(const std::optional<std::int64_t> alive, readers.run(any_alive));
  if (!alive) return {};
  TRY(writer.run(writer.control(), [](Tx& tx) { return tx.exec(kEndAll); }));
  return {};
}

Result<> end_expired_sessions(Tx& tx) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const store::Rows rows, tx.query(kExpired, now_us));
  store::Bulk ids;
  for (const store::Row row : rows) ids.add(row.get<std::int64_t>(0));
  TRY(tx.bulk(kEnd, ids));
  return {};
}

Session::Session(Backend& backend, store::Writer& writer, BlobStore::Owner owner)
    : backend_(backend), writer_(writer), owner_(owner) {}

Session::~Session() {
  {
    const std::scoped_lock lock(shared_->mutex);
    shared_->stopping = true;
  }
  shared_->changed.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<BlobStore::Place> Session::next_place() {
  const std::scoped_lock one_begins(begin_mutex_);
  if (id() == 0) TRY(begin());
  const std::scoped_lock lock(shared_->mutex);
  // Declared dead meanwhile: the place is refused when it is to be named, like any other of it.
  return BlobStore::Place{place_name(shared_->name, shared_->next_number++), shared_->id};
}

Result<> Session::begin() {
  const std::string name = random_name();
  const auto insert = [name, owner = owner_](Tx& tx) -> Result<std::int64_t> {
    TRY_ASSIGN(const std::int64_t until_us, session_ends_us(tx, owner));
    return tx.value<std::int64_t>(kBegin, name, until_us);
  };
  TRY_ASSIGN(const std::int64_t id, writer_.run(writer_.control(), insert));
  {
    const std::scoped_lock lock(shared_->mutex);
    shared_->id = id;
    shared_->name = session_name(id, name);
    shared_->next_number = 0;
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { keep_house(); });
  return {};
}

void Session::discard(std::string place) {
  {
    const std::scoped_lock lock(shared_->mutex);
    if (shared_->discards.size() >= kDiscardsMax) return;
    shared_->discards.push_back(std::move(place));
  }
  shared_->changed.notify_all();
}

std::int64_t Session::id() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->id;
}

Result<> Session::renew() {
  const std::int64_t session = id();
  if (session == 0) return {};
  Result<> renewed = writer_.run(writer_.control(), [session, owner = owner_](Tx& tx) {
    return renew_session(tx, session, owner);
  });
  shared_->note_renewed(session, renewed);
  return renewed;
}

void Session::Shared::note_renewed(std::int64_t session, const Result<>& result) {
  const std::scoped_lock lock(mutex);
  renewing = false;
  if (result.ok()) return;
  log_warn("blob.session_not_renewed", {{"session", session}, {"error", result.error().message()}});
  if (result.error().kind() == Errc::Stale && id == session) id = 0;
}

void Session::keep_house() {
  using std::chrono::steady_clock;
  const std::chrono::milliseconds pause(kSessionRenewMs);
  auto next_renewal = steady_clock::now() + pause;
  std::unique_lock lock(shared_->mutex);
  while (true) {
    if (!shared_->discards.empty()) {
      remove_discards(lock);
    } else if (shared_->stopping) {
      return;
    } else if (shared_->changed.wait_until(lock, next_renewal) == std::cv_status::timeout) {
      next_renewal = steady_clock::now() + pause;
      const bool is_due = owner_ == BlobStore::Owner::OneOfMany && shared_->id != 0;
      // One at a time: while the database is away the last one waits in the lane.
      if (!is_due || std::exchange(shared_->renewing, true)) continue;
      const std::int64_t session = shared_->id;
      lock.unlock();
      push_renewal(session);
      lock.lock();
    }
  }
}

void Session::remove_discards(std::unique_lock<std::mutex>& lock) {
  const std::vector<std::string> places = std::exchange(shared_->discards, {});
  lock.unlock();
  const Result<> removed = backend_.remove(places);
  // Nobody names them: they cost space until the sweep finds them.
  if (!removed.ok()) log_warn("blob.not_discarded", {{"error", removed.error().message()}});
  lock.lock();
}

void Session::push_renewal(std::int64_t session) {
  auto answered = [shared = shared_, session](const Result<>& result) {
    shared->note_renewed(session, result);
  };
  auto operation = store::make_operation(
      [session, owner = owner_](Tx& tx) { return renew_session(tx, session, owner); }, answered);
  if (writer_.control().try_push(operation) != store::Lane::Push::Taken) {
    answered(Error{Errc::Busy, "the writer took no renewal"});
  }
}

}  // namespace quern::blob
