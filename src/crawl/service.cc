#include "crawl/service.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/log.h"
#include "blob/digest.h"
#include "crawl/archive_sweep.h"
#include "crawl/import.h"
#include "crawl/messages.h"
#include "io/file.h"
#include "queue/await.h"
#include "queue/message.h"
#include "queue/timer.h"

namespace quern::crawl {
namespace {

namespace json = boost::json;
using store::Tx;

constexpr std::int64_t kTimerPauseMs = 1000;
constexpr std::int64_t kPlanTickMs = 5000;
constexpr std::int64_t kPlanPauseMs = 600'000;
constexpr std::size_t kDueAtOnce = 100;
constexpr std::size_t kResumedAtOnce = 100;
constexpr int kJoinsMax = 5;
constexpr std::int64_t kSweepMs = 300'000;  // the archive, for what other servers removed
constexpr std::size_t kTimersKept = 1000;

std::string random_text() {
  std::uint64_t bits = 0;
  CHECK(::getrandom(&bits, sizeof bits, 0) == sizeof bits);
  return fmt::format("{:016x}", bits);
}

std::string short_hash(const std::string& text) {
  return blob::hex_of(blob::sha256_of(text)).substr(0, 16);
}

tree::NewJob job_for(const CrawlOrder& order, const std::string& name, std::int64_t shards) {
  tree::NewJob job;
  job.kind = "crawl";
  job.collection = order.collection;
  job.resumes = "crawl:" + name;
  job.key = job.resumes + ":" + random_text();
  job.source = order.urls.front().substr(0, tree::kSourceBytesMax);
  job.shards = shards;
  return job;
}

// Two orders that differ only in what they force are the same crawl.
std::string name_of(const CrawlOrder& order) {
  CrawlOrder plain = order;
  plain.force = false;
  return short_hash(to_json(plain));
}

std::map<std::string, std::vector<Candidate>> seeds_of(const CrawlOrder& order) {
  std::map<std::string, std::vector<Candidate>> by_site;
  for (const std::string& seed : order.urls) {
    const Result<web::Url> url = web::Url::parse(seed);
    if (!url.ok()) continue;
    Candidate candidate;
    candidate.url = url->href();
    candidate.source = "seed";
    by_site[web::site_of(*url)].push_back(std::move(candidate));
  }
  return by_site;
}

// Who asks for a page of a site with a plan changes neither its period nor its manners.
CrawlOrder within_plan(CrawlOrder plan, const CrawlOrder& asked) {
  const std::string& url = asked.urls.front();
  const bool begins = std::find(plan.urls.begin(), plan.urls.end(), url) != plan.urls.end();
  if (!asked.whole || !begins) plan.urls = asked.urls;
  plan.whole = asked.whole;
  plan.force = asked.force;
  return plan;
}

}  // namespace

std::string collection_of(const std::string& site) {
  std::string name = site.substr(site.find("://") == std::string::npos ? 0 : site.find("://") + 3);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '/' || c == '[' || c == ']'; },
      '-');
  return name;
}

Service::Service(ServiceParts parts, ServiceOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      crawls_(options_.limits.crawls_kept),
      changed_(parts_.loop) {
  warcs_ = parts_.data / "warcs";
  spool_ = parts_.data / "spool";
  web::Archives::Options archives{.folder = warcs_, .software = "quern"};
  archives.bytes_max = options_.warc_bytes_max;
  archives_ = std::make_shared<web::Archives>(std::move(archives));
  sweep_at_ = net::in_ms(kSweepMs);
}

Service::~Service() {
  if (pages_) pages_->cancel();
  fetcher_.reset();
}

Result<std::unique_ptr<Service>> Service::open(ServiceParts parts, ServiceOptions options) {
  std::unique_ptr<Service> service(new Service(std::move(parts), std::move(options)));
  TRY(service->mend_archive());
  return service;
}

// What a death left: files of jobs that were removed, and bytes behind the last record that is
// known.
Result<> Service::mend_archive() {
  TRY_ASSIGN(const bool there, io::path_exists(warcs_));
  if (!there) return {};
  TRY(crawl::sweep_archive({parts_.readers, *archives_, warcs_}));
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(warcs_, failed)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".warc.gz")) continue;
    TRY_ASSIGN(const auto end, parts_.readers.run([&name](Tx& tx) { return known_end(tx, name); }));
    // A file that we know nothing of may be somebody's only copy: it stays.
    if (!end) continue;
    const auto bytes = static_cast<std::int64_t>(entry.file_size(failed));
    if (!failed && *end == bytes) continue;
    const Result<> mended = web::Archive::cut_back(entry.path(), *end);
    if (mended.ok()) continue;
    const Errc kind = mended.error().kind();
    // Nobody writes to it again, and all else can still be had; `quern check` names it, too.
    if (kind == Errc::Corrupt)
      log_error("crawl.archive_damaged", {{"error", mended.error().message()}});
    // Busy: another server writes it.
    if (kind != Errc::Corrupt && kind != Errc::Busy) return mended;
  }
  return {};
}

