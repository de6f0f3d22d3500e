#include "crawl/following.h"

#include <algorithm>
#include <chrono>

#include "base/crash.h"
#include "base/log.h"
#include "crawl/fetching.h"
#include "queue/await.h"

namespace quern::crawl {
namespace {

using store::Tx;

constexpr std::size_t kFollowedAtOnce = 32;
// Pages become ready about in the order in which they were fetched; where the first ones are held
// up, a place that moves on with each look finds the others.
constexpr std::size_t kReadyListed = 200;
constexpr std::size_t kReadyListedFurther = 1000;
constexpr std::size_t kUnmetListed = 100;
constexpr std::size_t kSitesKept = 20'000;
constexpr std::int64_t kLookMs = 1000;
constexpr std::int64_t kPausesMax = 1'000'000;  // of one removal: steps

int year_now() {
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  return static_cast<int>(std::chrono::year_month_day(today).year());
}

std::int64_t at_once(const CrawlOrder& order) {
  return order.delay_ms == 0 ? kAtOnceWithoutGap : 1;
}

}  // namespace

Follower::Follower(FollowingParts parts)
    : parts_(std::move(parts)), remote_(parts_.loop.remote()), changed_(parts_.loop) {}

void Follower::start() {
  running_ = true;
  parts_.loop.spawn("crawl.follow", run(shared_from_this()));
}

net::Task<> Follower::stop() {
  stopping_ = true;
  changed_.notify_all();
  while (running_ || !at_.empty()) co_await changed_.wait();
}

void Follower::poke() {
  if (poked_.exchange(true)) return;
  remote_.post([weak = weak_from_this()] {
    if (const std::shared_ptr<Follower> self = weak.lock()) self->changed_.notify_all();
  });
}

void Follower::may_have_ended(const std::vector<tree::JobId>& jobs) {
  may_end_.insert(jobs.begin(), jobs.end());
  poke();
}

net::Task<> Follower::run(std::shared_ptr<Follower> self) {
  while (!self->stopping_) {
    self->poked_ = false;
    const Result<bool> more = co_await self->look();
    if (!more.ok()) log_info("crawl.look_later", {{"error", more.error().message()}});
    co_await self->end_some();
    if (self->stopping_) break;
    const net::Instant deadline = net::in_ms(kLookMs);
    const bool full = self->at_.size() >= kFollowedAtOnce;
    if (full || (!self->poked_ && !(more.ok() && *more))) {
      co_await self->changed_.wait(deadline);
    } else {
      co_await self->parts_.loop.yield();
    }
  }
  self->running_ = false;
  self->changed_.notify_all();
}

// Whether there may be more at once.
net::Task<Result<bool>> Follower::look() {
  auto list = [](Tx& tx) { return list_ready(tx, PageId{}, kReadyListed); };
  CO_TRY_ASSIGN(ReadyPages first, co_await queue::read(parts_.loop, parts_.readers, list));
  const bool more = first.more;
  further_ = std::max(further_, first.last);
  bool began = begin_some(std::move(first));
  if (more && at_.size() < kFollowedAtOnce) {
    auto list_further = [after = further_](Tx& tx) {
      return list_ready(tx, after, kReadyListedFurther);
    };
    CO_TRY_ASSIGN(ReadyPages further,
                  co_await queue::read(parts_.loop, parts_.readers, list_further));
    further_ = further.more ? further.last : PageId{};
    began = begin_some(std::move(further)) || began;
  }
  co_return began&& more;
}

bool Follower::begin_some(ReadyPages ready) {
  bool began = false;
  for (ReadyPage& one : ready.pages) {
    if (at_.size() >= kFollowedAtOnce) break;
    if (!at_.insert(one.page.id).second) continue;
    began = true;
    parts_.loop.spawn("crawl.follow_one", follow_one(shared_from_this(), std::move(one)));
  }
  return began;
}

net::Task<> Follower::follow_one(std::shared_ptr<Follower> self, ReadyPage ready) {
  const PageId page = ready.page.id;
  const Result<> followed = co_await self->follow(ready);
  if (!followed.ok()) {
    log_info("crawl.follow_later", {{"page", page.value}, {"error", followed.error().message()}});
    co_await self->parts_.loop.sleep_until(net::in_ms(200));
  }
  self->at_.erase(page);
  self->poked_ = true;
  self->changed_.notify_all();
}

net::Task<Result<>> Follower::follow(const ReadyPage& ready) {
  struct Context {
    Site site;
    std::optional<Crawl> crawl;
  };
  auto load = [site = ready.page.site, job = ready.page.job](Tx& tx) -> Result<Context> {
    Context context;
    TRY_ASSIGN(context.site, load_site(tx, site));
    Result<Crawl> crawl = load_crawl(tx, job);
    if (crawl.ok()) context.crawl = *std::move(crawl);
    return context;
  };
  CO_TRY_ASSIGN(const Context context,
                co_await queue::read(parts_.loop, parts_.readers, std::move(load)));
  FoundLinks found;
  const bool goes_on = context.crawl && !context.crawl->canceled && !context.crawl->ended;
  if (goes_on) {
    const CrawlOrder& order = context.crawl->order;
    found = find_links(ready.page, order, ready.links, year_now());
    const bool begins = ready.page.source == "seed" && order.sitemaps && order.whole;
    if (begins && context.site.robots) {
      const web::Robots robots = PageFetcher::robots_of(*context.site.robots, parts_.agent);
      add_sitemaps(robots.sitemaps(), ready.page, order, found);
    }
  }
  bool canonical_is_good = false;
  if (!found.canonical.empty()) {
    // Two pages that name each other would both be lost.
    auto find = [id = ready.page.collection, url = found.canonical](Tx& tx) {
      return find_page(tx, id, url);
    };
    CO_TRY_ASSIGN(const std::optional<Page> other,
                  co_await queue::read(parts_.loop, parts_.readers, std::move(find)));
    canonical_is_good = !other || other->state != PageState::Out;
  }
  if (!found.by_site.empty()) {
    std::map<std::string, std::vector<Candidate>> by_site = found.by_site;
    CO_TRY(co_await admit_all(*context.crawl, std::move(by_site)));
    crash_point("crawl.links.admitted");
  }
  CO_TRY(co_await settle(ready, context.site, found, canonical_is_good));
  if (context.crawl) {
    may_end_.insert(context.crawl->job);
    parts_.reset_timer(*context.crawl);
  }
  co_return Result<>();
}

net::Task<Result<>> Follower::settle(const ReadyPage& ready, const Site& site,
                                     const FoundLinks& found, bool canonical_is_good) {
  Settle order{.page = ready.page.id, .fetch = ready.page.fetch};
  if (canonical_is_good) {
    order.why = "its canonical address is " + found.canonical;
    order.why_kind = "canonical";
    order.drop_file = true;
  } else if (ready.file_failed) {
    order.why = "it could not be read; its file says why";
    order.why_kind = "error";
  } else if (found.noindex) {
    order.why = "the page asks that it is not indexed";
    order.why_kind = "noindex";
    order.drop_file = true;
  } else if (ready.page.file && !ready.file_document && ready.page.why.empty()) {
    order.why = "it lists other pages, and is none itself";
    order.why_kind = "list";
  }
  std::optional<tree::ShardId> shard = ready.old_shard ? ready.old_shard : ready.shard;
  for (std::int64_t step = 0; step < kPausesMax && !stopping_; ++step) {
    const store::Fence fence{site.partition.value, 0, shard ? shard->value : 0};
    auto write = store::Fenced{fence, [order](Tx& tx) { return settle_page(tx, order); }};
    CO_TRY_ASSIGN(
        const bool done,
        co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(site.partition)),
                              std::move(write)));
    if (done) {
      parts_.settled(ready.page, order.why.empty() && ready.page.why.empty());
      co_return Result<>();
    }
    auto again = [id = ready.page.id](Tx& tx) { return load_page(tx, id); };
    CO_TRY_ASSIGN(const Page page, co_await queue::read(parts_.loop, parts_.readers, again));
    if (!page.old_file) shard = ready.shard;
  }
  co_return Result<>();
}

