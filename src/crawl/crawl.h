// Crawls: jobs that bring in sites. A crawl has begun when its row stands, is seeded when all its
// first pages were admitted, and ends when none of its pages is open any more.
//
// Guarantee: a crawl ends exactly once, whoever dies on the way, and not before everything that it
// met was seen to. How: a page is closed only after what it links to was admitted; the end is
// decided in a transaction of its own, by everybody who has closed a page, and by every server that
// starts.
//
// Functions that take a Tx& run on the writer, or in a read where they only load.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "crawl/admission.h"
#include "crawl/order.h"
#include "crawl/page.h"

namespace quern::crawl {

inline constexpr std::size_t kCrawlsListed = 200;
// How the names of crawls' WARC files begin (web/archive_name.h).
inline constexpr char kArchiveKind[] = "quern";
// How long a collection must be quiet after a crawl before it is packed as a whole.
inline constexpr std::int64_t kPackTimeoutUs = 300'000'000;

struct CrawlSums {
  std::int64_t sites = 0;
  std::int64_t admitted = 0;
  std::int64_t open = 0;
  std::int64_t inside = 0;
  std::int64_t unchanged = 0;
  std::int64_t failed = 0;
  std::int64_t bytes = 0;
};

struct Crawl {
  tree::JobId job;
  tree::CollectionId collection;
  std::shared_ptr<const CrawlOrder> order;
  std::shared_ptr<const Scope> scope;  // of that order
  bool seeded = false;
  bool ended = false;
  bool canceled = false;  // of its job; or that is gone
  bool job_ended = false;
  std::vector<tree::ShardId> shards;
  std::string archive;  // prefix of its WARC files (web/archive_name.h)
};

// Changes nothing where it stands.
Result<> begin_crawl(store::Tx& tx, const tree::Job& job, const CrawlOrder& order);
Result<> mark_seeded(store::Tx& tx, tree::JobId job);
Result<Crawl> load_crawl(store::Tx& tx, tree::JobId job);  // Missing
Result<CrawlSums> load_sums(store::Tx& tx, tree::JobId job);

// Crawls for those who load one for each page: what never changes of them, an order with any number
// of addresses and the shards of its job, is read once. Any thread.
class CrawlCache {
 public:
  static constexpr std::size_t kKept = 1000;

  explicit CrawlCache(std::size_t kept = kKept) : kept_max_(kept) {}

  Result<Crawl> load(store::Tx& tx, tree::JobId job);  // as load_crawl()
  bool contains(tree::JobId job) const;

 private:
  struct Kept {
    std::shared_ptr<const CrawlOrder> order;
    std::shared_ptr<const Scope> scope;
    std::vector<tree::ShardId> shards;
  };
  std::optional<Kept> find(tree::JobId job) const;

  const std::size_t kept_max_;
  mutable std::mutex mutex_;
  std::map<tree::JobId, Kept> kept_;
};

// Those that have not ended, the oldest first; behind an id.
Result<std::vector<tree::JobId>> list_open(store::Tx& tx, tree::JobId after, std::size_t limit);
// The newest first, those with a smaller id than `before` (0: all), of a collection or of all.
Result<std::vector<tree::JobId>> list_crawls(store::Tx& tx, const std::string& collection,
                                             std::int64_t before, std::size_t limit);

// Not due: Conflict, with a sentence that says when it is.
Result<> expect_due(store::Tx& tx, const CrawlOrder& order);
// Of the first page of an order, on that site.
Result<Known> load_known(store::Tx& tx, const CrawlOrder& order, const std::string& site);
// The plans of the sites that an order begins at: how often, and with what order.
Result<> put_plan(store::Tx& tx, tree::CollectionId collection, SiteId site,
                  const CrawlOrder& order);
// The order that is repeated for a site of a collection, where one is.
Result<std::optional<CrawlOrder>> find_plan(store::Tx& tx, const std::string& collection,
                                            const std::string& site);
struct DuePlan {
  std::string site;
  CrawlOrder order;
  // Its place in the list.
  std::int64_t next_us = 0;
  SiteId id;
  tree::CollectionId collection;
};
// Behind a place; from the beginning on where that is none.
Result<std::vector<DuePlan>> list_due(store::Tx& tx, const std::optional<DuePlan>& after,
                                      std::size_t limit);

struct SiteSums {
  Site site;
  CrawlSums sums;
};
Result<std::vector<SiteSums>> list_sites(store::Tx& tx, tree::JobId job, const std::string& after,
                                         std::size_t limit);
// Pages that were in, of the sites that a whole crawl has been to, and that it did not meet.
struct Unmet {
  PageId page;
  queue::PartitionId partition;
  std::optional<tree::ShardId> shard;
};
Result<std::vector<Unmet>> list_unmet(store::Tx& tx, tree::JobId job, std::size_t limit);

// Ends it where nothing is open: its job is sealed, its sites are due again after their period.
// Whether it has ended, now or before.
Result<bool> end_crawl(store::Tx& tx, tree::JobId job);

// The names of WARC files and the last byte of each that a capture names.
Result<std::optional<std::int64_t>> known_end(store::Tx& tx, const std::string& warc);

}  // namespace quern::crawl
