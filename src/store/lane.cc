#include "store/lane.h"

#include <algorithm>
#include <chrono>

#include "base/crash.h"
#include "base/log.h"

namespace quern::store {
namespace {

// Beyond 64 subtransactions PostgreSQL no longer keeps their state in shared memory.
constexpr std::size_t kIsolatedPerTransaction = 32;
constexpr int kBusyRetriesMax = 3;  // deadlock or lock time-out of an operation that runs alone
constexpr int kLossesMax = 3;       // connections that one batch may break before it is isolated
constexpr std::int64_t kLingerUsMax = 100;
constexpr int kLingerLooksMax = 1000;  // where the clock stands still
constexpr int kIdleReconnectMs =
    500;  // a lane without work looks that often whether its database is back
constexpr int kBackoffMsMin = 20;
constexpr int kBackoffMsMax = 1000;

// Bulk operations of one kind are one unit; a closure is a unit of its own. Kinds stand in the
// order in which they came, except those that go first.
std::vector<std::vector<Operation*>> units_of(
    const std::vector<std::unique_ptr<Operation>>& batch) {
  std::vector<std::vector<Operation*>> units;
  std::unordered_map<const OperationKind*, std::size_t> bulk_units;
  for (const auto& operation : batch) {
    const OperationKind& kind = operation->kind();
    if (kind.bulk) {
      const auto [found, added] = bulk_units.try_emplace(&kind, units.size());
      if (!added) {
        units[found->second].push_back(operation.get());
        continue;
      }
    }
    units.push_back({operation.get()});
  }
  std::stable_partition(units.begin(), units.end(),
                        [](const auto& unit) { return unit.front()->kind().goes_first; });
  return units;
}

std::vector<std::vector<Operation*>> single_units(std::span<Operation* const> operations) {
  std::vector<std::vector<Operation*>> units;
  for (Operation* operation : operations) units.push_back({operation});
  return units;
}

// A bulk operation with an error wrote nothing, by contract; a closure may have.
bool needs_undoing(const Tx& tx, const std::vector<Operation*>& unit) {
  if (tx.sql_failed()) return true;
  return !unit.front()->kind().bulk && unit.front()->error() != nullptr && tx.wrote();
}

// Those whose fence no longer holds get Stale and are left out.
void apply_fenced(Tx& tx, const std::vector<Operation*>& unit) {
  std::vector<Operation*> held;
  held.reserve(unit.size());
  for (Operation* operation : unit) {
    const Fence& fence = operation->fence;
    if (fence.token == 0 || tx.locked()->holds(fence)) {
      held.push_back(operation);
    } else {
      operation->fail({Errc::Stale, "the partition has another owner now"});
    }
  }
  if (!held.empty()) unit.front()->kind().apply(tx, held);
}

}  // namespace

Lane::Lane(std::unique_ptr<Session> session, const io::Clock& clock, const WriterOptions& options)
    : session_(std::move(session)), clock_(clock), options_(options) {
  thread_ = std::thread([this] { run(); });
}

Lane::~Lane() {
  stop();
}

Lane::Push Lane::try_push(std::unique_ptr<Operation>& operation) {
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return Push::Stopped;
    if (queue_.size() >= options_.queue_ops_max) return Push::Full;
    operation->submitted_us = clock_.monotonic_us();
    queue_.push_back(std::move(operation));
    queued_ = queue_.size();
    if (queue_.size() > 1) return Push::Taken;  // the lane is awake already
  }
  changed_.notify_one();
  return Push::Taken;
}

bool Lane::try_lead(std::unique_ptr<Operation>& operation) {
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_ || busy_ || !queue_.empty() || session_->lost()) return false;
    busy_ = true;
  }
  operation->submitted_us = clock_.monotonic_us();
  Batch batch;
  batch.push_back(std::move(operation));
  run_batch(std::move(batch));
  set_idle();
  return true;
}

void Lane::set_idle() {
  // Under the lock: once it is free, whoever stops the lane may also destroy it.
  const std::scoped_lock lock(mutex_);
  busy_ = false;
  if (stopping_ || !queue_.empty() || session_->lost()) changed_.notify_all();
}

bool Lane::when_room(std::function<void()> callback) {
  {
    const std::scoped_lock lock(mutex_);
    if (!stopping_ && queue_.size() >= options_.queue_ops_max) {
      if (room_waiters_.size() >= kRoomWaitersMax) return false;
      room_waiters_.push_back(std::move(callback));
      return true;
    }
  }
  callback();
  return true;
}