net::Task<Result<Site>> Follower::site_named(const std::string& name, std::int64_t at_once) {
  const std::string key = name + (at_once > 1 ? "*" : "");
  if (const auto found = sites_.find(key); found != sites_.end()) co_return found->second;
  auto make = [writer = &parts_.writer, readers = &parts_.readers, name, at_once] {
    return ensure_site(*writer, *readers, name, at_once);
  };
  CO_TRY_ASSIGN(Site site, co_await queue::offload(parts_.loop, parts_.pool, std::move(make)));
  site.robots.reset();
  if (sites_.size() > kSitesKept) sites_.clear();
  sites_[key] = site;
  co_return site;
}

net::Task<Result<Admitted>> Follower::admit_all(
    const Crawl& crawl, std::map<std::string, std::vector<Candidate>> by_site) {
  Admitted all;
  for (auto& [name, candidates] : by_site) {
    CO_TRY_ASSIGN(const Site site, co_await site_named(name, at_once(crawl.order)));
    for (std::size_t from = 0; from < candidates.size(); from += kAdmittedAtOnce) {
      const std::size_t to = std::min(from + kAdmittedAtOnce, candidates.size());
      auto order = std::make_shared<AdmitOrder>();
      order->site = site;
      order->job = crawl.job;
      order->collection = crawl.collection;
      order->pages_max = crawl.order.pages_max;
      order->candidates.assign(candidates.begin() + static_cast<std::ptrdiff_t>(from),
                               candidates.begin() + static_cast<std::ptrdiff_t>(to));
      auto write = store::Fenced{store::Fence{site.partition.value, 0},
                                 [order](Tx& tx) { return admit(tx, *order); }};
      CO_TRY_ASSIGN(
          const Admitted done,
          co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(site.partition)),
                                std::move(write)));
      all.added += done.added;
      all.over += done.over;
      all.not_due += done.not_due;
      if (done.added > 0) parts_.poke(site.partition);
    }
  }
  co_return all;
}