Result<> Service::add_processors(queue::Processors& processors) {
  TRY(io::make_folders_durably(warcs_));
  TRY(io::make_folders_durably(spool_));
  web::FetcherOptions fetching;
  fetching.user_agent = options_.user_agent;
  fetching.spool = spool_;
  fetching.connect_to = options_.connect_to;
  fetching.ca_file = options_.ca_file;
  TRY_ASSIGN(fetcher_, web::Fetcher::open(std::move(fetching)));
  FollowingParts following{.loop = parts_.loop,
                           .writer = parts_.writer,
                           .readers = parts_.readers,
                           .pool = parts_.pool,
                           .crawls = crawls_,
                           .waiting_max = options_.limits.waiting_max,
                           .sites_kept = options_.limits.followed_sites_kept,
                           .agent = "quern",
                           .poke = parts_.poke,
                           .sealed = parts_.poke_job,
                           .reset_timer = [this](const Crawl& crawl) { reset_timer(crawl); },
                           .settled = [](const Page&, bool) {}};
  follower_ = std::make_shared<Follower>(std::move(following));
  FetchingParts pages{
      .loop = parts_.loop,
      .writer = parts_.writer,
      .readers = parts_.readers,
      .pool = parts_.pool,
      .blobs = parts_.blobs,
      .fetcher = *fetcher_,
      .sites_kept = options_.limits.fetched_sites_kept,
      .crawls = crawls_,
      .archive = [this](const Crawl& crawl) { return archives_->of(crawl.archive); },
      .agent = "quern",
      .allow_private = options_.allow_private,
      .decide = parts_.decide,
      .added = parts_.poke_job,
      .captured = {},
      .ready = [this](PageId page) { follower_->fetched(page); },
      .closed = [this](tree::JobId job) { follower_->may_have_ended({job}); }};
  pages.captured = [this](const CrawlOrder& order, const FetchRecord& record) {
    const Page& page = record.page;
    json::object event{{"url", page.url},
                       {"job", page.job.value},
                       {"collection", order.collection},
                       {"status", record.status},
                       {"page", page.id.value}};
    parts_.publish("page.captured", std::move(event));
  };
  pages_ = std::make_shared<PageFetcher>(std::move(pages));
  processors[kSiteKind] = pages_;
  const auto messages = make_message_processor(*this);
  processors[queue::kind_of_queue("INDEX")] = messages;
  processors[queue::kind_of_queue("CRAWL")] = messages;
  return {};
}

void Service::start() {
  if (!follower_) return;
  follower_->start();
  ++running_;
  parts_.loop.spawn("crawl.time", keep_time(this));
}

net::Task<> Service::stop() {
  stopping_ = true;
  changed_.notify_all();
  while (running_ > 0) co_await changed_.wait();
  if (pages_) pages_->cancel();
  if (follower_) co_await follower_->stop();
}

void Service::files_ingested(tree::JobId job, const std::vector<tree::IngestedFile>& files) {
  if (!follower_ || !crawls_.contains(job)) return;
  std::vector<tree::FileId> ids;
  for (const tree::IngestedFile& file : files) ids.push_back(file.id);
  follower_->read(ids);
}

void Service::jobs_changed(std::vector<tree::JobId> jobs) {
  if (!follower_) return;
  follower_->may_have_ended(jobs);
}

// -- beginning --

net::Task<Result<tree::Job>> Service::begin(CrawlOrder order) {
  auto due = [order](Tx& tx) -> Result<bool> {
    TRY(expect_due(tx, order));
    return true;
  };
  CO_TRY(co_await queue::read(parts_.loop, parts_.readers, std::move(due)));
  auto open = [open_job = parts_.open_job,
               wanted = job_for(order, name_of(order), options_.shards)] {
    return open_job(wanted);
  };
  CO_TRY_ASSIGN(const tree::Job job,
                co_await queue::offload(parts_.loop, parts_.pool, std::move(open)));
  auto note = [job, order](Tx& tx) -> Result<bool> {
    TRY(begin_crawl(tx, job, order));
    return true;
  };
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane({}), std::move(note)));
  // Who does no work leaves that to the next server: see resume().
  if (works()) begin_seeding(job.id, Begun::Now);
  co_return job;
}

