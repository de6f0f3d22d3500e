// Owning partitions: registering, renewing, claiming, giving up.
#include <fmt/format.h>
#include <openssl/rand.h>

#include <algorithm>

#include "base/log.h"
#include "net/async.h"
#include "queue/engine_core.h"
#include "queue/locked_partitions.h"
#include "queue/submit.h"

namespace quern::queue {
namespace {

// Pokes for partitions that nobody here holds cause a scan, but not more often than this.
constexpr std::int64_t kPokedScanMsMin = 5;

std::string random_name() {
  std::array<unsigned char, 8> random;
  CHECK(RAND_bytes(random.data(), random.size()) == 1);
  return fmt::format("owner-{:02x}", fmt::join(random, ""));
}

std::string joined_kinds(const Processors& processors) {
  std::string kinds;
  for (const auto& [kind, processor] : processors) kinds += (kinds.empty() ? "" : " ") + kind;
  return kinds;
}

template <class Op>
net::Task<Result<store::Answer<Op>>> ask(net::Loop& loop, store::Lane& lane, Op op) {
  using Reply = Result<store::Answer<Op>>;
  auto start = [&](net::Callback<Reply> callback) {
    submit(loop, lane, std::move(op), [callback](Reply reply) { callback(std::move(reply)); });
  };
  co_return co_await net::await_callback<Reply>(loop, start);
}

}  // namespace

net::Task<> Engine::Core::scan_loop(std::shared_ptr<Core> self) {
  self->scanning_ = true;
  while (!self->stopping_) {
    if (self->lost_) self->lose_everything();
    const bool registered = self->owner_.has_value();
    Result<> done;
    if (registered) {
      done = co_await self->scan_once();
    } else {
      done = co_await self->register_self();
    }
    self->note_trouble(done.ok() ? "" : done.error().message());
    if (self->stopping_) break;
    if (done.ok() && !registered) continue;
    co_await self->pause_scanning();
  }
  self->scanning_ = false;
  self->drained_.notify_all();
}

// Until the next scan is due or wanted. Pokes that lead to no claim (the partition is another
// server's) lead to fewer and fewer scans.
net::Task<> Engine::Core::pause_scanning() {
  const net::Instant soonest = net::in_ms(poked_scan_ms_);
  if (!std::exchange(scan_wanted_, false)) {
    const net::WaitEnd end = co_await scan_event_.wait(net::in_ms(options_.scan_ms));
    scan_wanted_ = false;
    if (end == net::WaitEnd::Notified) {
      poked_scan_ms_ = std::min(2 * poked_scan_ms_, options_.scan_ms);
    } else {
      poked_scan_ms_ = kPokedScanMsMin;
    }
  }
  co_await loop_.sleep_until(soonest);
}

std::vector<std::string> Engine::Core::kinds() const {
  std::vector<std::string> kinds;
  for (const auto& [kind, processor] : processors_) kinds.push_back(kind);
  return kinds;
}

net::Task<Result<>> Engine::Core::register_self() {
  const std::string name = options_.name.empty() ? random_name() : options_.name;
  const std::string kinds = joined_kinds(processors_);
  const std::int64_t lease_us = options_.lease_ms * 1000;
  auto op = [name, kinds, lease_us](store::Tx& tx) {
    return register_owner(tx, name, kinds, lease_us);
  };
  CO_TRY_ASSIGN(Owner owner, co_await ask(loop_, writer_.control(), std::move(op)));
  owner_ = owner;
  lost_ = false;
  auto renewed = [weak = weak_from_this(), remote = loop_.remote(),
                  id = owner.id](const Result<std::int64_t>& until) {
    remote.post([weak, until, id] {
      const auto self = weak.lock();
      if (self && self->owner_ && self->owner_->id == id) self->on_renewed(until);
    });
  };
  renewer_ = std::make_unique<Renewer>(writer_, owner.id, options_.lease_ms, renewed);
  log_info("queue.owner", {{"owner", owner.name}, {"kinds", kinds}});
  const std::scoped_lock lock(mutex_);
  stats_.owner = owner.name;
  co_return Result<>{};
}

void Engine::Core::on_renewed(const Result<std::int64_t>& until) {
  if (until.ok()) {
    const std::scoped_lock lock(mutex_);
    ++stats_.renewals;
    return;
  }
  if (until.error().kind() == Errc::Missing) {
    lost_ = true;
    scan_event_.notify_all();
  }
}

// We were silent for so long that everything was taken away. What is under way here belongs to
// others now; its results would be stale.
void Engine::Core::lose_everything() {
  log_warn("queue.owner_lost", {{"owner", owner_ ? owner_->name : ""}, {"held", holds_.size()}});
  {
    const std::scoped_lock lock(mutex_);
    stats_.lost += static_cast<std::int64_t>(holds_.size());
  }
  while (!holds_.empty()) drop(holds_.begin());
  renewer_.reset();
  owner_.reset();
  lost_ = false;
}

net::Task<Result<>> Engine::Core::scan_once() {
  Scan scan;
  scan.owner = owner_->id;
  scan.kinds = kinds();
  scan.held = static_cast<std::int64_t>(holds_.size());
  scan.held_max = options_.held_max;
  scan.patience_us = options_.lease_ms * 1000;
  auto op = store::Alone{[scan](store::Tx& tx) { return scan_partitions(tx, scan); }};
  Result<Scanned> scanned = co_await ask(loop_, writer_.control(), std::move(op));
  if (!scanned.ok()) {
    if (scanned.error().kind() == Errc::Missing) lost_ = true;
    co_return scanned.error();
  }
  if (!owner_ || owner_->id != scan.owner) co_return Result<>{};
  on_scanned(*std::move(scanned));
  co_return Result<>{};
}

void Engine::Core::hold(Partition partition) {
  const PartitionId id = partition.id;
  // It was taken from us and came back: what was under way belongs to the old token.
  const auto old = holds_.find(id);
  if (old != holds_.end()) drop(old);
  Hold hold;
  hold.partition = std::move(partition);
  hold.leaving = stopping_;
  holds_.emplace(id, std::move(hold));
  ++held_;
  {
    const std::scoped_lock lock(mutex_);
    ++stats_.claimed;
  }
  pump(id);
}

// The store says that it is ours, and we know nothing of it: an answer was lost.
void Engine::Core::free_unknown(const Held& held) {
  const OwnerId owner = owner_->id;
  auto op = change_partition(
      held.id, [held, owner](store::Tx& tx) { return release_unknown(tx, held, owner); });
  submit(loop_, writer_.lane(lane_of(held.id)), op, [](const Result<bool>&) {});
}

// Whoever began to delete it died on the way.
void Engine::Core::go_on_deleting(PartitionId id) {
  auto op = change_partition(id, [id](store::Tx& tx) -> Result<bool> {
    const Partition* partition = LockedPartitions::of(tx).find(id);
    if (partition == nullptr || !partition->deleting) return true;
    return delete_some(tx, id);
  });
  submit(loop_, writer_.lane(lane_of(id)), op,
         [self = shared_from_this(), id](const Result<bool>& gone) {
           if (gone.ok() && !*gone && !self->stopping_) self->go_on_deleting(id);
         });
}

void Engine::Core::claim_in_lane(PartitionId id) {
  submit(loop_, writer_.lane(lane_of(id)), ClaimPartition{id, owner_->id, kinds()},
         [self = shared_from_this(), owner = owner_->id](Result<std::optional<Partition>> claimed) {
           const bool ours = self->owner_ && self->owner_->id == owner;
           if (ours && claimed.ok() && *claimed) self->hold(**std::move(claimed));
         });
}

void Engine::Core::on_scanned(Scanned scanned) {
  for (Partition& partition : scanned.claimed) hold(std::move(partition));
  for (const Held& ready : scanned.ready) {
    const auto hold = holds_.find(ready.id);
    if (hold == holds_.end()) {
      free_unknown(ready);
    } else if (hold->second.idle()) {
      pump(ready.id);
    }
  }
  for (const PartitionId id : scanned.deleting) go_on_deleting(id);
  for (const PartitionId id : scanned.contended) claim_in_lane(id);
  if (scanned.surplus > 0) give_up_some(scanned.surplus, /*busy_too=*/true);
  crowded_ = scanned.room_wanted;
  if (crowded_) give_up_some(kClaimedAtOnceMax, /*busy_too=*/false);
  // There may be more where a whole handful was found.
  const auto claimed = static_cast<std::int64_t>(scanned.claimed.size());
  if (claimed > 0) poked_scan_ms_ = kPokedScanMsMin;
  if (claimed >= kClaimedAtOnceMax) scan_wanted_ = true;
}

void Engine::Core::give_up_some(std::int64_t count, bool busy_too) {
  std::vector<PartitionId> chosen;
  for (const bool busy : {false, true}) {
    if (busy && !busy_too) break;
    for (auto& [id, hold] : holds_) {
      if (static_cast<std::int64_t>(chosen.size()) >= count) break;
      if (hold.leaving || hold.idle() == busy) continue;
      chosen.push_back(id);
    }
  }
  for (const PartitionId id : chosen) {
    holds_.at(id).leaving = true;
    pump(id);
  }
}

void Engine::Core::release(PartitionId id) {
  const auto hold = holds_.find(id);
  CHECK(hold != holds_.end());
  const ReleasePartition op{id, hold->second.partition.token};
  drop(hold);
  ++releases_;
  submit(loop_, writer_.lane(lane_of(id)), op,
         [self = shared_from_this()](const Result<bool>& released) {
           --self->releases_;
           {
             const std::scoped_lock lock(self->mutex_);
             if (released.ok()) ++self->stats_.released;
           }
           if (self->crowded_ && !self->stopping_) self->want_scan();
           self->drained_.notify_all();
         });
}

void Engine::Core::drop(Holds::iterator found) {
  // Out of the map first: giving slots back wakes others.
  const Hold hold = std::move(found->second);
  holds_.erase(found);
  if (hold.wake) wakes_.erase(*hold.wake);
  if (!hold.running.empty()) --active_;
  --held_;
  std::int64_t bytes = hold.room * reserved_bytes(hold);
  for (const auto& [item, taken] : hold.running) bytes += size_of(taken);
  const auto running = static_cast<std::int64_t>(hold.running.size());
  in_flight_ -= running;
  if (running + hold.room > 0) give_back(hold, running + hold.room, bytes);
  drained_.notify_all();
  if (stopping_) wake_event_.notify_all();
}

void Engine::Core::poke(PartitionId partition) {
  {
    const std::scoped_lock lock(mutex_);
    poked_.insert(partition);
    if (std::exchange(poke_posted_, true)) return;
  }
  loop_.remote().post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->take_pokes();
  });
}

// Also while one is under way: that one may have looked already.
void Engine::Core::want_scan() {
  scan_wanted_ = true;
  scan_event_.notify_all();
}

void Engine::Core::take_pokes() {
  std::set<PartitionId> poked;
  {
    const std::scoped_lock lock(mutex_);
    poked.swap(poked_);
    poke_posted_ = false;
  }
  bool unknown = false;
  for (const PartitionId id : poked) {
    const auto hold = holds_.find(id);
    unknown = unknown || hold == holds_.end();
    if (hold != holds_.end()) post_pump(hold->second);
  }
  if (unknown) want_scan();
}

void Engine::Core::note_trouble(const std::string& trouble) {
  const std::scoped_lock lock(mutex_);
  if (!trouble.empty() && stats_.trouble.empty()) log_warn("queue.trouble", {{"error", trouble}});
  stats_.trouble = trouble;
}

}  // namespace quern::queue
