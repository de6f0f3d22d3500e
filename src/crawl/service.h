// Service: crawls, on one server. It wires the fetcher, the archive, the processors of sites and of
// the queues INDEX and CRAWL, and whoever follows links and ends crawls.
//
// Threads: the loop's. Lifetime: stop() before its parts go.
#pragma once

#include <atomic>
#include <boost/json/object.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "crawl/admission.h"
#include "crawl/capture.h"
#include "crawl/fetching.h"
#include "crawl/following.h"
#include "queue/engine.h"
#include "queue/submit.h"
#include "queue/timer.h"
#include "tree/ingest.h"
#include "web/archives.h"

namespace quern::crawl {

struct ServiceParts {
  net::Loop& loop;
  store::Writer& writer;
  store::Readers& readers;
  io::Pool& pool;
  blob::BlobStore& blobs;
  std::filesystem::path data;
  Decide decide;
  std::function<Result<tree::Job>(const tree::NewJob&)> open_job;  // blocks
  std::function<void(tree::JobId)> poke_job;
  std::function<void(queue::PartitionId)> poke;
  std::function<void()> poke_timers;
  std::function<void(std::string_view, boost::json::object)> publish;
};

inline constexpr std::size_t kSeededAtOnce = 8;  // crawls

// What is kept in memory, and done at once: tests set less.
struct ServiceLimits {
  std::size_t crawls_kept = CrawlCache::kKept;
  std::size_t fetched_sites_kept = kFetchedSitesKept;
  std::size_t followed_sites_kept = kFollowedSitesKept;
  std::size_t waiting_max = kWaitingMax;
  std::size_t seeded_at_once = kSeededAtOnce;
};

struct ServiceOptions {
  std::string user_agent = "quern/0.1 (+https://example.org/quern; set QUERN_CONTACT)";
  std::string allow_private;  // for all crawls
  std::map<std::string, std::string> connect_to;
  std::string ca_file;
  std::int64_t shards = 1;
  std::int64_t warc_bytes_max = web::kWarcBytesMax;
  ServiceLimits limits;
};

class Service {
 public:
  static Result<std::unique_ptr<Service>> open(ServiceParts parts, ServiceOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // For a server that works; the others only show what there is.
  Result<> add_processors(queue::Processors& processors);
  void start();
  net::Task<> stop();
  // Files of a job were ingested, perhaps pages.
  void files_ingested(tree::JobId job, const std::vector<tree::IngestedFile>& files);
  // A job was canceled or deleted, perhaps a crawl.
  void jobs_changed(std::vector<tree::JobId> jobs);

  // Begins a crawl, or finds the one that runs just so. Conflict where it is not due.
  net::Task<Result<tree::Job>> begin(CrawlOrder order);
  // Reads archives of this machine's disk into a collection: a crawl that asks nobody.
  net::Task<Result<tree::Job>> import(std::string collection, std::filesystem::path file);
  // One page, or all from there on, for a site's own collection: what messages ask for.
  struct Single {
    std::string site;
    std::string path;
    int want = kIndex;
    bool force = false;
    bool whole = false;
  };
  net::Task<Result<bool>> ask_for(Single single);

  // WARC files of jobs that were removed go, of this server's folder (crawl/archive_sweep.h). What
  // is still being written goes a little later.
  net::Task<Result<>> sweep_archive();

  const std::filesystem::path& spool() const { return spool_; }
  const std::filesystem::path& warcs() const { return warcs_; }
  const std::shared_ptr<web::Archives>& archives() const { return archives_; }
  net::Loop& loop() const { return parts_.loop; }
  bool works() const { return follower_ != nullptr; }

 private:
  Service(ServiceParts parts, ServiceOptions options);
  Result<> mend_archive();
  enum class Begun { Now, Before };  // before: perhaps by a server that has died
  void begin_seeding(tree::JobId job, Begun begun);
  static net::Task<> seed_one(Service* self, tree::JobId job, Begun begun);
  net::Task<Result<>> seed(tree::JobId job, Begun begun);
  void begin_reading(tree::JobId job);
  static net::Task<> read_archive(Service* self, tree::JobId job);
  net::Task<Result<>> read_whole(tree::JobId job);
  net::Task<Result<>> resume();
  static net::Task<> keep_time(Service* self);
  net::Task<Result<>> begin_due();
  net::Task<Result<>> sweep_in_time();
  net::Task<Result<>> set_timer(queue::SetTimer set);
  void reset_timer(const Crawl& crawl);

  ServiceParts parts_;
  ServiceOptions options_;
  std::filesystem::path warcs_;
  std::filesystem::path spool_;
  std::shared_ptr<web::Archives> archives_;  // that are written to
  std::unique_ptr<web::Fetcher> fetcher_;
  CrawlCache crawls_;
  std::shared_ptr<PageFetcher> pages_;
  std::shared_ptr<Follower> follower_;
  std::map<tree::CollectionId, net::Instant> timers_;  // when they were reset last
  std::map<std::string, net::Instant> planned_;        // when a planned crawl was begun last
  std::atomic<bool> stopping_ = false;
  int running_ = 0;
  bool resumed_ = false;           // what a death left was looked at
  net::Instant sweep_at_{};        // the archive, the next time
  std::set<tree::JobId> reading_;  // archives
  std::set<tree::JobId> seeding_;
  net::Event changed_;
};

// The collection that a site has where nobody names one.
std::string collection_of(const std::string& site);

}  // namespace quern::crawl
