// The inside of an Engine (queue/engine.h): what it holds and what is under way. On the loop.
//
//   scan -> claimed -> Hold -> turn -> taken -> processor -> answer -> finished -> turn …
//
// One turn of a hold is under way at a time; answers that come meanwhile go with the next one, so
// the busier it is, the more each transaction carries.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "net/event.h"
#include "queue/engine.h"
#include "queue/renewer.h"

namespace quern::queue {

using Wakes = std::multimap<net::Instant, PartitionId>;

// A partition that this owner has.
struct Hold {
  Partition partition;
  std::map<ItemId, Taken> running;  // until their results are stored
  std::vector<Finished> finished;   // waiting for a turn
  std::vector<Finished> sent;       // with the turn that is under way
  std::int64_t room = 0;            // that the turn under way has reserved
  bool turning = false;
  bool again = false;  // another turn is wanted after this one
  bool pump_posted = false;
  bool starving = false;
  bool leaving = false;  // nothing more is taken; when nothing is under way, it is given up
  bool singly = false;   // a turn failed: results go one by one, so that the culprit is found
  std::optional<Wakes::iterator> wake;

  bool idle() const { return running.empty() && finished.empty() && !turning; }
};

// Twice: the hold keeps the bytes for comparing, the processor has its own.
inline std::int64_t size_of(const Taken& taken) {
  return 2 * static_cast<std::int64_t>(taken.data.size());
}

// For one item that may be taken. Where none was put yet, it is as large as can be.
inline std::int64_t reserved_bytes(const Hold& hold) {
  const std::int64_t largest = hold.partition.item_bytes_max;
  return 2 * (largest > 0 ? largest : static_cast<std::int64_t>(kItemBytesMax));
}

class Engine::Core : public std::enable_shared_from_this<Engine::Core> {
 public:
  Core(net::Loop& loop, store::Writer& writer, Processors processors, EngineOptions options);

  void start();
  void stop_taking() { stopping_ = true; }
  net::Task<> stop(std::int64_t grace_ms);
  void poke(PartitionId partition);
  EngineStats stats() const;
  void cut() { renewer_.reset(); }

 private:
  using Holds = std::map<PartitionId, Hold>;

  // engine_scan.cc: owning partitions.
  static net::Task<> scan_loop(std::shared_ptr<Core> self);
  net::Task<Result<>> register_self();
  net::Task<Result<>> scan_once();
  void on_scanned(Scanned scanned);
  void hold(Partition partition);
  void free_unknown(const Held& held);
  void go_on_deleting(PartitionId id);
  std::vector<std::string> kinds() const;
  net::Task<> pause_scanning();
  void want_scan();
  void claim_in_lane(PartitionId id);
  void on_renewed(const Result<std::int64_t>& until);
  void lose_everything();
  void give_up_some(std::int64_t count, bool busy_too);
  void release(PartitionId id);
  void drop(Holds::iterator hold);
  void take_pokes();
  void note_trouble(const std::string& trouble);

  // engine.cc: working on them.
  static net::Task<> wake_loop(std::shared_ptr<Core> self);
  void wake_at(Hold& hold, net::Instant at);
  void post_pump(Hold& hold);
  void pump(PartitionId id);
  std::int64_t room_for(const Hold& hold) const;
  void send_turn(Hold& hold, std::int64_t room);
  void on_turned(PartitionId id, std::int64_t token, Result<Turned> turned);
  void on_turn_failed(Holds::iterator hold, const Error& error);
  void adopt(Hold& hold, Partition partition);
  void settle_sent(Hold& hold);
  void dispatch(Hold& hold, Taken taken);
  void process(PartitionId id, std::int64_t token, ItemId item);
  void on_answer(PartitionId id, std::int64_t token, ItemId item, Outcome outcome);
  void use(const Hold& hold, std::int64_t slots, std::int64_t bytes);
  void give_back(const Hold& hold, std::int64_t slots, std::int64_t bytes);
  void feed();
  bool quiet() const;
  void abandon_running();
  net::Task<> drain(net::Instant deadline, std::function<bool()> done);

  net::Loop& loop_;
  store::Writer& writer_;
  const Processors processors_;
  const EngineOptions options_;
  std::thread::id loop_thread_;
  std::mt19937_64 random_{std::random_device{}()};

  std::optional<Owner> owner_;
  std::unique_ptr<Renewer> renewer_;
  Holds holds_;
  std::int64_t slots_used_ = 0;  // running or reserved by a turn
  std::int64_t bytes_used_ = 0;
  std::map<std::string, std::int64_t> slots_by_handler_;
  std::list<PartitionId> starving_;  // would take more, but all slots are used
  Wakes wakes_;
  std::int64_t active_ = 0;  // holds with something running
  bool crowded_ = false;     // others wait for a place among those held
  bool scan_wanted_ = false;
  std::int64_t poked_scan_ms_ = 5;
  std::int64_t releases_ = 0;  // under way
  bool stopping_ = false;
  bool scanning_ = false;
  bool lost_ = false;  // the owner's row is gone
  net::Event scan_event_;
  net::Event wake_event_;
  net::Event drained_;

  std::atomic<std::int64_t> held_{0};  // for stats(), as is the next
  std::atomic<std::int64_t> in_flight_{0};
  mutable std::mutex mutex_;  // guards what follows
  std::set<PartitionId> poked_;
  bool poke_posted_ = false;
  EngineStats stats_;
};

}  // namespace quern::queue