// In the background, for an order may name thousands of sites. What fails, or has no room, is tried
// by resume(). One at a time of each.
void Service::begin_seeding(tree::JobId job, Begun begun) {
  if (stopping_ || seeding_.size() >= options_.limits.seeded_at_once ||
      !seeding_.insert(job).second)
    return;
  ++running_;
  parts_.loop.spawn("crawl.seed", seed_one(this, job, begun));
}

net::Task<> Service::seed_one(Service* self, tree::JobId id, Begun begun) {
  const Result<> done = co_await self->seed(id, begun);
  if (!done.ok()) {
    log_info("crawl.seed_later", {{"job", id.value}, {"error", done.error().message()}});
  }
  self->seeding_.erase(id);
  --self->running_;
  self->changed_.notify_all();
}

// Also again, after a death.
net::Task<Result<>> Service::seed(tree::JobId id, Begun begun) {
  auto load = [id, crawls = &crawls_](Tx& tx) { return crawls->load(tx, id); };
  CO_TRY_ASSIGN(const Crawl crawl, co_await queue::read(parts_.loop, parts_.readers, load));
  if (crawl.seeded || crawl.ended || crawl.canceled) co_return Result<>();
  if (!crawl.order->archive.empty()) {
    // Whoever began to read a file goes on with it, or the next server that starts here.
    if (begun == Begun::Before) begin_reading(id);
    co_return Result<>();
  }
  queue::SetTimer timer;
  timer.how = queue::SetTimer::How::Start;
  timer.key = crawl.order->collection;
  timer.timeout_us = kPackTimeoutUs;
  const json::object full{{"type", "pack_full"}, {"site", crawl.order->collection}};
  timer.callback_msg = json::serialize(full);
  CO_TRY(co_await set_timer(std::move(timer)));
  std::map<std::string, std::vector<Candidate>> seeds = seeds_of(*crawl.order);
  CO_TRY(co_await follower_->admit_all(crawl, seeds));
  auto done = [crawl, sites = std::move(seeds)](Tx& tx) -> Result<bool> {
    for (const auto& [name, candidates] : sites) {
      if (!crawl.order->whole) break;
      TRY_ASSIGN(const auto site, find_site(tx, name));
      if (site) TRY(put_plan(tx, crawl.collection, site->id, *crawl.order));
    }
    TRY(mark_seeded(tx, crawl.job));
    return true;
  };
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane({}), std::move(done)));
  follower_->may_have_ended({id});
  co_return Result<>();
}

net::Task<Result<tree::Job>> Service::import(std::string collection, std::filesystem::path file) {
  if (!works()) co_return Error{Errc::Unavailable, "this server does no work"};
  auto look = [file] { return first_address(file); };
  CO_TRY_ASSIGN(const std::string first,
                co_await queue::offload(parts_.loop, parts_.pool, std::move(look)));
  const json::object given{{"urls", json::array{json::string(first)}},
                           {"collection", collection},
                           {"whole", false},
                           {"archive", file.string()}};
  CO_TRY_ASSIGN(const CrawlOrder order, parse_order(json::serialize(given)));
  tree::NewJob wanted = job_for(order, name_of(order), options_.shards);
  wanted.source = file.string().substr(0, tree::kSourceBytesMax);
  auto open = [open_job = parts_.open_job, wanted] { return open_job(wanted); };
  CO_TRY_ASSIGN(const tree::Job job,
                co_await queue::offload(parts_.loop, parts_.pool, std::move(open)));
  auto note = [job, order](Tx& tx) -> Result<bool> {
    TRY(begin_crawl(tx, job, order));
    return true;
  };
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane({}), std::move(note)));
  begin_reading(job.id);
  co_return job;
}

// In the background; also again, after a death. One at a time of each.
void Service::begin_reading(tree::JobId job) {
  if (stopping_ || !reading_.insert(job).second) return;
  ++running_;
  parts_.loop.spawn("crawl.read", read_archive(this, job));
}

net::Task<> Service::read_archive(Service* self, tree::JobId id) {
  const Result<> done = co_await self->read_whole(id);
  if (!done.ok()) log_warn("crawl.archive", {{"job", id.value}, {"error", done.error().message()}});
  self->reading_.erase(id);
  --self->running_;
  self->changed_.notify_all();
}

