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
constexpr std::size_t kSweptAtOnce = 1000;  // pages that are looked at
constexpr std::size_t kSitesAdmittedAtOnce = 16;
constexpr std::size_t kUnmetListed = 100;
constexpr std::int64_t kSweepMs = 1000;
constexpr std::int64_t kFollowAgainMs = 200;
constexpr std::int64_t kEndMs = 100;            // between two looks whether crawls have ended
constexpr std::int64_t kPausesMax = 1'000'000;  // of one removal: steps

int year_now() {
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  return static_cast<int>(std::chrono::year_month_day(today).year());
}

std::int64_t at_once(const CrawlOrder& order) {
  return order.delay_ms == 0 ? kPagesWithoutGap : 1;
}

}  // namespace

Follower::Follower(FollowingParts parts) : parts_(std::move(parts)), changed_(parts_.loop) {}

void Follower::start() {
  running_ = true;
  parts_.loop.spawn("crawl.follow", run(shared_from_this()));
}

net::Task<> Follower::stop() {
  stopping_ = true;
  changed_.notify_all();
  while (running_ || !at_.empty()) co_await changed_.wait();
}

void Follower::wake() {
  poked_ = true;
  changed_.notify_all();
}

void Follower::fetched(PageId page) {
  if (has_room()) {
    waiting_.push_back(page);
    wake();
  } else {
    sweep();
  }
}

void Follower::read(const std::vector<tree::FileId>& files) {
  if (files_.size() + files.size() <= parts_.waiting_max) {
    files_.insert(files_.end(), files.begin(), files.end());
    wake();
  } else {
    sweep();
  }
}

void Follower::sweep() {
  begin_sweep();
  wake();
}

void Follower::begin_sweep() {
  ++sweeps_;
  sweeping_ = true;
  swept_ = {};
}

void Follower::may_have_ended(const std::vector<tree::JobId>& jobs) {
  may_end_.insert(jobs.begin(), jobs.end());
  wake();
}

net::Task<> Follower::run(std::shared_ptr<Follower> self) {
  while (!self->stopping_) {
    self->poked_ = false;
    const Result<> looked = co_await self->look();
    if (!looked.ok()) log_info("crawl.look_later", {{"error", looked.error().message()}});
    if (self->at_.empty() || self->end_at_ <= net::in_ms(0)) co_await self->end_some();
    if (self->stopping_) break;
    const bool full = self->at_.size() >= kFollowedAtOnce;
    const bool more = looked.ok() && self->sweeping_ && self->waiting_.empty();
    if (full || (!self->poked_ && !more)) {
      const bool may_end = !self->may_end_.empty();
      co_await self->changed_.wait(may_end ? self->end_at_ : net::in_ms(kSweepMs));
    } else {
      co_await self->parts_.loop.yield();
    }
  }
  self->running_ = false;
  self->changed_.notify_all();
}

net::Task<Result<>> Follower::look() {
  if (!files_.empty() && has_room()) {
    auto find = [files = std::exchange(files_, {})](Tx& tx) { return list_ready(tx, files); };
    const Result<std::vector<PageId>> pages =
        co_await queue::read(parts_.loop, parts_.readers, std::move(find));
    if (!pages.ok()) {
      begin_sweep();
      co_return pages.error();
    }
    waiting_.insert(waiting_.end(), pages->begin(), pages->end());
  }
  if (waiting_.empty() && (sweeping_ || sweep_at_ <= net::in_ms(0))) {
    const std::int64_t sweep = sweeps_;
    auto list = [after = swept_](Tx& tx) { return list_ready(tx, after, kSweptAtOnce); };
    CO_TRY_ASSIGN(const ReadyPages ready, co_await queue::read(parts_.loop, parts_.readers, list));
    waiting_.insert(waiting_.end(), ready.pages.begin(), ready.pages.end());
    sweep_at_ = net::in_ms(kSweepMs);
    if (sweep == sweeps_) {  // none was begun since
      swept_ = ready.more ? ready.last : PageId{};
      sweeping_ = sweeping_ && ready.more;
    }
  }
  begin_some();
  co_return Result<>();
}

void Follower::begin_some() {
  while (!stopping_ && !waiting_.empty() && at_.size() < kFollowedAtOnce) {
    const PageId page = waiting_.front();
    waiting_.pop_front();
    if (!at_.insert(page).second) continue;
    parts_.loop.spawn("crawl.follow_one", follow_one(shared_from_this(), page));
  }
}

net::Task<> Follower::follow_one(std::shared_ptr<Follower> self, PageId page) {
  const Result<> followed = co_await self->follow(page);
  if (!followed.ok()) {
    log_info("crawl.follow_later", {{"page", page.value}, {"error", followed.error().message()}});
    co_await self->parts_.loop.sleep_until(net::in_ms(kFollowAgainMs));
  }
  self->at_.erase(page);
  if (!followed.ok()) self->fetched(page);
  self->begin_some();
  self->wake();
}

struct Follower::Context {
  std::optional<ReadyPage> ready;
  Site site;
  std::optional<Crawl> crawl;
};

