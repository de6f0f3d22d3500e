// PageFetcher: the processor of sites' partitions. An item is a page that waits for its fetch.
//
//   load -> robots.txt -> gate -> fetch -> archive, blob -> record, in one transaction -> done
//
// Guarantee: a page is fetched once for each time that it was admitted, but for what was in flight
// when a server died; what is recorded is archived, and nothing else is (web/archive.h). An item
// that comes again after its record only ends.
//
// Threads: the loop's; archive and blobs on a pool. Lifetime: stop() before its parts go.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "blob/blob.h"
#include "crawl/crawl.h"
#include "crawl/gates.h"
#include "crawl/plan.h"
#include "crawl/taking.h"
#include "io/pool.h"
#include "net/event.h"
#include "queue/processor.h"
#include "web/archive.h"
#include "web/robots.h"

namespace quern::crawl {

// So many requests in a row without an answer: what was tried before is not tried again.
inline constexpr std::int64_t kDeadSiteFailures = 20;

// Of so many sites is kept in memory what their robots.txt says, and that they do not answer.
inline constexpr std::size_t kFetchedSitesKept = 10'000;

struct FetchingParts {
  net::Loop& loop;
  store::Writer& writer;
  store::Readers& readers;
  io::Pool& pool;
  blob::BlobStore& blobs;
  web::Fetcher& fetcher;
  std::size_t sites_kept = kFetchedSitesKept;
  CrawlCache& crawls;
  std::function<std::shared_ptr<web::Archive>(const Crawl&)> archive;
  std::string agent = "quern";  // product token for robots.txt
  std::string allow_private;    // beside what an order allows
  Decide decide;
  // On the loop: a root was added to a job; a page was fetched; one may be ready that has no file.
  std::function<void(tree::JobId)> added;
  std::function<void(const CrawlOrder&, const FetchRecord&)> captured;
  std::function<void(PageId)> ready;
  std::function<void(tree::JobId)> closed;  // a page of its crawl is open no more
};

class PageFetcher final : public queue::Processor,
                          public std::enable_shared_from_this<PageFetcher> {
 public:
  explicit PageFetcher(FetchingParts parts);

  void process(queue::Work work, queue::Answered answered) override;
  void cancel() override;
  std::size_t under_way() const { return under_way_; }
  // What a site's robots.txt says, as far as it is known.
  static web::Robots robots_of(const RobotsFile& file, const std::string& agent);

 private:
  struct Task;
  struct Robots {
    std::shared_ptr<const web::Robots> rules;
    std::int64_t at_us = 0;
  };
  // What one asks for all.
  struct Asked {
    bool done = false;
    std::shared_ptr<const web::Robots> rules;  // none: it could not be had
  };
  struct Reason;

  static net::Task<> run(std::shared_ptr<PageFetcher> self, queue::Work work,
                         queue::Answered answered);
  net::Task<Result<queue::Outcome>> work_on(queue::Work work);
  net::Task<Result<bool>> load(Task& task, PageId page, std::int64_t fetch);
  net::Task<Result<bool>> load_robots(Task& task);
  net::Task<Result<bool>> fetch_robots(Task& task);
  bool has_robots(const Task& task) const;
  net::Task<Result<net::Instant>> load_not_before(std::string site);
  net::Task<std::optional<web::Fetched>> ask(Task& task, web::FetchOrder order);
  bool is_dead(SiteId site) const;
  void note_answer(SiteId site, bool came);
  net::Task<Result<queue::Outcome>> fetch_page(Task& task);
  net::Task<Result<queue::Outcome>> come_back(Task& task, const FetchPlan& plan);
  net::Task<Result<queue::Outcome>> take(Task& task, web::Fetched fetched);
  net::Task<Result<queue::Outcome>> record(Task& task, FetchRecord record);
  net::Task<Result<queue::Outcome>> leave_out(Task& task, const Reason& why);

  FetchingParts parts_;
  Gates gates_;
  bool stopping_ = false;
  std::size_t under_way_ = 0;
  std::map<SiteId, Robots> robots_;
  std::map<SiteId, std::shared_ptr<Asked>> asked_;  // for their robots.txt
  net::Event robots_came_;
  std::map<SiteId, std::int64_t> failures_;  // in a row, of sites that have not answered
};

}  // namespace quern::crawl