std::size_t Lane::room() const {
  const std::scoped_lock lock(mutex_);
  return stopping_ ? 0 : options_.queue_ops_max - std::min(queue_.size(), options_.queue_ops_max);
}

void Lane::stop() {
  std::deque<std::function<void()>> waiters;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    waiters.swap(room_waiters_);
  }
  changed_.notify_all();
  for (const auto& waiter : waiters) waiter();
  if (thread_.joinable()) thread_.join();
}

LaneStats Lane::stats() const {
  const std::scoped_lock lock(mutex_);
  LaneStats stats = stats_;
  stats.queued = queue_.size();
  return stats;
}

void Lane::run() {
  while (true) {
    Batch batch = take();
    if (batch.empty()) return;
    const std::size_t size = batch.size();
    run_batch(std::move(batch));
    set_idle();
    linger(size);
  }
}

// Those who were just answered are likely to ask again at once. Going on with the first of them
// would commit one operation while all the others wait; sleeping would cost a wake-up. Measured
// with 64 callers: SQLite 119 k operations/s without, 139 k with; PostgreSQL 71 k and 102 k.
void Lane::linger(std::size_t expected) const {
  const std::int64_t deadline_us = clock_.monotonic_us() + kLingerUsMax;
  for (int looks = 0; looks < kLingerLooksMax; ++looks) {
    if (queued_.load(std::memory_order_relaxed) >= expected) return;
    if (clock_.monotonic_us() >= deadline_us) return;
    std::this_thread::yield();
  }
}

// Waits for operations; empty when the lane has stopped and everything is done.
Lane::Batch Lane::take() {
  Batch batch;
  std::vector<std::function<void()>> wakened;
  {
    std::unique_lock lock(mutex_);
    wait_for_work(lock);
    while (!queue_.empty() && batch.size() < options_.batch_ops_max) {
      const bool alone = queue_.front()->alone;
      if (alone && !batch.empty()) break;
      batch.push_back(std::move(queue_.front()));
      queue_.pop_front();
      if (alone) break;
    }
    queued_ = queue_.size();
    busy_ = !batch.empty();
    const std::size_t room = options_.queue_ops_max - queue_.size();
    while (!room_waiters_.empty() && wakened.size() < room) {
      wakened.push_back(std::move(room_waiters_.front()));
      room_waiters_.pop_front();
    }
  }
  for (const auto& waiter : wakened) waiter();
  return batch;
}

// A lane that lost its database goes on looking for it without work too: its health must not stay
// red until somebody happens to write.
void Lane::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const auto work = [this] { return !busy_ && (stopping_ || !queue_.empty()); };
  const auto lost = [this] { return !busy_ && session_->lost(); };
  while (!work()) {
    changed_.wait(lock, [&] { return work() || lost(); });
    if (!lost() || work()) continue;
    changed_.wait_for(lock, std::chrono::milliseconds(kIdleReconnectMs), work);
    if (!lost() || work()) continue;
    busy_ = true;
    lock.unlock();
    const Result<> connected = session_->reconnect();
    note_connected(connected);
    lock.lock();
    busy_ = false;
  }
}

// To the front, in their order. The queue may pass its limit by these.
void Lane::put_back(Batch operations) {
  const std::scoped_lock lock(mutex_);
  for (auto at = operations.rbegin(); at != operations.rend(); ++at) {
    if (*at != nullptr) queue_.push_front(std::move(*at));
  }
  queued_ = queue_.size();
}

void Lane::run_batch(Batch batch) {
  const std::vector<Unit> units = units_of(batch);
  const Isolation isolation =
      session_->kind() == StoreKind::Sqlite ? Isolation::Savepoints : Isolation::None;
  const Attempt done = settle(units, isolation);
  if (done.outcome == Outcome::RunAlone) {
    {
      const std::scoped_lock lock(mutex_);
      ++stats_.reruns;
    }
    std::vector<Operation*> all;
    for (const Unit& unit : units) all.insert(all.end(), unit.begin(), unit.end());
    const bool sqlite = session_->kind() == StoreKind::Sqlite;
    run_isolated(all, sqlite ? 1 : kIsolatedPerTransaction);
    return;
  }
  deliver(std::span(units).first(done.ran));
  if (done.ran == units.size()) return;
  // Time was up: the operations that were delivered are dropped here, the others wait.
  for (std::size_t i = 0; i < done.ran; ++i) {
    for (Operation* delivered : units[i]) {
      const auto at = std::find_if(batch.begin(), batch.end(),
                                   [&](const auto& owned) { return owned.get() == delivered; });
      at->reset();
    }
  }
  put_back(std::move(batch));
}

