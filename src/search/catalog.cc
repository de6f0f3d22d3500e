#include "search/catalog.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "queue/await.h"

namespace quern::search {
namespace {

using store::Tx;

constexpr std::int64_t kPatienceMs = 20;

struct Stored {
  std::vector<PackList> packs;
  std::vector<std::int64_t> hidden_jobs;
  std::map<std::string, std::vector<std::string>> addresses;  // by digest
};

Result<Stored> load_stored(Tx& tx) {
  Stored stored;
  TRY_ASSIGN(stored.packs, load_packs(tx));
  TRY_ASSIGN(const std::vector<tree::JobId> hidden, tree::list_hidden_jobs(tx));
  for (const tree::JobId job : hidden) stored.hidden_jobs.push_back(job.value);
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const std::vector<Registration> searchers, list_registrations(tx));
  std::map<std::string, std::vector<std::string>> silent;
  for (const Registration& one : searchers) {
    if (one.address.empty()) continue;
    auto& addresses = one.is_silent(now_us) ? silent : stored.addresses;
    for (const std::string& digest : one.held) addresses[digest].push_back(one.address);
  }
  // On a machine that is loaded registrations may come late; where nobody else can answer, those
  // who were silent for a while are asked all the same.
  stored.addresses.merge(silent);
  return stored;
}

void hide_too(Snapshot& snapshot, const std::vector<std::int64_t>& jobs) {
  std::vector<std::int64_t>& hidden = snapshot.hidden_jobs;
  hidden.insert(hidden.end(), jobs.begin(), jobs.end());
  std::sort(hidden.begin(), hidden.end());
  hidden.erase(std::unique(hidden.begin(), hidden.end()), hidden.end());
}

}  // namespace

// A new snapshot from what is stored and what was served before. On the pool's thread.
class Catalog::Loading {
 public:
  Loading(PackSource& source, bool local, const Snapshot* before)
      : source_(source), local_(local), before_(before) {}

  Result<std::shared_ptr<const Snapshot>> load(Stored stored) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->hidden_jobs = std::move(stored.hidden_jobs);
    for (const PackList& pack : stored.packs) {
      Result<ServedCollection> served = serve(pack, stored.addresses);
      if (served.ok()) {
        snapshot->collections.push_back(*std::move(served));
        continue;
      }
      snapshot->whole = false;
      const ServedCollection* old = find_before(pack.collection);
      if (old != nullptr && is_at_hand(*old, stored.addresses)) {
        snapshot->collections.push_back(with_addresses(*old, stored.addresses));
        // The version that masks them is not the one that is searched.
        hide_too(*snapshot, before_->hidden_jobs);
      } else {
        snapshot->loading[pack.name] = served.error().message();
      }
      // A mask that changed between two reads is seen by the next look.
      if (served.error().kind() != Errc::Stale) {
        log_info("search.loading",
                 {{"collection", pack.name}, {"because", served.error().message()}});
      }
    }
    return std::shared_ptr<const Snapshot>(std::move(snapshot));
  }

 private:
  using Addresses = std::map<std::string, std::vector<std::string>>;

  const ServedCollection* find_before(tree::CollectionId id) const {
    if (before_ == nullptr) return nullptr;
    for (const ServedCollection& one : before_->collections) {
      if (one.id == id) return &one;
    }
    return nullptr;
  }

  const ServedSegment* find_before(const ServedCollection* old, SegmentId id) const {
    if (old == nullptr) return nullptr;
    for (const ServedSegment& one : old->segments) {
      if (one.segment.id == id) return &one;
    }
    return nullptr;
  }

  static bool is_at_hand(const ServedCollection& old, const Addresses& addresses) {
    return std::all_of(old.segments.begin(), old.segments.end(), [&](const ServedSegment& one) {
      return one.pack != nullptr || addresses.contains(one.segment.digest);
    });
  }

  static ServedCollection with_addresses(ServedCollection served, const Addresses& addresses) {
    for (ServedSegment& one : served.segments) {
      const auto found = addresses.find(one.segment.digest);
      one.addresses = found == addresses.end() ? std::vector<std::string>() : found->second;
    }
    return served;
  }

  Result<ServedCollection> serve(const PackList& pack, const Addresses& addresses) {
    const ServedCollection* old = find_before(pack.collection);
    ServedCollection served{pack.collection, pack.name, pack.version, {}};
    for (const Segment& segment : pack.segments) {
      ServedSegment one;
      one.segment = segment;
      const ServedSegment* known = find_before(old, segment.id);
      if (known != nullptr) one.pack = known->pack;
      const auto found = addresses.find(segment.digest);
      if (found != addresses.end()) one.addresses = found->second;
      if (one.pack == nullptr && local_) {
        TRY_ASSIGN(one.pack, source_.load(segment));
      }
      if (one.pack == nullptr && one.addresses.empty()) {
        return Error{Errc::Unavailable,
                     fmt::format("no searcher holds the segment {} yet", segment.digest)};
      }
      if (known != nullptr && known->segment.mask_version == segment.mask_version) {
        one.mask = known->mask;
      } else if (one.pack != nullptr) {
        TRY_ASSIGN(one.mask, source_.load_mask(segment));
      }
      served.segments.push_back(std::move(one));
    }
    return served;
  }

  PackSource& source_;
  const bool local_;
  const Snapshot* before_;
};