// -- the end --

net::Task<> Follower::end_some() {
  std::set<tree::JobId> jobs = std::exchange(may_end_, {});
  for (const tree::JobId job : jobs) {
    if (stopping_) co_return;
    const Result<bool> ended = co_await try_end(job);
    if (!ended.ok()) {
      log_info("crawl.end_later", {{"job", job.value}, {"error", ended.error().message()}});
      may_end_.insert(job);
    }
  }
}

net::Task<Result<bool>> Follower::try_end(tree::JobId job) {
  auto load = [job](Tx& tx) { return load_crawl(tx, job); };
  Result<Crawl> loaded = co_await queue::read(parts_.loop, parts_.readers, load);
  if (!loaded.ok() && loaded.error().kind() == Errc::Missing) co_return true;
  CO_TRY_ASSIGN(const Crawl crawl, std::move(loaded));
  if (crawl.ended) co_return true;
  if (crawl.canceled) {
    CO_TRY(co_await cancel_open(crawl, "the crawl was canceled"));
  } else if (!crawl.seeded || crawl.sums.open > 0) {
    co_return false;
  }
  // A site that did not answer, or was cut off by a limit, has not lost its pages.
  const bool complete = crawl.sums.inside > 0 && crawl.sums.failed == 0 &&
                        crawl.sums.admitted < crawl.order.pages_max;
  if (crawl.order.whole && complete && !crawl.canceled) CO_TRY(co_await drop_unmet(job));
  auto end = [job](Tx& tx) { return end_crawl(tx, job); };
  CO_TRY_ASSIGN(const bool ended,
                co_await queue::write(parts_.loop, parts_.writer.lane({}), std::move(end)));
  if (ended) parts_.sealed(job);
  co_return ended;
}

net::Task<Result<bool>> Follower::drop_unmet(tree::JobId job) {
  while (!stopping_) {
    auto list = [job](Tx& tx) { return list_unmet(tx, job, kUnmetListed); };
    CO_TRY_ASSIGN(const std::vector<Unmet> unmet,
                  co_await queue::read(parts_.loop, parts_.readers, list));
    if (unmet.empty()) co_return true;
    for (const Unmet& one : unmet) {
      const store::Fence fence{one.partition.value, 0, one.shard ? one.shard->value : 0};
      auto drop = store::Fenced{fence, [page = one.page](Tx& tx) {
                                  return drop_page(tx, page, "nothing links to it any more");
                                }};
      CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(one.partition)),
                                   drop));
    }
  }
  co_return Error{Errc::Canceled, "the server is stopping"};
}

net::Task<Result<bool>> Follower::cancel_open(const Crawl& crawl, std::string why) {
  std::string after;
  while (!stopping_) {
    auto list = [job = crawl.job, after](Tx& tx) {
      return list_sites(tx, job, after, kUnmetListed);
    };
    CO_TRY_ASSIGN(const std::vector<SiteSums> sites,
                  co_await queue::read(parts_.loop, parts_.readers, std::move(list)));
    for (const SiteSums& one : sites) {
      for (std::int64_t left = 1; left > 0;) {
        auto cancel = store::Fenced{store::Fence{one.site.partition.value, 0},
                                    [job = crawl.job, site = one.site.id, why](Tx& tx) {
                                      return cancel_pages(tx, job, site, why);
                                    }};
        CO_TRY_ASSIGN(
            left, co_await queue::write(
                      parts_.loop, parts_.writer.lane(queue::lane_of(one.site.partition)), cancel));
      }
      after = one.site.name;
    }
    if (sites.size() < kUnmetListed) co_return true;
  }
  co_return Error{Errc::Canceled, "the server is stopping"};
}

}  // namespace quern::crawl
