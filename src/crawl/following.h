// Follower: sees to pages that were fetched: what they link to is admitted, what they were before
// goes, and they are in or out. And ends crawls that have nothing left to do.
//
// Any server may follow any page: it needs no ownership, for each step is a transaction behind the
// lock of a site, and done again changes nothing. A page is closed last, so nothing is forgotten
// when somebody dies on the way.
//
// Threads: the loop's, except poke(). Lifetime: stop() before its parts go.
#pragma once

#include <atomic>
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

struct FollowingParts {
  net::Loop& loop;
  store::Writer& writer;
  store::Readers& readers;
  io::Pool& pool;
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
  // Something may be ready. Any thread; cheap.
  void poke();

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
  static net::Task<> follow_one(std::shared_ptr<Follower> self, ReadyPage ready);
  net::Task<Result<bool>> look();
  bool begin_some(ReadyPages ready);
  net::Task<Result<>> follow(const ReadyPage& ready);
  net::Task<Result<>> settle(const ReadyPage& ready, const Site& site, const FoundLinks& found,
                             bool canonical_is_good);
  net::Task<Result<Site>> site_named(const std::string& name, std::int64_t at_once);
  net::Task<Result<bool>> drop_unmet(tree::JobId job);
  net::Task<> end_some();

  FollowingParts parts_;
  const net::Loop::Remote remote_;
  std::atomic<bool> poked_{false};
  // The loop's thread only:
  bool running_ = false;
  bool stopping_ = false;
  std::set<PageId> at_;  // pages that are being followed
  PageId further_;       // so far behind the first ones it was looked
  std::set<tree::JobId> may_end_;
  std::map<std::string, Site> sites_;
  net::Event changed_;
};

}  // namespace quern::crawl