net::Task<Result<>> Service::read_whole(tree::JobId id) {
  auto load = [id](Tx& tx) { return load_crawl(tx, id); };
  CO_TRY_ASSIGN(const Crawl crawl, co_await queue::read(parts_.loop, parts_.readers, load));
  if (crawl.seeded || crawl.ended || crawl.canceled) co_return Result<>();
  auto work = [this, crawl, archive = archives_->of(crawl.archive)] {
    const ImportParts parts{parts_.writer, parts_.readers, parts_.blobs, *archive,
                            spool_,        parts_.decide,  stopping_};
    return import_archive(parts, crawl, crawl.order->archive);
  };
  const Result<ImportCounts> done =
      co_await queue::offload(parts_.loop, parts_.pool, std::move(work));
  if (stopping_) co_return Error{Errc::Canceled, "the server is stopping"};
  // Whatever could be read is there: the crawl ends with it. What a death left of a file that has
  // gone since waits for nobody.
  if (!done.ok()) {
    CO_TRY(co_await follower_->cancel_open(crawl, "the archive could not be read to its end"));
  }
  auto seeded = [id](Tx& tx) -> Result<bool> {
    TRY(mark_seeded(tx, id));
    return true;
  };
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane({}), std::move(seeded)));
  parts_.poke_job(id);
  follower_->sweep();
  follower_->may_have_ended({id});
  if (!done.ok()) co_return done.error();
  co_return Result<>();
}

net::Task<Result<bool>> Service::ask_for(Single single) {
  const bool has_scheme = single.site.find("://") != std::string::npos;
  const std::string origin = has_scheme ? single.site : "https://" + single.site;
  CO_TRY_ASSIGN(const web::Url root, web::Url::parse(origin));
  CO_TRY_ASSIGN(const web::Url target,
                web::Url::parse(single.path.empty() ? "/" : single.path, root));
  if (!target.is_web()) co_return Error{Errc::Invalid, "the site is no host of the web"};
  const json::object given{{"urls", json::array{json::string(target.href())}},
                           {"collection", collection_of(web::site_of(target))},
                           {"whole", single.whole},
                           {"force", single.force}};
  CO_TRY_ASSIGN(const CrawlOrder plain, parse_order(json::serialize(given)));
  auto find = [plain, site = web::site_of(target)](Tx& tx) {
    return find_plan(tx, plain.collection, site);
  };
  CO_TRY_ASSIGN(const std::optional<CrawlOrder> plan,
                co_await queue::read(parts_.loop, parts_.readers, std::move(find)));
  const CrawlOrder order = plan ? within_plan(*plan, plain) : plain;
  if (single.whole) {
    CO_TRY(co_await begin(order));
    co_return true;
  }
  queue::SetTimer timer;
  timer.key = order.collection;
  timer.timeout_us = kPackTimeoutUs;
  CO_TRY(co_await set_timer(std::move(timer)));
  auto look = [order, site = web::site_of(target)](Tx& tx) { return load_known(tx, order, site); };
  CO_TRY_ASSIGN(const Known known,
                co_await queue::read(parts_.loop, parts_.readers, std::move(look)));
  if (!is_accepted({.force = single.force}, known)) co_return false;
  Candidate candidate;
  candidate.url = order.urls.front();
  candidate.source = "seed";
  candidate.want = single.want;
  candidate.again = true;
  candidate.only_due = !single.force;
  const std::map<std::string, std::vector<Candidate>> by_site{{web::site_of(target), {candidate}}};
  // A crawl of single pages that ends while we join it is another's; then we begin our own.
  for (int join = 0; join < kJoinsMax; ++join) {
    auto open = [open_job = parts_.open_job,
                 wanted = job_for(order, "one:" + short_hash(order.collection), options_.shards)] {
      return open_job(wanted);
    };
    CO_TRY_ASSIGN(const tree::Job job,
                  co_await queue::offload(parts_.loop, parts_.pool, std::move(open)));
    auto note = [job, order](Tx& tx) -> Result<Crawl> {
      TRY(begin_crawl(tx, job, order));
      return load_crawl(tx, job.id);
    };
    CO_TRY_ASSIGN(const Crawl crawl,
                  co_await queue::write(parts_.loop, parts_.writer.lane({}), std::move(note)));
    const Result<Admitted> admitted = co_await follower_->admit_all(crawl, by_site);
    if (!admitted.ok() && admitted.error().kind() == Errc::Conflict) continue;
    if (!admitted.ok()) co_return admitted.error();
    auto done = [id = job.id](Tx& tx) -> Result<bool> {
      TRY(mark_seeded(tx, id));
      return true;
    };
    CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane({}), std::move(done)));
    follower_->may_have_ended({job.id});
    co_return true;
  }
  co_return Error{Errc::Busy, "crawls end faster than they can be joined"};
}

