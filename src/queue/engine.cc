// Working on partitions: turns, processors, answers. The others: engine_scan.cc.
#include "queue/engine.h"

#include <algorithm>

#include "base/log.h"
#include "io/clock.h"
#include "queue/engine_core.h"
#include "queue/limit.h"
#include "queue/outcome.h"
#include "queue/submit.h"

namespace quern::queue {
namespace {

constexpr std::int64_t kRetryTurnMs = 200;  // after a turn that failed
constexpr std::int64_t kCancelMs = 2000;    // for processors to answer that they were canceled
constexpr std::int64_t kStoreMs = 5000;     // at the end, to store results and give up leases

// The database is away, or somebody was in the way: the same turn may succeed later.
bool may_pass(const Error& error) {
  const Errc kind = error.kind();
  return kind == Errc::Busy || kind == Errc::Unavailable || kind == Errc::Timeout ||
         kind == Errc::Full;
}

}  // namespace

Engine::Engine(net::Loop& loop, store::Writer& writer, Processors processors, EngineOptions options)
    : core_(std::make_shared<Core>(loop, writer, std::move(processors), std::move(options))) {}

Engine::~Engine() {
  core_->cut();
}

void Engine::start() {
  core_->start();
}

void Engine::stop_taking() {
  core_->stop_taking();
}

net::Task<> Engine::stop(std::int64_t grace_ms) {
  return core_->stop(grace_ms);
}

void Engine::poke(PartitionId partition) {
  core_->poke(partition);
}

EngineStats Engine::stats() const {
  return core_->stats();
}

Engine::Core::Core(net::Loop& loop, store::Writer& writer, Processors processors,
                   EngineOptions options)
    : loop_(loop),
      writer_(writer),
      processors_(std::move(processors)),
      options_(std::move(options)),
      scan_event_(loop),
      wake_event_(loop),
      drained_(loop) {
  CHECK(options_.lease_ms > 0 && options_.scan_ms > 0 && options_.held_max > 0);
  CHECK(options_.in_flight_max > 0 && options_.in_flight_bytes_max > 0);
}

void Engine::Core::start() {
  loop_.spawn("queue.scan", scan_loop(shared_from_this()));
  loop_.spawn("queue.wake", wake_loop(shared_from_this()));
}

EngineStats Engine::Core::stats() const {
  const std::scoped_lock lock(mutex_);
  EngineStats stats = stats_;
  stats.held = held_;
  stats.in_flight = in_flight_;
  return stats;
}

net::Task<> Engine::Core::wake_loop(std::shared_ptr<Core> self) {
  self->loop_thread_ = std::this_thread::get_id();
  while (!self->stopping_ || !self->holds_.empty()) {
    const net::Instant next = self->wakes_.empty() ? net::kNever : self->wakes_.begin()->first;
    co_await self->wake_event_.wait(next);
    const net::Instant now = net::in_ms(0);
    while (!self->wakes_.empty() && self->wakes_.begin()->first <= now) {
      const PartitionId id = self->wakes_.begin()->second;
      self->wakes_.erase(self->wakes_.begin());
      const auto hold = self->holds_.find(id);
      if (hold == self->holds_.end()) continue;
      hold->second.wake.reset();
      self->pump(id);
    }
  }
}

// One entry per hold: the earliest.
void Engine::Core::wake_at(Hold& hold, net::Instant at) {
  if (hold.wake && (*hold.wake)->first <= at) return;
  if (hold.wake) wakes_.erase(*hold.wake);
  hold.wake = wakes_.emplace(at, hold.partition.id);
  if (*hold.wake == wakes_.begin()) wake_event_.notify_all();
}

// Answers that come in the same round of the loop go with one turn.
void Engine::Core::post_pump(Hold& hold) {
  if (std::exchange(hold.pump_posted, true)) return;
  loop_.post([weak = weak_from_this(), id = hold.partition.id] {
    const auto self = weak.lock();
    if (!self) return;
    const auto found = self->holds_.find(id);
    if (found == self->holds_.end()) return;
    found->second.pump_posted = false;
    self->pump(id);
  });
}

void Engine::Core::pump(PartitionId id) {
  Hold& hold = holds_.at(id);
  if (hold.turning) {
    hold.again = true;
    return;
  }
  const bool takes = !hold.leaving && !stopping_;
  const std::int64_t room = takes ? room_for(hold) : 0;
  if (!hold.finished.empty() || room > 0) return send_turn(hold, room);
  if (!takes && hold.idle()) return release(id);
  if (takes && hold.running.empty() && !std::exchange(hold.starving, true)) starving_.push_back(id);
}

std::int64_t Engine::Core::room_for(const Hold& hold) const {
  const auto running = static_cast<std::int64_t>(hold.running.size());
  // Those whose results go with this turn make room.
  const auto ending = static_cast<std::int64_t>(hold.finished.size());
  std::int64_t room = hold.partition.config.concurrency - (running - ending);
  room = std::min(room, options_.in_flight_max - slots_used_ + ending);
  const auto same = slots_by_handler_.find(hold.partition.config.handler);
  const std::int64_t of_handler = same == slots_by_handler_.end() ? 0 : same->second;
  // Kinds of our own have no handler that could hang.
  if (!hold.partition.config.handler.empty()) {
    room = std::min(room, options_.in_flight_per_handler_max - of_handler + ending);
  }
  if (!starving_.empty()) {
    // Somebody waits: nobody goes on with more than a fair part of the slots.
    const auto wanting = active_ + static_cast<std::int64_t>(starving_.size());
    const std::int64_t part = std::max<std::int64_t>(options_.in_flight_max / wanting, 1);
    room = std::min(room, part - (running - ending));
  }
  const std::int64_t fit = (options_.in_flight_bytes_max - bytes_used_) / reserved_bytes(hold);
  room = std::min(room, std::max(fit, slots_used_ == 0 ? std::int64_t{1} : std::int64_t{0}));
  return std::max<std::int64_t>(room, 0);
}

void Engine::Core::send_turn(Hold& hold, std::int64_t room) {
  Turn turn;
  turn.partition = hold.partition.id;
  turn.token = hold.partition.token;
  const std::size_t count =
      hold.singly ? std::min<std::size_t>(1, hold.finished.size()) : hold.finished.size();
  hold.sent.assign(std::make_move_iterator(hold.finished.begin()),
                   std::make_move_iterator(hold.finished.begin() + static_cast<long>(count)));
  hold.finished.erase(hold.finished.begin(), hold.finished.begin() + static_cast<long>(count));
  turn.finished = hold.sent;
  turn.room = room;
  turn.in_flight = static_cast<std::int64_t>(hold.running.size() - count);
  hold.turning = true;
  hold.again = false;
  hold.room = room;
  use(hold, room, room * reserved_bytes(hold));
  store::Lane& lane = writer_.lane(lane_of(hold.partition.id));
  submit(loop_, lane, std::move(turn),
         [self = shared_from_this(), id = hold.partition.id, token = hold.partition.token](
             Result<Turned> turned) { self->on_turned(id, token, std::move(turned)); });
}

void Engine::Core::on_turned(PartitionId id, std::int64_t token, Result<Turned> turned) {
  const auto found = holds_.find(id);
  if (found == holds_.end() || found->second.partition.token != token) return;
  Hold& hold = found->second;
  hold.turning = false;
  const std::int64_t room = std::exchange(hold.room, 0);
  give_back(hold, room, room * reserved_bytes(hold));
  if (!turned.ok()) return on_turn_failed(found, turned.error());
  const std::size_t stored = hold.sent.size();
  settle_sent(hold);
  hold.singly = hold.singly && !hold.finished.empty();
  adopt(hold, std::move(turned->partition));
  if (options_.changed && (stored > 0 || !turned->taken.empty())) {
    options_.changed(hold.partition.name);
  }
  if (turned->orphans) return release(id);
  const auto taken = static_cast<std::int64_t>(turned->taken.size());
  for (Taken& item : turned->taken) dispatch(hold, std::move(item));
  if (!hold.partition.owner && hold.idle()) return drop(found);
  const bool another = turned->more || hold.again || !hold.finished.empty() ||
                       (room > 0 && taken == room && room_for(hold) > 0);
  if (crowded_ && hold.idle() && !another) hold.leaving = true;
  if (another || hold.leaving || stopping_) return post_pump(hold);
  const std::int64_t idle_us = hold.idle() ? hold.partition.ready_us.value_or(kNeverUs) : kNeverUs;
  const std::int64_t next_us = std::min(idle_us, hold.partition.delayed_us);
  if (next_us == kNeverUs) return;
  const std::int64_t wait_us = std::max<std::int64_t>(next_us - turned->now_us, 0);
  wake_at(hold, net::in_ms(wait_us / 1000 + 1));
}

// Its handler may have been changed by its user; slots are counted under the new one then.
void Engine::Core::adopt(Hold& hold, Partition partition) {
  const auto running = static_cast<std::int64_t>(hold.running.size());
  const bool moved = partition.config.handler != hold.partition.config.handler;
  if (moved && running > 0) {
    give_back(hold, running, 0);
    hold.partition = std::move(partition);
    return use(hold, running, 0);
  }
  hold.partition = std::move(partition);
}

// What was stored is done with.
void Engine::Core::settle_sent(Hold& hold) {
  std::int64_t slots = 0;
  std::int64_t bytes = 0;
  std::unique_lock lock(mutex_);
  for (const Finished& finished : hold.sent) {
    const auto running = hold.running.find(finished.id);
    if (running == hold.running.end()) continue;
    slots += 1;
    bytes += size_of(running->second);
    if (finished.status == Status::Complete) ++stats_.completed;
    if (finished.status == Status::Failed) ++stats_.dead;
    if (finished.status == Status::Delayed && finished.counted) ++stats_.retried;
    if (finished.status == Status::Available) ++stats_.moved;
    hold.running.erase(running);
    if (hold.running.empty()) --active_;
  }
  lock.unlock();
  hold.sent.clear();
  give_back(hold, slots, bytes);
  in_flight_ -= slots;
  if (stopping_) drained_.notify_all();
}

void Engine::Core::on_turn_failed(Holds::iterator found, const Error& error) {
  Hold& hold = found->second;
  if (error.kind() == Errc::Stale || error.kind() == Errc::Missing) {
    log_warn("queue.partition_lost", {{"partition", hold.partition.name}});
    {
      const std::scoped_lock lock(mutex_);
      ++stats_.lost;
    }
    return drop(found);
  }
  if (error.kind() == Errc::Canceled) return drop(found);  // the writer has stopped
  log_warn("queue.turn_failed", {{"partition", hold.partition.name}, {"error", error.message()}});
  // A result that cannot be stored, such as one whose effect fails, is a failed attempt.
  if (hold.sent.size() == 1 && !may_pass(error)) {
    const Taken& taken = hold.running.at(hold.sent.front().id);
    hold.sent.front() = settle(taken, Outcome::failed(error.message()), hold.partition.config, 0.5,
                               io::system_clock().now_us());
  }
  if (hold.sent.size() > 1 && !may_pass(error)) hold.singly = true;
  hold.finished.insert(hold.finished.begin(), std::make_move_iterator(hold.sent.begin()),
                       std::make_move_iterator(hold.sent.end()));
  hold.sent.clear();
  wake_at(hold, net::in_ms(kRetryTurnMs));
}

void Engine::Core::dispatch(Hold& hold, Taken taken) {
  const ItemId item = taken.id;
  use(hold, 1, size_of(taken));
  ++in_flight_;
  {
    const std::scoped_lock lock(mutex_);
    ++stats_.taken;
  }
  const std::string limit_key = taken.limit_key;
  const PartitionId id = hold.partition.id;
  const std::int64_t token = hold.partition.token;
  if (hold.running.empty()) ++active_;
  hold.running.emplace(item, std::move(taken));
  if (limit_key.empty()) return process(id, token, item);
  submit(loop_, writer_.control(), AcquireLimit{limit_key, item, id, token},
         [self = shared_from_this(), id, token, item](const Result<AcquireLimit::Reply>& reply) {
           if (reply.ok() && reply->granted) return self->process(id, token, item);
           Outcome refused;
           refused.kind = Outcome::Kind::Refused;
           refused.delay_us = reply.ok() ? reply->wait_us : kRetryTurnMs * 1000;
           self->on_answer(id, token, item, std::move(refused));
         });
}

void Engine::Core::process(PartitionId id, std::int64_t token, ItemId item) {
  const auto hold = holds_.find(id);
  if (hold == holds_.end() || hold->second.partition.token != token) return;
  const Partition& partition = hold->second.partition;
  const Taken& taken = hold->second.running.at(item);
  auto once = std::make_shared<std::atomic<bool>>(false);
  auto answered = [weak = weak_from_this(), remote = loop_.remote(), id, token, item,
                   once](Outcome outcome) {
    CHECK(!once->exchange(true));
    const auto self = weak.lock();
    if (self && self->loop_thread_ == std::this_thread::get_id()) {
      return self->on_answer(id, token, item, std::move(outcome));
    }
    remote.post([weak, id, token, item, outcome = std::move(outcome)] {
      if (const auto late = weak.lock()) late->on_answer(id, token, item, outcome);
    });
  };
  const auto processor = processors_.find(partition.config.kind);
  CHECK(processor != processors_.end());
  Work work{id, partition.name, partition.config.handler, token, taken};
  try {
    processor->second->process(std::move(work), answered);
  } catch (const std::exception& thrown) {
    if (!*once) answered(Outcome::failed(std::string("the processor threw: ") + thrown.what()));
  }
}

void Engine::Core::on_answer(PartitionId id, std::int64_t token, ItemId item, Outcome outcome) {
  const auto found = holds_.find(id);
  if (found == holds_.end() || found->second.partition.token != token) return;
  Hold& hold = found->second;
  const auto running = hold.running.find(item);
  if (running == hold.running.end()) return;
  const Taken& taken = running->second;
  if (!taken.limit_key.empty() && outcome.kind != Outcome::Kind::Refused) {
    submit(loop_, writer_.control(), ReleaseLimit{taken.limit_key, item, token},
           [](const Result<bool>&) {});  // a hold that stays counts only while its item runs
  }
  if (outcome.kind == Outcome::Kind::Canceled) {
    // Stays running in the store: whoever claims the partition next does it again.
    const std::int64_t bytes = size_of(taken);
    hold.running.erase(running);
    if (hold.running.empty()) --active_;
    hold.leaving = true;
    --in_flight_;
    give_back(hold, 1, bytes);
    drained_.notify_all();
    return post_pump(hold);
  }
  const double random = std::uniform_real_distribution<double>(0, 1)(random_);
  hold.finished.push_back(settle(taken, std::move(outcome), hold.partition.config, random,
                                 io::system_clock().now_us()));
  post_pump(hold);
}

void Engine::Core::use(const Hold& hold, std::int64_t slots, std::int64_t bytes) {
  if (slots == 0) return;
  slots_used_ += slots;
  bytes_used_ += bytes;
  slots_by_handler_[hold.partition.config.handler] += slots;
}

void Engine::Core::give_back(const Hold& hold, std::int64_t slots, std::int64_t bytes) {
  if (slots == 0) return;
  slots_used_ -= slots;
  bytes_used_ -= bytes;
  const auto of_handler = slots_by_handler_.find(hold.partition.config.handler);
  CHECK(of_handler != slots_by_handler_.end());
  of_handler->second -= slots;
  if (of_handler->second == 0) slots_by_handler_.erase(of_handler);
  CHECK(slots_used_ >= 0 && bytes_used_ >= 0);
  feed();
}

// Of those that found no slot, the first one that would find one now has its turn.
void Engine::Core::feed() {
  for (auto waiting = starving_.begin(); waiting != starving_.end();) {
    const auto hold = holds_.find(*waiting);
    if (hold != holds_.end() && room_for(hold->second) == 0) {
      ++waiting;
      continue;
    }
    waiting = starving_.erase(waiting);
    if (hold == holds_.end()) continue;
    hold->second.starving = false;
    return post_pump(hold->second);
  }
}

bool Engine::Core::quiet() const {
  return std::all_of(holds_.begin(), holds_.end(),
                     [](const auto& entry) { return entry.second.running.empty(); });
}

net::Task<> Engine::Core::drain(net::Instant deadline, std::function<bool()> done) {
  while (!done() && net::in_ms(0) < deadline) co_await drained_.wait(deadline);
}

// Processors that answer nothing, not even that they were canceled, are not waited for.
void Engine::Core::abandon_running() {
  std::vector<PartitionId> stuck;
  for (const auto& [id, hold] : holds_) {
    if (!hold.running.empty() && !hold.turning && hold.finished.empty()) stuck.push_back(id);
  }
  for (const PartitionId id : stuck) release(id);
}

net::Task<> Engine::Core::stop(std::int64_t grace_ms) {
  const std::shared_ptr<Core> self = shared_from_this();
  stopping_ = true;
  scan_event_.notify_all();
  wake_event_.notify_all();
  std::vector<PartitionId> ids;
  for (const auto& [id, hold] : holds_) ids.push_back(id);
  for (const PartitionId id : ids) {
    if (holds_.contains(id)) pump(id);
  }
  std::function<bool()> none_running = [this] { return quiet(); };
  co_await drain(net::in_ms(grace_ms), none_running);
  if (!quiet()) {
    for (const auto& [kind, processor] : processors_) processor->cancel();
    co_await drain(net::in_ms(kCancelMs), none_running);
    abandon_running();
  }
  std::function<bool()> all_given_up = [this] {
    return holds_.empty() && releases_ == 0 && !scanning_;
  };
  co_await drain(net::in_ms(kStoreMs), all_given_up);
  renewer_.reset();
  if (!owner_) co_return;
  const OwnerId id = owner_->id;
  auto gone = std::make_shared<bool>(false);
  auto op = store::Alone{[id](store::Tx& tx) -> Result<bool> {
    TRY(unregister_owner(tx, id));
    return true;
  }};
  submit(loop_, writer_.control(), op, [self, gone](const Result<bool>&) {
    *gone = true;
    self->drained_.notify_all();
  });
  std::function<bool()> unregistered = [gone] { return *gone; };
  co_await drain(net::in_ms(kStoreMs), unregistered);
}

}  // namespace quern::queue