void Lane::run_isolated(std::span<Operation* const> operations, std::size_t per_transaction) {
  while (!operations.empty()) {
    const auto chunk = operations.first(std::min(per_transaction, operations.size()));
    if (chunk.size() == 1) {
      run_alone(chunk[0]);
      operations = operations.subspan(1);
      continue;
    }
    const std::vector<Unit> units = single_units(chunk);
    const Attempt done = settle(units, Isolation::Savepoints);
    if (done.outcome == Outcome::RunAlone) {
      run_isolated(chunk, 1);
      operations = operations.subspan(chunk.size());
      continue;
    }
    deliver(std::span(units).first(done.ran));
    operations = operations.subspan(done.ran);
  }
}

void Lane::run_alone(Operation* operation) {
  const std::vector<Unit> unit = {{operation}};
  for (int tries = 0; tries <= kBusyRetriesMax; ++tries) {
    const Attempt done = settle(unit, Isolation::Savepoints);
    if (done.outcome != Outcome::RunAlone) break;
    if (transaction_failed_ || operation->error() == nullptr) operation->fail(last_error_);
    if (operation->error()->kind() != Errc::Busy) break;
  }
  deliver(unit);
}

// Runs units in one transaction, again and again while the connection breaks.
Lane::Attempt Lane::settle(std::span<const Unit> units, Isolation isolation) {
  for (int losses = 0;; ++losses) {
    Attempt tried = attempt(units, isolation);
    if (tried.outcome == Outcome::InDoubt) {
      tried.outcome = look_up_commit(units.first(tried.ran));
      if (tried.outcome == Outcome::Committed || tried.outcome == Outcome::GivenUp) return tried;
    } else if (tried.outcome != Outcome::Lost) {
      return tried;
    }
    // What breaks the connection again and again is isolated, and then fails alone.
    if (losses >= kLossesMax) {
      last_error_ =
          Error{Errc::Unavailable, "the connection to the database broke again and again"};
      transaction_failed_ = true;
      return {Outcome::RunAlone, 0};
    }
    if (session_->lost() && !reconnect(units)) return {Outcome::GivenUp, units.size()};
  }
}

Lane::Attempt Lane::attempt(std::span<const Unit> units, Isolation isolation) {
  transaction_failed_ = false;
  const Result<> begun = session_->begin_write();
  if (!begun.ok()) return not_begun(begun.error());
  const std::int64_t deadline_us = clock_.monotonic_us() + options_.batch_ms_max * 1000LL;
  Tx tx(*session_);
  const Result<> locked = lock_rows(tx, units);
  if (!locked.ok()) return not_begun(locked.error());
  std::size_t ran = 0;
  while (ran < units.size() && (ran == 0 || clock_.monotonic_us() < deadline_us)) {
    const Unit& unit = units[ran];
    const bool applied =
        isolation == Isolation::None ? apply_plainly(tx, unit) : apply_in_savepoint(tx, unit);
    if (session_->lost()) return {Outcome::Lost, 0};
    if (!applied) {
      session_->rollback();
      return {Outcome::RunAlone, 0};
    }
    ++ran;
    crash_point("store.batch.unit_applied");
  }
  if (tx.locked() != nullptr) {
    const Result<> flushed = tx.locked()->flush(tx);
    if (!flushed.ok()) return not_begun(flushed.error());
    crash_point("store.batch.flushed");
  }
  return {commit(), ran};
}

Lane::Attempt Lane::not_begun(const Error& because) {
  last_error_ = because;
  transaction_failed_ = true;
  if (session_->lost()) return {Outcome::Lost, 0};
  session_->rollback();
  return {Outcome::RunAlone, 0};
}

Result<> Lane::lock_rows(Tx& tx, std::span<const Unit> units) const {
  std::vector<std::int64_t> rows;
  for (const Unit& unit : units) {
    for (const Operation* operation : unit) {
      if (operation->fence.row != 0) rows.push_back(operation->fence.row);
      if (operation->fence.also != 0) rows.push_back(operation->fence.also);
    }
  }
  if (rows.empty()) return {};
  CHECK(options_.guard != nullptr);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  TRY_ASSIGN(std::unique_ptr<LockedRows> locked, options_.guard->lock(tx, rows));
  tx.set_locked(std::move(locked));
  crash_point("store.batch.locked");
  return {};
}

bool Lane::apply_plainly(Tx& tx, const Unit& unit) {
  tx.reset_notes();
  apply_fenced(tx, unit);
  return !needs_undoing(tx, unit);
}