net::Task<Result<>> Follower::follow(PageId page) {
  auto load = [page, crawls = &parts_.crawls](Tx& tx) -> Result<Context> {
    Context context;
    TRY_ASSIGN(context.ready, load_ready(tx, page));
    if (!context.ready) return context;
    TRY_ASSIGN(context.site, load_site(tx, context.ready->page.site));
    Result<Crawl> crawl = crawls->load(tx, context.ready->page.job);
    if (crawl.ok()) context.crawl = *std::move(crawl);
    return context;
  };
  CO_TRY_ASSIGN(const Context context,
                co_await queue::read(parts_.loop, parts_.readers, std::move(load)));
  if (!context.ready) co_return Result<>();
  const ReadyPage& ready = *context.ready;
  FoundLinks found;
  const bool goes_on = context.crawl && !context.crawl->canceled && !context.crawl->ended;
  if (goes_on) {
    const CrawlOrder& order = *context.crawl->order;
    found = find_links(ready.page, *context.crawl->scope, ready.links, year_now());
    const bool begins = ready.page.source == "seed" && order.sitemaps && order.whole;
    if (begins && context.site.robots) {
      const web::Robots robots = PageFetcher::robots_of(*context.site.robots, parts_.agent);
      add_sitemaps(robots.sitemaps(), ready.page, *context.crawl->scope, found);
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
    CO_TRY(co_await admit_all(*context.crawl, found.by_site));
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
  if (sites_.size() >= parts_.sites_kept) sites_.clear();
  sites_[key] = site;
  co_return site;
}

// Pages of many sites, several sites at a time.
struct Follower::Admitting {
  Admitting(net::Loop& loop, const Crawl& for_crawl,
            std::map<std::string, std::vector<Candidate>> candidates)
      : crawl(for_crawl),
        by_site(std::move(candidates)),
        next(by_site.begin()),
        running(std::min(by_site.size(), kSitesAdmittedAtOnce)),
        ended(loop) {}

  Crawl crawl;
  std::map<std::string, std::vector<Candidate>> by_site;
  std::map<std::string, std::vector<Candidate>>::const_iterator next;
  std::size_t running;
  Result<> failed;
  Admitted done;
  net::Event ended;
};

net::Task<Result<Admitted>> Follower::admit_all(
    const Crawl& crawl, std::map<std::string, std::vector<Candidate>> by_site) {
  if (by_site.empty()) co_return Admitted();
  auto all = std::make_shared<Admitting>(parts_.loop, crawl, std::move(by_site));
  const std::size_t others = all->running - 1;
  for (std::size_t i = 0; i < others; ++i) {
    parts_.loop.spawn("crawl.admit", admit_some(shared_from_this(), all));
  }
  co_await admit_some(shared_from_this(), all);
  while (all->running > 0) co_await all->ended.wait();
  for (const PageId page : all->done.reopened) fetched(page);
  if (!all->failed.ok()) co_return all->failed.error();
  co_return std::move(all->done);
}

net::Task<> Follower::admit_some(std::shared_ptr<Follower> self, std::shared_ptr<Admitting> all) {
  while (all->failed.ok() && all->next != all->by_site.end()) {
    const auto& [name, candidates] = *all->next++;
    const Result<> done = co_await self->admit_site(*all, name, candidates);
    if (!done.ok()) all->failed = done;
  }
  --all->running;
  all->ended.notify_all();
}

net::Task<Result<>> Follower::admit_site(Admitting& all, const std::string& name,
                                         const std::vector<Candidate>& candidates) {
  const Crawl& crawl = all.crawl;
  CO_TRY_ASSIGN(const Site site, co_await site_named(name, at_once(*crawl.order)));
  for (std::size_t from = 0; from < candidates.size(); from += kAdmittedAtOnce) {
    if (stopping_) co_return Error{Errc::Canceled, "the server is stopping"};
    const std::size_t to = std::min(from + kAdmittedAtOnce, candidates.size());
    auto order = std::make_shared<AdmitOrder>();
    order->site = site;
    order->job = crawl.job;
    order->collection = crawl.collection;
    order->pages_max = crawl.order->pages_max;
    order->candidates.assign(candidates.begin() + static_cast<std::ptrdiff_t>(from),
                             candidates.begin() + static_cast<std::ptrdiff_t>(to));
    auto write = store::Fenced{store::Fence{site.partition.value, 0},
                               [order](Tx& tx) { return admit(tx, *order); }};
    CO_TRY_ASSIGN(
        const Admitted done,
        co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(site.partition)),
                              std::move(write)));
    all.done.added += done.added;
    all.done.over += done.over;
    all.done.not_due += done.not_due;
    all.done.reopened.insert(all.done.reopened.end(), done.reopened.begin(), done.reopened.end());
    if (done.added > 0) parts_.poke(site.partition);
  }
  co_return Result<>();
}

// -- the end --

net::Task<> Follower::end_some() {
  end_at_ = net::in_ms(kEndMs);
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
  struct Loaded {
    Crawl crawl;
    CrawlSums sums;
  };
  auto load = [job, crawls = &parts_.crawls](Tx& tx) -> Result<Loaded> {
    Loaded loaded;
    TRY_ASSIGN(loaded.crawl, crawls->load(tx, job));
    TRY_ASSIGN(loaded.sums, load_sums(tx, job));
    return loaded;
  };
  Result<Loaded> loaded = co_await queue::read(parts_.loop, parts_.readers, load);
  if (!loaded.ok() && loaded.error().kind() == Errc::Missing) co_return true;
  CO_TRY_ASSIGN(const Loaded all, std::move(loaded));
  const Crawl& crawl = all.crawl;
  if (crawl.ended) co_return true;
  if (crawl.canceled) {
    CO_TRY(co_await cancel_open(crawl, "the crawl was canceled"));
  } else if (!crawl.seeded || all.sums.open > 0) {
    co_return false;
  }
  // A site that did not answer, or was cut off by a limit, has not lost its pages.
  const bool complete =
      all.sums.inside > 0 && all.sums.failed == 0 && all.sums.admitted < crawl.order->pages_max;
  if (crawl.order->whole && complete && !crawl.canceled) CO_TRY(co_await drop_unmet(job));
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
