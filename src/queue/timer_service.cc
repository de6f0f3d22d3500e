#include "queue/timer_service.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "base/log.h"
#include "net/event.h"
#include "queue/await.h"
#include "queue/locked_partitions.h"
#include "queue/message.h"

namespace quern::queue {
namespace {

// Between a poke and the look that it asks for: whoever sets many timers costs few looks, and the
// transaction that sets one may still be under way.
constexpr std::int64_t kPokeDelayMs = 20;
constexpr std::size_t kQueuesRememberedMax = 1000;

}  // namespace

class TimerService::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(net::Loop& loop, store::Writer& writer, store::Readers& readers,
       std::function<void(PartitionId)> posted, TimerServiceOptions options)
      : loop_(loop),
        remote_(loop.remote()),
        writer_(writer),
        readers_(readers),
        posted_(std::move(posted)),
        options_(options),
        changed_(loop),
        pool_({.threads = 1, .queue_max = 16}) {
    CHECK(options_.tick_ms > 0);
  }

  void start() {
    CHECK(!running_);
    running_ = true;
    loop_.spawn("timers", run(shared_from_this()));
  }

  static net::Task<> stop(std::shared_ptr<Core> self) {
    self->stopping_ = true;
    self->changed_.notify_all();
    while (self->running_) co_await self->changed_.wait();
    self->pool_.stop();
  }

  // Nothing more is begun, whether or not what is under way has ended.
  void cut() {
    stopping_ = true;
    changed_.notify_all();
    pool_.stop();
  }

  void poke() {
    if (poked_.exchange(true)) return;
    remote_.post([weak = weak_from_this()] {
      if (const std::shared_ptr<Core> self = weak.lock()) self->changed_.notify_all();
    });
  }

 private:
  static net::Task<> run(std::shared_ptr<Core> self);
  net::Task<> wait(std::int64_t wait_ms);
  net::Task<std::int64_t> look();
  net::Task<Result<std::int64_t>> fire(std::string queue);
  net::Task<Result<PartitionId>> partition_of(std::string queue);
  void note(const Result<>& result);

  net::Loop& loop_;
  const net::Loop::Remote remote_;
  store::Writer& writer_;
  store::Readers& readers_;
  const std::function<void(PartitionId)> posted_;
  const TimerServiceOptions options_;
  std::atomic<bool> poked_{false};
  // The loop's thread only:
  bool running_ = false;
  bool stopping_ = false;
  bool in_trouble_ = false;
  std::map<std::string, PartitionId> partitions_;  // by queue
  net::Event changed_;
  io::Pool pool_;  // makes the partition of a queue that has none yet, which blocks
};

net::Task<> TimerService::Core::run(std::shared_ptr<Core> self) {
  while (!self->stopping_) {
    const std::int64_t wait_ms = co_await self->look();
    co_await self->wait(wait_ms);
  }
  self->running_ = false;
  self->changed_.notify_all();
}

net::Task<> TimerService::Core::wait(std::int64_t wait_ms) {
  const net::Instant deadline = net::in_ms(wait_ms);
  while (!stopping_ && !poked_ && net::in_ms(0) < deadline) co_await changed_.wait(deadline);
  if (stopping_ || !poked_) co_return;
  co_await loop_.sleep_until(net::in_ms(kPokeDelayMs));
  poked_ = false;  // what is set from here on pokes again
}

// Fires once for each queue that has something due; returns when to look again.
net::Task<std::int64_t> TimerService::Core::look() {
  auto find = [](store::Tx& tx) { return find_due(tx); };
  const Result<DueQueues> due = co_await read(loop_, readers_, find);
  if (!due.ok()) {
    note(due.error());
    co_return options_.tick_ms;
  }
  bool failed = false;
  bool more = false;
  for (const std::string& queue : due->queues) {
    if (stopping_) co_return 0;
    const Result<std::int64_t> fired = co_await fire(queue);
    if (stopping_) co_return 0;
    if (!fired.ok()) note(fired.error());
    failed = failed || !fired.ok();
    more = more || (fired.ok() && *fired == static_cast<std::int64_t>(kFiredAtOnceMax));
  }
  if (!failed) note({});
  if (more) co_return 0;
  if (failed || due->next_us == kNeverUs) co_return options_.tick_ms;
  co_return std::min(options_.tick_ms, (due->next_us - due->now_us) / 1000 + 1);
}

net::Task<Result<std::int64_t>> TimerService::Core::fire(std::string queue) {
  CO_TRY_ASSIGN(const PartitionId partition, co_await partition_of(queue));
  if (stopping_) co_return Error{Errc::Canceled, "the timers are stopping"};
  auto change = change_partition(
      partition, [queue, partition](store::Tx& tx) { return fire_timers(tx, queue, partition); });
  store::Lane& lane = writer_.lane(lane_of(partition));
  const Result<std::int64_t> fired = co_await write(loop_, lane, std::move(change));
  if (!fired.ok()) partitions_.erase(queue);  // it may have been deleted
  if (fired.ok() && *fired > 0) posted_(partition);
  co_return fired;
}

net::Task<Result<PartitionId>> TimerService::Core::partition_of(std::string queue) {
  const auto known = partitions_.find(queue);
  if (known != partitions_.end()) co_return known->second;
  // Not the core: its last reference must not go on the pool's own thread.
  auto ensure = [writer = &writer_, readers = &readers_, queue] {
    return ensure_queue(*writer, *readers, queue);
  };
  CO_TRY_ASSIGN(const PartitionId partition, co_await offload(loop_, pool_, std::move(ensure)));
  if (partitions_.size() >= kQueuesRememberedMax) partitions_.clear();
  partitions_[queue] = partition;
  co_return partition;
}

// Says when trouble begins and when it ends.
void TimerService::Core::note(const Result<>& result) {
  if (!result.ok() && !in_trouble_) {
    log_warn("timers.trouble", {{"error", result.error().message()}});
  }
  if (result.ok() && in_trouble_) log_info("timers.recovered");
  in_trouble_ = !result.ok();
}

TimerService::TimerService(net::Loop& loop, store::Writer& writer, store::Readers& readers,
                           std::function<void(PartitionId)> posted, TimerServiceOptions options)
    : core_(std::make_shared<Core>(loop, writer, readers, std::move(posted), options)) {}

TimerService::~TimerService() {
  core_->cut();
}

void TimerService::start() {
  core_->start();
}

net::Task<> TimerService::stop() {
  return Core::stop(core_);
}

void TimerService::poke() {
  core_->poke();
}

}  // namespace quern::queue