// -- time --

net::Task<Result<>> Service::set_timer(queue::SetTimer set) {
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane({}), std::move(set)));
  parts_.poke_timers();
  co_return Result<>();
}

// Its document is ingested: the pack waits a little longer. At most once a second.
void Service::reset_timer(const Crawl& crawl) {
  const net::Instant long_since = net::in_ms(-kTimerPauseMs);
  if (timers_.size() >= kTimersKept) {
    std::erase_if(timers_, [=](const auto& entry) { return entry.second <= long_since; });
  }
  net::Instant& last = timers_[crawl.collection];
  if (long_since < last) return;
  last = net::in_ms(0);
  queue::SetTimer reset;
  reset.key = crawl.order->collection;
  reset.timeout_us = kPackTimeoutUs;
  queue::submit(parts_.loop, parts_.writer.lane({}), std::move(reset),
                [](const Result<std::int64_t>&) {});
}

net::Task<> Service::keep_time(Service* self) {
  while (!self->stopping_) {
    // Also what another server began, and left.
    const Result<> done = co_await self->resume();
    if (done.ok()) self->resumed_ = true;
    if (!done.ok()) log_info("crawl.resume_later", {{"error", done.error().message()}});
    const Result<> begun = co_await self->begin_due();
    if (!begun.ok()) log_info("crawl.plan_later", {{"error", begun.error().message()}});
    const Result<> swept = co_await self->sweep_in_time();
    if (!swept.ok()) log_info("crawl.sweep_later", {{"error", swept.error().message()}});
    if (self->stopping_) break;
    co_await self->changed_.wait(net::in_ms(kPlanTickMs));
  }
  --self->running_;
  self->changed_.notify_all();
}

// What a death left: crawls that are not seeded, and those that only had to be ended.
net::Task<Result<>> Service::resume() {
  tree::JobId after;
  while (!stopping_) {
    auto list = [after](Tx& tx) { return list_open(tx, after, kResumedAtOnce); };
    CO_TRY_ASSIGN(const std::vector<tree::JobId> jobs,
                  co_await queue::read(parts_.loop, parts_.readers, list));
    for (const tree::JobId job : jobs) {
      while (!stopping_ && seeding_.size() >= options_.limits.seeded_at_once)
        co_await changed_.wait();
      begin_seeding(job, resumed_ ? Begun::Now : Begun::Before);
      after = job;
    }
    follower_->may_have_ended(jobs);
    if (jobs.size() < kResumedAtOnce) break;
  }
  co_return Result<>();
}

net::Task<Result<>> Service::sweep_in_time() {
  if (net::in_ms(0) < sweep_at_) co_return Result<>();
  co_return co_await sweep_archive();
}

net::Task<Result<>> Service::sweep_archive() {
  sweep_at_ = net::in_ms(kSweepMs);
  auto sweep = [readers = &parts_.readers, archives = archives_, folder = warcs_] {
    return crawl::sweep_archive({*readers, *archives, folder});
  };
  CO_TRY_ASSIGN(const SweptArchive swept,
                co_await queue::offload(parts_.loop, parts_.pool, std::move(sweep)));
  if (swept.busy > 0) sweep_at_ = {};
  co_return Result<>();
}

// All of them: those that are tried in vain must not hide those behind them.
net::Task<Result<>> Service::begin_due() {
  const net::Instant long_since = net::in_ms(-kPlanPauseMs);
  std::erase_if(planned_, [=](const auto& entry) { return entry.second <= long_since; });
  std::optional<DuePlan> after;
  while (!stopping_) {
    auto list = [after](Tx& tx) { return list_due(tx, after, kDueAtOnce); };
    CO_TRY_ASSIGN(const std::vector<DuePlan> plans,
                  co_await queue::read(parts_.loop, parts_.readers, std::move(list)));
    for (const DuePlan& plan : plans) {
      if (stopping_) break;
      after = plan;
      const auto [last, first] =
          planned_.try_emplace(plan.order.collection + " " + plan.site, net::in_ms(0));
      if (!first) continue;
      const Result<tree::Job> job = co_await begin(plan.order);
      if (!job.ok()) log_info("crawl.plan_failed", {{"site", plan.site}});
    }
    if (plans.size() < kDueAtOnce) break;
  }
  co_return Result<>();
}

}  // namespace quern::crawl