// What a refresh that is under way and those who wait for it have in common.
struct Catalog::Shared {
  explicit Shared(net::Loop& loop) : changed(loop) {}
  // The snapshot without what was deleted since.
  std::shared_ptr<const Snapshot> shown() const;

  std::shared_ptr<const Snapshot> snapshot;
  std::optional<Error> failed;  // the last refresh
  std::int64_t begun = 0;       // refreshes
  std::int64_t ended = 0;
  // Deleted jobs, with the number of refreshes that had begun by then. A publication takes a job
  // off the list in the database; who searches an older version still has to hide it.
  std::map<std::int64_t, std::int64_t> hidden;
  net::Instant looked = net::in_ms(-3'600'000);
  net::Event changed;
};

Catalog::Catalog(net::Loop& loop, store::Readers& readers, PackSource& source,
                 CatalogOptions options)
    : loop_(loop),
      readers_(readers),
      source_(source),
      options_(options),
      shared_(std::make_shared<Shared>(loop)) {}

Catalog::~Catalog() {
  stop();
}

void Catalog::hide(const std::vector<tree::JobId>& jobs) {
  for (const tree::JobId job : jobs) shared_->hidden[job.value] = shared_->begun;
  dirty_ = true;
}

net::Task<> Catalog::refresh(std::shared_ptr<Shared> shared, Catalog* self) {
  self->dirty_ = false;
  const std::int64_t number = shared->begun;
  const net::Instant looked = net::in_ms(0);
  auto load = [](Tx& tx) { return load_stored(tx); };
  Result<Stored> stored = co_await queue::read(self->loop_, self->readers_, load);
  Result<std::shared_ptr<const Snapshot>> loaded = Error{Errc::Internal, "not loaded"};
  if (stored.ok()) {
    auto open = [source = &self->source_, local = self->options_.local, before = shared->snapshot,
                 stored = *std::move(stored)]() mutable {
      return Loading(*source, local, before.get()).load(std::move(stored));
    };
    loaded = co_await queue::offload(self->loop_, self->pool_, std::move(open));
  } else {
    loaded = stored.error();
  }
  if (loaded.ok()) {
    shared->snapshot = *std::move(loaded);
    shared->failed.reset();
    shared->looked = looked;
    // It looked after they were deleted, and has what it saw: it hides or masks them by itself.
    const bool whole = shared->snapshot->whole;
    std::erase_if(shared->hidden, [&](const auto& one) { return whole && one.second < number; });
  } else {
    shared->failed = loaded.error();
  }
  ++shared->ended;
  shared->changed.notify_all();
}

std::shared_ptr<const Snapshot> Catalog::Shared::shown() const {
  if (hidden.empty()) return snapshot;
  std::vector<std::int64_t> jobs;
  for (const auto& [job, begun_by_then] : hidden) jobs.push_back(job);
  auto hiding = std::make_shared<Snapshot>(*snapshot);
  hide_too(*hiding, jobs);
  return hiding;
}

// What others deleted is hidden soon, too, though the newest version is still being opened.
net::Task<Result<std::shared_ptr<const Snapshot>>> Catalog::look_for_hidden(
    std::shared_ptr<const Snapshot> snapshot) {
  auto find = [](Tx& tx) { return tree::list_hidden_jobs(tx); };
  CO_TRY_ASSIGN(const std::vector<tree::JobId> hidden, co_await queue::read(loop_, readers_, find));
  std::vector<std::int64_t> jobs;
  for (const tree::JobId job : hidden) jobs.push_back(job.value);
  auto hiding = std::make_shared<Snapshot>(*snapshot);
  hide_too(*hiding, jobs);
  co_return std::shared_ptr<const Snapshot>(std::move(hiding));
}

net::Task<Result<std::shared_ptr<const Snapshot>>> Catalog::current(Age age) {
  const std::shared_ptr<Shared> shared = shared_;
  const bool dirty = dirty_;
  const bool old = dirty || net::in_ms(-options_.fresh_ms) > shared->looked;
  const bool must = age == Age::Newest || shared->snapshot == nullptr;
  const bool idle = shared->ended == shared->begun;
  // The refresh to wait for. One that is under way may have looked before this call, and before
  // what made it dirty.
  std::int64_t wanted = 0;
  if (old || must) wanted = shared->begun;
  if ((old || must) && (idle || dirty || age == Age::Newest)) ++wanted;
  // A look is quick. A new segment may take long to fetch: then others go on with what there is.
  const net::Instant patience = must ? net::kNever : net::in_ms(kPatienceMs);
  while (shared->ended < wanted) {
    if (shared->ended == shared->begun) {
      ++shared->begun;
      loop_.spawn("search.refresh", refresh(shared, this));
    }
    if (co_await shared->changed.wait(patience) == net::WaitEnd::Notified) continue;
    if (shared->snapshot == nullptr) break;
    co_return co_await look_for_hidden(shared->shown());
  }
  if (shared->snapshot == nullptr) {
    if (shared->failed) co_return *shared->failed;
    co_return Error{Errc::Unavailable, "the search is starting"};
  }
  co_return shared->shown();
}

}  // namespace quern::search
