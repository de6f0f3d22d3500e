// Follower: sees to pages that were fetched: what they link to is admitted, what they were before
// goes, and they are in or out. And ends crawls that have nothing left to do.
//
// Any server may follow any page: it needs no ownership, for each step is a transaction behind the
// lock of a site, and done again changes nothing. A page is closed last, so nothing is forgotten
// when somebody dies on the way.
//
// Whoever fetched a page or read it here says so, and it is followed at once; what a server left
// that died, or nobody named, is found by a sweep over all fetched pages: whole when this one
// starts, and a piece of it each second.
//
// Threads: the loop's. Lifetime: stop() before its parts go.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "crawl/links.h"
#include "io/pool.h"
#include "net/event.h"
#include "net/loop.h"
#include "store/readers.h"
#include "store/writer.h"

namespace quern::crawl {

inline constexpr std::size_t kWaitingMax = 10'000;  // pages that were named and wait
inline constexpr std::size_t kFollowedSitesKept = 20'000;

struct FollowingParts {
  net::Loop& loop;
  store::Writer& writer;
  store::Readers& readers;
  io::Pool& pool;
  CrawlCache& crawls;
  std::size_t waiting_max = kWaitingMax;
  std::size_t sites_kept = kFollowedSitesKept;
  std::string agent = "quern";
  std::function<void(queue::PartitionId)> poke;   // items were put
  std::function<void(tree::JobId)> sealed;        // its crawl has ended
  std::function<void(const Crawl&)> reset_timer;  // pages of its collection move
  std::function<void(const Page&, bool in)> settled;
};

class Follower : public std::enable_shared_from_this<Follower> {
 public:
  explicit Follower(FollowingParts parts);

  void start();
  net::Task<> stop();
  // These may be ready.
  void fetched(PageId page);
  void read(const std::vector<tree::FileId>& files);
  // Any page may be.
  void sweep();

  // These are looked at soon.
  void may_have_ended(const std::vector<tree::JobId>& jobs);

  // Admits pages of any sites for a crawl. For those who begin one, too.
  net::Task<Result<Admitted>> admit_all(const Crawl& crawl,
                                        std::map<std::string, std::vector<Candidate>> by_site);
  // Ends it if nothing is left.
  net::Task<Result<bool>> try_end(tree::JobId job);
  // Pages of a crawl that nobody fetches any more are out.
  net::Task<Result<bool>> cancel_open(const Crawl& crawl, std::string why);

 private:
  static net::Task<> run(std::shared_ptr<Follower> self);
  static net::Task<> follow_one(std::shared_ptr<Follower> self, PageId page);
  net::Task<Result<>> look();
  bool has_room() const { return waiting_.size() < parts_.waiting_max; }
  void wake();
  void begin_sweep();
  void begin_some();
  struct Context;
  net::Task<Result<>> follow(PageId page);
  net::Task<Result<>> settle(const ReadyPage& ready, const Site& site, const FoundLinks& found,
                             bool canonical_is_good);
  net::Task<Result<Site>> site_named(const std::string& name, std::int64_t at_once);
  net::Task<Result<bool>> drop_unmet(tree::JobId job);
  net::Task<> end_some();

  struct Admitting;
  static net::Task<> admit_some(std::shared_ptr<Follower> self, std::shared_ptr<Admitting> all);
  net::Task<Result<>> admit_site(Admitting& all, const std::string& name,
                                 const std::vector<Candidate>& candidates);

  FollowingParts parts_;
  bool running_ = false;
  bool stopping_ = false;
  bool poked_ = false;
  std::deque<PageId> waiting_;       // may be ready; what has no room is found by a sweep
  std::vector<tree::FileId> files_;  // of pages that may be
  std::set<PageId> at_;              // pages that are being followed
  std::int64_t sweeps_ = 0;          // that were begun
  bool sweeping_ = true;             // without a pause, to the last page
  PageId swept_;                     // so far
  net::Instant sweep_at_{};          // the next piece of it
  std::set<tree::JobId> may_end_;
  net::Instant end_at_{};  // they are looked at, where pages are still being followed
  std::map<std::string, Site> sites_;
  net::Event changed_;
};

}  // namespace quern::crawl