bool Lane::note(const Result<>& result) {
  if (result.ok()) return true;
  last_error_ = result.error();
  transaction_failed_ = true;
  return false;
}

// False where the transaction itself did not survive, or the operation should have one of its own.
bool Lane::apply_in_savepoint(Tx& tx, const Unit& unit) {
  if (!note(session_->savepoint())) return false;
  if (tx.locked() != nullptr) tx.locked()->mark();
  tx.reset_notes();
  apply_fenced(tx, unit);
  if (session_->lost() || !session_->in_transaction()) return false;
  if (!needs_undoing(tx, unit)) return note(session_->release_savepoint());

  if (!note(session_->rollback_to_savepoint())) return false;
  if (tx.locked() != nullptr) tx.locked()->undo();
  if (unit.size() > 1) {
    return std::all_of(unit.begin(), unit.end(),
                       [&](Operation* one) { return apply_in_savepoint(tx, Unit{one}); });
  }
  if (unit.front()->error() == nullptr) {
    unit.front()->fail({Errc::Internal, "the operation ignored a statement that failed"});
  }
  return unit.front()->error()->kind() != Errc::Busy;
}

Lane::Outcome Lane::commit() {
  {
    const DurableWrite write("commit", "batch");
    const Result<> committed = session_->commit();
    if (!committed.ok()) {
      last_error_ = committed.error();
      transaction_failed_ = true;
      return session_->lost() ? Outcome::InDoubt : Outcome::RunAlone;
    }
  }
  crash_point("store.batch.committed");
  const std::scoped_lock lock(mutex_);
  ++stats_.commits;
  return Outcome::Committed;
}

// The answer to a COMMIT was lost: ask the database what became of it. Lost: it did not happen.
Lane::Outcome Lane::look_up_commit(std::span<const Unit> units) {
  const std::int64_t give_up_us = clock_.monotonic_us() + options_.unavailable_ms_max * 1000LL;
  while (reconnect(units)) {
    const Result<bool> happened = session_->last_commit_happened();
    if (happened.ok()) {
      log_info("store.lost_commit_resolved", {{"happened", *happened}});
      return *happened ? Outcome::Committed : Outcome::Lost;
    }
    note_down(happened.error());
    if (clock_.monotonic_us() > give_up_us) break;
  }
  const Error unknown{Errc::Unavailable,
                      "the database went away during a commit: it may or may not have happened"};
  for (const Unit& unit : units) {
    for (Operation* operation : unit) operation->fail(unknown);
  }
  return Outcome::GivenUp;
}

// Tries at least once; gives up when the oldest operation has waited too long, or on stop.
bool Lane::reconnect(std::span<const Unit> units) {
  std::int64_t oldest_us = clock_.monotonic_us();
  for (const Unit& unit : units) oldest_us = std::min(oldest_us, unit.front()->submitted_us);
  const std::int64_t give_up_us = oldest_us + options_.unavailable_ms_max * 1000LL;

  for (int backoff_ms = kBackoffMsMin;; backoff_ms = std::min(backoff_ms * 2, kBackoffMsMax)) {
    const Result<> connected = session_->reconnect();
    note_connected(connected);
    if (connected.ok()) return true;
    std::unique_lock lock(mutex_);
    const auto wait = std::chrono::milliseconds(backoff_ms);
    const bool stop = changed_.wait_for(lock, wait, [this] { return stopping_; });
    if (!stop && clock_.monotonic_us() < give_up_us) continue;
    for (const Unit& unit : units) {
      for (Operation* operation : unit) operation->fail(connected.error());
    }
    return false;
  }
}

void Lane::deliver(std::span<const Unit> units) {
  std::int64_t count = 0;
  std::int64_t failed = 0;
  for (const Unit& unit : units) {
    for (Operation* operation : unit) {
      ++count;
      if (operation->error() != nullptr) ++failed;
      operation->deliver();
    }
  }
  const std::scoped_lock lock(mutex_);
  stats_.operations += count;
  stats_.failures += failed;
}

void Lane::note_connected(const Result<>& connected) {
  if (!connected.ok()) return note_down(connected.error());
  const std::scoped_lock lock(mutex_);
  ++stats_.reconnects;
  stats_.down_because.clear();
}

void Lane::note_down(const Error& because) {
  const std::scoped_lock lock(mutex_);
  if (stats_.down_because.empty()) {
    log_warn("store.unavailable", {{"error", because.message()}});
  }
  stats_.down_because = because.message();
}

}  // namespace quern::store
