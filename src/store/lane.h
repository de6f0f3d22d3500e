// Lane: one thread, one session, one bounded queue of operations, and the batches they are
// committed in.
//
//   queue -> batch -> units (each bulk kind's operations; each closure) -> one transaction ->
//   answers
//
// Guarantee: an operation's callback gets a success if and only if its writes are durable (or a
// failure that says the outcome is unknown, when the database stays away after a lost COMMIT); an
// operation that fails undoes nobody else's work. How:
// - SQLite: a savepoint around each unit. PostgreSQL: the batch runs plainly; if something fails it
// is
//   rolled back and run again in transactions of few operations with a savepoint each (many
//   subtransactions in one transaction make PostgreSQL slow).
// - A bulk unit that fails is split, so the one at fault gets the error alone.
// - An error that ended the whole transaction (SQLite: disk full), or a failed COMMIT: the others
// run
//   again, one per transaction.
// - A lost connection: reconnect; a COMMIT that was under way is looked up
// (Session::last_commit_happened)
//   before anything runs again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "io/clock.h"
#include "store/operation.h"
#include "store/session.h"

namespace quern::store {

struct WriterOptions {
  int lanes = 1;                     // on PostgreSQL; SQLite always has one
  std::size_t queue_ops_max = 4096;  // waiting, per lane
  std::size_t batch_ops_max = 512;
  int batch_ms_max = 50;            // then what is left waits for the next batch
  int unavailable_ms_max = 30'000;  // an operation waits this long for a database that is away
  std::shared_ptr<const BatchGuard> guard;  // locks what operations have fences for
};

struct LaneStats {
  std::size_t queued = 0;
  std::int64_t operations = 0;  // answered
  std::int64_t failures = 0;    // of those, with an error
  std::int64_t commits = 0;
  std::int64_t reruns = 0;  // batches that had to be isolated
  std::int64_t reconnects = 0;
  std::string down_because;  // empty: the database answers
};

inline constexpr std::size_t kRoomWaitersMax = 65'536;

class Lane {
 public:
  Lane(std::unique_ptr<Session> session, const io::Clock& clock, const WriterOptions& options);
  ~Lane();  // stops

  // Takes the operation, or leaves it where the queue is full or the lane stopped.
  enum class Push { Taken, Full, Stopped };
  Push try_push(std::unique_ptr<Operation>& operation);
  // Runs the operation on the caller's thread where the lane is idle: a caller that waits anyway is
  // spared two changes of thread. Where it returns false, nothing was taken.
  [[nodiscard]] bool try_lead(std::unique_ptr<Operation>& operation);
  // Calls back once when there is room, or when the lane stops; on any thread. False: too many
  // wait.
  [[nodiscard]] bool when_room(std::function<void()> callback);
  std::size_t room() const;

  // Takes nothing more, finishes what is queued (answers Unavailable where the database is away),
  // ends.
  void stop();
  LaneStats stats() const;

 private:
  using Batch = std::vector<std::unique_ptr<Operation>>;
  using Unit = std::vector<Operation*>;
  enum class Isolation { None, Savepoints };
  enum class Outcome {
    Committed,
    RunAlone,  // rolled back: something failed, or the COMMIT did
    Lost,      // the connection broke before COMMIT was sent
    InDoubt,   // ... while the COMMIT was under way
    GivenUp,   // the database stays away
  };
  // What one transaction did: units [0, ran) are in it; time was up for the others.
  struct Attempt {
    Outcome outcome;
    std::size_t ran;
  };

  void run();
  void set_idle();
  void linger(std::size_t expected) const;
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  Batch take();
  void put_back(Batch operations);
  void run_batch(Batch batch);
  void run_isolated(std::span<Operation* const> operations, std::size_t per_transaction);
  void run_alone(Operation* operation);
  Attempt settle(std::span<const Unit> units, Isolation isolation);
  Attempt attempt(std::span<const Unit> units, Isolation isolation);
  Attempt not_begun(const Error& because);
  Result<> lock_rows(Tx& tx, std::span<const Unit> units) const;
  bool apply_plainly(Tx& tx, const Unit& unit);
  bool apply_in_savepoint(Tx& tx, const Unit& unit);
  bool note(const Result<>& result);
  Outcome commit();
  Outcome look_up_commit(std::span<const Unit> units);
  bool reconnect(std::span<const Unit> units);
  void deliver(std::span<const Unit> units);
  void note_connected(const Result<>& connected);
  void note_down(const Error& because);

  // Only for whoever set busy_, as is the next:
  std::unique_ptr<Session> session_;
  Error last_error_{Errc::Internal, ""};  // why the last attempt did not commit
  bool transaction_failed_ = false;       // rather than an operation in it
  const io::Clock& clock_;
  const WriterOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Under mutex_:
  std::deque<std::unique_ptr<Operation>> queue_;
  std::deque<std::function<void()>> room_waiters_;
  bool stopping_ = false;
  bool busy_ = false;  // a batch is being run, by the lane's thread or by a caller that leads
  LaneStats stats_;
  // The queue's length, for a look without the lock.
  std::atomic<std::size_t> queued_{0};

  std::thread thread_;
};

}  // namespace quern::store
