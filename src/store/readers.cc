#include "store/readers.h"

#include <array>

namespace quern::store {
namespace {

constexpr std::int64_t kAwayMs = 500;

}  // namespace

Result<std::unique_ptr<Readers>> Readers::open(Database& database, const ReadersOptions& options) {
  std::unique_ptr<Readers> readers(new Readers(options, database.clock()));
  for (int i = 0; i < options.threads; ++i) {
    TRY_ASSIGN(std::unique_ptr<Session> session, database.connect_reader());
    readers->idle_.push_back(std::move(session));
  }
  return readers;
}

bool Readers::try_push(std::unique_ptr<Operation>& read) {
  // Shared, because a std::function must be copyable; taken back where the pool is full.
  const auto held = std::make_shared<std::unique_ptr<Operation>>(std::move(read));
  io::Pool::Job job = [this, held](io::Pool::Call call) {
    if (call == io::Pool::Call::Run) return serve(**held);
    (*held)->fail({Errc::Canceled, "the store is being closed"});
    (*held)->deliver();
  };
  if (pool_.try_push(job)) return true;
  read = std::move(*held);
  return false;
}

void Readers::serve(Operation& operation) {
  std::unique_ptr<Session> session;
  {
    const std::scoped_lock lock(mutex_);
    CHECK(!idle_.empty());
    session = std::move(idle_.back());
    idle_.pop_back();
  }
  const bool was_lost = session->lost();
  read(*session, operation);
  if (!was_lost && session->lost()) read(*session, operation);
  {
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(session));
  }
  operation.deliver();
}

void Readers::read(Session& session, Operation& operation) {
  if (session.lost()) {
    // Those behind a connection that cannot be had would wait for it one after the other.
    if (clock_.monotonic_us() < away_until_us_) {
      return operation.fail({Errc::Unavailable, "the database does not answer"});
    }
    Result<> connected = session.reconnect();
    if (!connected.ok()) {
      away_until_us_ = clock_.monotonic_us() + kAwayMs * 1000;
      return operation.fail(std::move(connected).error());
    }
  }
  Result<> begun = session.begin_read();
  if (!begun.ok()) return operation.fail(std::move(begun).error());
  Tx tx(session);
  const std::array<Operation*, 1> one = {&operation};
  operation.kind().apply(tx, std::span(one));
  session.rollback();
}

}  // namespace quern::store
