#include "search/change_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <map>

#include "base/log.h"
#include "net/event.h"
#include "queue/await.h"
#include "queue/item.h"
#include "queue/message.h"
#include "queue/timer.h"
#include "tree/change.h"

namespace quern::search {
namespace {

namespace json = boost::json;
using store::Tx;
using tree::ChangedCollection;

constexpr std::size_t kDroppedAtOnce = 1000;

struct Seen {
  std::vector<ChangedCollection> changed;
  std::vector<bool> has_timer;  // of each
  std::int64_t now_us = 0;
};

Result<Seen> look_at(Tx& tx) {
  Seen seen;
  TRY_ASSIGN(seen.changed, tree::list_changed(tx));
  TRY_ASSIGN(seen.now_us, tx.now_us());
  for (const ChangedCollection& one : seen.changed) {
    seen.has_timer.push_back(!one.name.empty() && queue::load_timer(tx, one.name).ok());
  }
  return seen;
}

// Of a collection that is gone and was never published: nobody will ask.
Result<> drop_some(Tx& tx, tree::CollectionId collection) {
  TRY_ASSIGN(const std::vector<tree::Change> changes,
             tree::list_changes(tx, collection, 0, kDroppedAtOnce));
  std::vector<std::int64_t> ids;
  for (const tree::Change& change : changes) ids.push_back(change.id);
  return tree::drop_changes(tx, ids);
}

}  // namespace

Result<queue::PartitionId> post_pack(store::Writer& writer, store::Readers& readers,
                                     const std::string& collection, bool full,
                                     const std::string& key) {
  const json::object body{{"type", full ? "pack_full" : "pack_incremental"}, {"site", collection}};
  TRY_ASSIGN(const queue::Message message, queue::parse_message("PACK", json::serialize(body)));
  TRY_ASSIGN(const queue::PartitionId partition, queue::ensure_queue(writer, readers, "PACK"));
  queue::PutItems put{partition, {queue::message_item(message, key)}};
  TRY(writer.run(queue::lane_of(partition), std::move(put)));
  return partition;
}

class ChangeWatch::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(Parts parts, ChangeWatchOptions options)
      : parts_(std::move(parts)),
        options_(options),
        remote_(parts_.loop.remote()),
        changed_(parts_.loop),
        pool_({.threads = 1, .queue_max = 16}) {}

  void start() {
    CHECK(!running_);
    running_ = true;
    parts_.loop.spawn("search.watch", run(shared_from_this()));
  }
  static net::Task<> stop(std::shared_ptr<Core> self) {
    self->cut();
    while (self->running_) co_await self->changed_.wait();
  }
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
  // What we know of a collection that has changes.
  struct Known {
    std::int64_t last = 0;       // change that the timer was reset for
    std::int64_t posted_us = 0;  // when a pack was asked for without waiting for the timer
  };

  static net::Task<> run(std::shared_ptr<Core> self);
  net::Task<> wait(std::int64_t wait_ms);
  net::Task<std::int64_t> look();
  net::Task<Result<>> see_to(ChangedCollection one, bool has_timer, std::int64_t now_us);
  void note(const Result<>& result);

  Parts parts_;
  const ChangeWatchOptions options_;
  const net::Loop::Remote remote_;
  std::atomic<bool> poked_{false};
  // The loop's thread only:
  bool running_ = false;
  bool stopping_ = false;
  bool in_trouble_ = false;
  std::map<tree::CollectionId, Known> known_;
  net::Event changed_;
  io::Pool pool_;  // posts, which blocks
};

net::Task<> ChangeWatch::Core::run(std::shared_ptr<Core> self) {
  while (!self->stopping_) {
    const std::int64_t wait_ms = co_await self->look();
    if (self->stopping_) break;
    co_await self->wait(wait_ms);
  }
  self->running_ = false;
  self->changed_.notify_all();
}

net::Task<> ChangeWatch::Core::wait(std::int64_t wait_ms) {
  const net::Instant deadline = net::in_ms(wait_ms);
  // However many pokes, a look comes at most this often.
  const net::Instant earliest = net::in_ms(options_.settle_ms / 4);
  while (!stopping_ && !poked_ && net::in_ms(0) < deadline) co_await changed_.wait(deadline);
  while (!stopping_ && net::in_ms(0) < earliest) co_await changed_.wait(earliest);
  poked_ = false;
}

// Returns when to look again.
net::Task<std::int64_t> ChangeWatch::Core::look() {
  auto find = [](Tx& tx) { return look_at(tx); };
  const Result<Seen> seen = co_await queue::read(parts_.loop, parts_.readers, find);
  if (!seen.ok()) {
    note(seen.error());
    co_return options_.delay_ms_max;
  }
  Result<> done;
  std::map<tree::CollectionId, Known> still;
  for (const ChangedCollection& one : seen->changed) still[one.id] = known_[one.id];
  known_ = std::move(still);
  for (std::size_t i = 0; i < seen->changed.size(); ++i) {
    if (stopping_) co_return 0;
    const Result<> seen_to = co_await see_to(seen->changed[i], seen->has_timer[i], seen->now_us);
    if (!seen_to.ok()) done = seen_to;
  }
  note(done);
  co_return known_.empty() ? options_.idle_ms : options_.settle_ms / 4;
}

net::Task<Result<>> ChangeWatch::Core::see_to(ChangedCollection one, bool has_timer,
                                              std::int64_t now_us) {
  if (one.name.empty()) {
    auto drop = [id = one.id](Tx& tx) { return drop_some(tx, id); };
    co_return co_await queue::write(parts_.loop, parts_.writer.lane({}), std::move(drop));
  }
  Known& known = known_[one.id];
  const std::int64_t delay_us = options_.delay_ms_max * 1000;
  const std::int64_t waiting_since_us = std::max(one.oldest_us, known.posted_us);
  if (now_us - waiting_since_us >= delay_us) {
    const std::string key = fmt::format("delay:{}:{}:{}", one.id, one.first,
                                        now_us / std::max<std::int64_t>(delay_us, 1));
    auto post = [writer = &parts_.writer, readers = &parts_.readers, name = one.name, key] {
      return post_pack(*writer, *readers, name, false, key);
    };
    CO_TRY_ASSIGN(const queue::PartitionId partition,
                  co_await queue::offload(parts_.loop, pool_, std::move(post)));
    known.posted_us = now_us;
    parts_.posted(partition);
  }
  if (known.last == one.last && has_timer) co_return Result<>();
  // A timer that fired and whose pack is under way needs no other.
  if (known.last == one.last && now_us - known.posted_us < delay_us) co_return Result<>();
  known.last = one.last;
  queue::SetTimer reset;
  reset.key = one.name;
  reset.timeout_us = options_.settle_ms * 1000;
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane({}), std::move(reset)));
  parts_.poke_timers();
  co_return Result<>();
}

void ChangeWatch::Core::note(const Result<>& result) {
  if (!result.ok() && !in_trouble_ && !stopping_) {
    log_warn("search.watch_trouble", {{"error", result.error().message()}});
  }
  in_trouble_ = !result.ok();
}

ChangeWatch::ChangeWatch(Parts parts, ChangeWatchOptions options)
    : core_(std::make_shared<Core>(std::move(parts), options)) {}

ChangeWatch::~ChangeWatch() {
  core_->cut();
}

void ChangeWatch::start() {
  core_->start();
}

net::Task<> ChangeWatch::stop() {
  return Core::stop(core_);
}

void ChangeWatch::poke() {
  core_->poke();
}

}  // namespace quern::search
