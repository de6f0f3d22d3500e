#include "crawl/fetching.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/crash.h"
#include "base/log.h"
#include "base/utf8.h"
#include "crawl/capture.h"
#include "io/clock.h"
#include "queue/await.h"

namespace quern::crawl {
namespace {

namespace json = boost::json;
using queue::Outcome;
using store::Tx;

constexpr int kRobotsHopsMax = 5;
constexpr std::int64_t kRobotsMs = 60'000;

struct Order {
  PageId page;
  std::int64_t fetch = 0;
};
std::optional<Order> parse_item(const std::string& data) {
  boost::system::error_code failed;
  const json::value value = json::parse(data, failed);
  const json::object* object = failed ? nullptr : value.if_object();
  if (object == nullptr) return std::nullopt;
  const json::value* page = object->if_contains("page");
  const json::value* fetch = object->if_contains("fetch");
  if (page == nullptr || fetch == nullptr || !page->is_int64() || !fetch->is_int64()) return {};
  return Order{{page->get_int64()}, fetch->get_int64()};
}

// Any bytes may stand there; no store holds NUL.
std::string valid_robots_text(const std::string& bytes) {
  std::string text = valid_utf8(bytes);
  std::erase(text, '\0');
  return text;
}

}  // namespace

struct PageFetcher::Task {
  Page page;
  Site site;
  Crawl crawl;
  web::Url url;
  std::int64_t token = 0;
  std::int64_t tries = 1;
  std::int64_t now_us = 0;
  std::int64_t gap_ms = 0;
  web::AllowedHosts allowed;
  std::shared_ptr<const web::Robots> robots;
  std::optional<NewCapture> before;  // that has the page's bytes
  std::string refused;               // why its site may not be asked at all

  explicit Task(web::Url at) : url(std::move(at)) {}
  net::Instant not_before() const {
    return net::in_ms(std::max<std::int64_t>((site.not_before_us - now_us) / 1000, 0));
  }
};

// Why a page is not taken.
struct PageFetcher::Reason {
  std::string kind;
  std::string text;
  bool failed = false;
};

PageFetcher::PageFetcher(FetchingParts parts)
    : parts_(std::move(parts)),
      // A gate that is open long since is forgotten: there may be twice as many.
      gates_(parts_.loop, 2 * parts_.sites_kept),
      robots_came_(parts_.loop) {}

void PageFetcher::process(queue::Work work, queue::Answered answered) {
  parts_.loop.spawn("crawl.fetch", run(shared_from_this(), std::move(work), std::move(answered)));
}

void PageFetcher::cancel() {
  stopping_ = true;
  gates_.close();
  robots_came_.notify_all();
  parts_.fetcher.cancel_all();
}

net::Task<> PageFetcher::run(std::shared_ptr<PageFetcher> self, queue::Work work,
                             queue::Answered answered) {
  ++self->under_way_;
  Result<Outcome> outcome = co_await self->work_on(std::move(work));
  --self->under_way_;
  if (outcome.ok()) {
    answered(*std::move(outcome));
    co_return;
  }
  const Errc kind = outcome.error().kind();
  if (self->stopping_ || kind == Errc::Stale || kind == Errc::Canceled) {
    answered({.kind = Outcome::Kind::Canceled});
    co_return;
  }
  log_info("crawl.later", {{"error", outcome.error().message()}});
  // Nothing is wrong with the page: it goes back, and is tried again in a while.
  answered({.kind = Outcome::Kind::Refused, .delay_us = 2'000'000});
}

net::Task<Result<Outcome>> PageFetcher::work_on(queue::Work work) {
  const std::optional<Order> order = parse_item(work.item.data);
  if (!order) co_return Outcome::complete();
  CO_TRY_ASSIGN(web::Url nowhere, web::Url::parse("http://localhost/"));
  Task task(std::move(nowhere));
  task.token = work.token;
  task.tries = work.item.retry_count + 1;
  CO_TRY_ASSIGN(const bool wanted, co_await load(task, order->page, order->fetch));
  if (!wanted) co_return Outcome::complete();
  if (task.crawl.canceled) {
    const Reason why{"canceled", "the crawl was canceled", false};
    co_return co_await leave_out(task, why);
  }
  if (task.tries > 1 && is_dead(task.site.id)) {
    const Reason why{"fetch", "its site did not answer many times in a row", true};
    co_return co_await leave_out(task, why);
  }
  CO_TRY_ASSIGN(const bool known, co_await load_robots(task));
  if (!known) {
    if (stopping_) co_return Error{Errc::Canceled, "the server is stopping"};
    if (!task.refused.empty()) {
      const Reason why{"address", task.refused, true};
      co_return co_await leave_out(task, why);
    }
    const Reason why{"robots",
                     "the site's robots.txt cannot be had, so nobody knows what it allows", true};
    if (task.tries >= kTriesMax) co_return co_await leave_out(task, why);
    co_return Outcome::failed(why.text);
  }
  const web::RobotsVerdict verdict = task.robots->check(task.url.target());
  if (!verdict.allowed) {
    Reason why{"robots", "the site's robots.txt does not allow it", false};
    if (!verdict.rule.empty()) {
      why.text = fmt::format("line {} of the site's robots.txt: {}", verdict.line, verdict.rule);
    }
    co_return co_await leave_out(task, why);
  }
  co_return co_await fetch_page(task);
}

net::Task<Result<bool>> PageFetcher::load(Task& task, PageId id, std::int64_t fetch) {
  struct Loaded {
    Page page;
    Site site;
    std::optional<Crawl> crawl;
    std::optional<NewCapture> before;
    std::int64_t now_us = 0;
  };
  auto read = [id, crawls = &parts_.crawls](Tx& tx) -> Result<Loaded> {
    Loaded loaded;
    TRY_ASSIGN(loaded.page, load_page(tx, id));
    TRY_ASSIGN(loaded.site, load_site(tx, loaded.page.site));
    Result<Crawl> crawl = crawls->load(tx, loaded.page.job);
    if (crawl.ok()) loaded.crawl = *std::move(crawl);
    if (loaded.page.capture) {
      TRY_ASSIGN(loaded.before, find_capture(tx, *loaded.page.capture));
    }
    TRY_ASSIGN(loaded.now_us, tx.now_us());
    return loaded;
  };
  Result<Loaded> loaded = co_await queue::read(parts_.loop, parts_.readers, std::move(read));
  if (!loaded.ok() && loaded.error().kind() == Errc::Missing) co_return false;
  CO_TRY_ASSIGN(Loaded all, std::move(loaded));
  if (all.page.state != PageState::Waiting || all.page.fetch != fetch || !all.crawl) {
    co_return false;
  }
  CO_TRY_ASSIGN(task.url, web::Url::parse(all.page.url));
  task.page = std::move(all.page);
  task.site = std::move(all.site);
  task.crawl = *std::move(all.crawl);
  task.before = std::move(all.before);
  task.now_us = all.now_us;
  task.gap_ms = task.crawl.order->delay_ms;
  std::string allowed = task.crawl.order->allow_private;
  if (!parts_.allow_private.empty()) allowed += (allowed.empty() ? "" : ",") + parts_.allow_private;
  CO_TRY_ASSIGN(task.allowed, web::AllowedHosts::parse(allowed));
  co_return true;
}

// -- robots.txt --

web::Robots PageFetcher::robots_of(const RobotsFile& file, const std::string& agent) {
  if (file.status >= 200 && file.status < 300) return web::Robots::parse(file.text, agent);
  if (file.status >= 400 && file.status < 500) return web::Robots::allow_all();
  return web::Robots::disallow_all();
}

bool PageFetcher::has_robots(const Task& task) const {
  const auto kept = robots_.find(task.site.id);
  return kept != robots_.end() && kept->second.rules &&
         task.now_us - kept->second.at_us <= kRobotsUs;
}

net::Task<Result<bool>> PageFetcher::load_robots(Task& task) {
  Robots& kept = robots_[task.site.id];
  const std::optional<RobotsFile>& stored = task.site.robots;
  if (!kept.rules && stored) {
    kept = {std::make_shared<web::Robots>(robots_of(*stored, parts_.agent)), stored->at_us};
  }
  const auto asked = asked_.find(task.site.id);
  if (has_robots(task)) {
    task.robots = kept.rules;
  } else if (asked != asked_.end()) {
    // Whoever waited has the answer that came, also where it is not kept; where none did, the page
    // is tried again.
    const std::shared_ptr<const Asked> answer = asked->second;
    while (!stopping_ && !answer->done) co_await robots_came_.wait();
    task.robots = answer->rules;
    if (!task.robots) co_return false;
  } else {
    const auto answer = asked_[task.site.id] = std::make_shared<Asked>();
    const Result<bool> had = co_await fetch_robots(task);
    answer->rules = task.robots;
    answer->done = true;
    asked_.erase(task.site.id);
    robots_came_.notify_all();
    if (!had.ok() || !*had) co_return had;
    // The gap that it asks for begins with itself.
    const std::int64_t asked_ms = task.robots->crawl_delay_ms().value_or(0);
    gates_.hold(task.site.name, std::max(task.gap_ms, asked_ms));
  }
  const std::int64_t delay_ms = task.robots->crawl_delay_ms().value_or(0);
  task.gap_ms = std::max(task.gap_ms, delay_ms);
  if (robots_.size() > parts_.sites_kept) robots_.clear();
  co_return true;
}

// False where it could not be had: nothing may be fetched then.
net::Task<Result<bool>> PageFetcher::fetch_robots(Task& task) {
  CO_TRY_ASSIGN(web::Url url, web::Url::parse("/robots.txt", task.url));
  RobotsFile file;
  std::vector<NewCapture> captures;
  const std::shared_ptr<web::Archive> archive = parts_.archive(task.crawl);
  for (int hop = 0; hop <= kRobotsHopsMax; ++hop) {
    web::FetchOrder order(url);
    order.body_bytes_max = 4 * web::kRobotsBytesMax;
    order.total_ms = kRobotsMs;
    order.allowed = task.allowed;
    std::optional<web::Fetched> answer = co_await ask(task, std::move(order));
    if (!answer) co_return false;
    if (answer->problem == web::FetchProblem::Address) task.refused = answer->message;
    if (answer->problem == web::FetchProblem::None) {
      auto keep = [archive, at = url.href(), answer = *answer] {
        return archive_answer(at, answer, *archive);
      };
      CO_TRY_ASSIGN(NewCapture capture,
                    co_await queue::offload(parts_.loop, parts_.pool, std::move(keep)));
      captures.push_back(std::move(capture));
    }
    // Only as far as we read it.
    const bool cut = answer->problem == web::FetchProblem::TooLarge && answer->status == 200;
    if (answer->problem != web::FetchProblem::None && !cut) co_return false;
    file.status = answer->status;
    if (answer->status < 300 || answer->status >= 400) {
      if (answer->status >= 500) co_return false;
      Result<std::string> text = answer->body.whole(8 * web::kRobotsBytesMax);
      if (text.ok()) file.text = text->substr(0, web::kRobotsBytesMax);
      break;
    }
    Result<web::Url> next = web::Url::parse(web::find_header(answer->headers, "Location"), url);
    if (!next.ok() || !next->is_web() || hop == kRobotsHopsMax) {
      file.status = 404;  // RFC 9309: too many redirects are as good as none
      break;
    }
    url = *std::move(next);
  }
  file.text = valid_robots_text(file.text);
  file.at_us = task.now_us;
  auto keep =
      store::Fenced{store::Fence{task.site.partition.value, task.token},
                    [id = task.site.id, crawl = task.crawl.job, collection = task.crawl.collection,
                     captures, file](Tx& tx) -> Result<bool> {
                      // What it says of the site is good, also where the crawl is going.
                      const bool open = expect_open(tx, crawl).ok();
                      for (const NewCapture& capture : captures) {
                        if (open) TRY(add_capture(tx, collection, {}, capture));
                      }
                      TRY(store_robots(tx, id, file));
                      return true;
                    }};
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(task.site.partition)),
                               std::move(keep)));
  task.robots = std::make_shared<web::Robots>(robots_of(file, parts_.agent));
  robots_[task.site.id] = {task.robots, file.at_us};
  co_return true;
}

// -- asking --

// Until when a site asked to be left alone.
net::Task<Result<net::Instant>> PageFetcher::load_not_before(std::string name) {
  auto load = [name](Tx& tx) -> Result<std::int64_t> {
    TRY_ASSIGN(const auto site, find_site(tx, name));
    if (!site) return std::int64_t{0};
    TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
    return std::max<std::int64_t>((site->not_before_us - now_us) / 1000, 0);
  };
  CO_TRY_ASSIGN(const std::int64_t wait_ms,
                co_await queue::read(parts_.loop, parts_.readers, std::move(load)));
  co_return net::in_ms(wait_ms);
}

// Nothing where the server is stopping, or the store cannot be asked.
net::Task<std::optional<web::Fetched>> PageFetcher::ask(Task& task, web::FetchOrder order) {
  // A robots.txt may lead elsewhere.
  std::string site = web::site_of(order.url);
  const bool guest = site != task.site.name;
  net::Instant not_before = task.not_before();
  if (guest) {
    const Result<net::Instant> asked_for = co_await load_not_before(site);
    if (!asked_for.ok()) co_return std::nullopt;
    not_before = *asked_for;
  }
  const bool open =
      co_await gates_.enter(site, guest ? Gates::kGuest : task.token, task.gap_ms, not_before);
  if (!open) co_return std::nullopt;
  auto submit = [this, &order](net::Callback<web::Fetched> callback) {
    parts_.fetcher.fetch(std::move(order), callback);
  };
  web::Fetched fetched = co_await net::await_callback<web::Fetched>(parts_.loop, submit);
  gates_.leave(site, task.gap_ms);
  if (stopping_) co_return std::nullopt;
  note_answer(task.site.id, fetched.status > 0);
  co_return fetched;
}

bool PageFetcher::is_dead(SiteId site) const {
  const auto failures = failures_.find(site);
  return failures != failures_.end() && failures->second >= kDeadSiteFailures;
}

// Of sites that answer nothing is kept. Where too many do not, their counts begin anew.
void PageFetcher::note_answer(SiteId site, bool came) {
  if (came) {
    failures_.erase(site);
    return;
  }
  if (failures_.size() >= parts_.sites_kept && !failures_.contains(site)) failures_.clear();
  ++failures_[site];
}

net::Task<Result<Outcome>> PageFetcher::fetch_page(Task& task) {
  web::FetchOrder order(task.url);
  order.allowed = task.allowed;
  if (task.page.file && task.before) {
    if (!task.page.etag.empty()) order.headers.emplace_back("If-None-Match", task.page.etag);
    if (!task.page.last_modified.empty()) {
      order.headers.emplace_back("If-Modified-Since", task.page.last_modified);
    }
  }
  std::optional<web::Fetched> fetched = co_await ask(task, std::move(order));
  if (!fetched) co_return Error{Errc::Canceled, "the server is stopping"};
  crash_point("crawl.fetched");
  co_return co_await take(task, *std::move(fetched));
}

// -- what came --

net::Task<Result<Outcome>> PageFetcher::come_back(Task& task, const FetchPlan& plan) {
  Outcome outcome = Outcome::failed(plan.why);
  outcome.delay_us = plan.delay_s * 1'000'000;
  if (!plan.leave_alone || plan.delay_s == 0) co_return outcome;
  auto wait = store::Fenced{
      store::Fence{task.site.partition.value, task.token},
      [id = task.site.id, until_us = task.now_us + outcome.delay_us](Tx& tx) -> Result<bool> {
        TRY(leave_alone(tx, id, until_us));
        return true;
      }};
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(task.site.partition)),
                               wait));
  co_return outcome;
}

net::Task<Result<Outcome>> PageFetcher::take(Task& task, web::Fetched answer) {
  auto fetched = std::make_shared<web::Fetched>(std::move(answer));
  const FetchPlan plan = plan_fetch(task.page, *fetched, false, task.tries);
  if (plan.what == FetchPlan::Do::Again) co_return co_await come_back(task, plan);
  auto order = std::make_shared<TakeOrder>();
  order->page = task.page;
  order->before = task.before;
  order->job = task.crawl.job;
  const auto shards = static_cast<std::int64_t>(task.crawl.shards.size());
  order->shard = task.crawl.shards[static_cast<std::size_t>(task.page.id.value % shards)];
  order->tries = task.tries;
  order->period_us = task.crawl.order->period_s * 1'000'000;
  std::optional<Taken> taken;
  if (fetched->problem == web::FetchProblem::None) {
    auto work = [order, fetched, archive = parts_.archive(task.crawl), blobs = &parts_.blobs] {
      return take_in(*order, *fetched, *archive, *blobs);
    };
    CO_TRY_ASSIGN(taken, co_await queue::offload(parts_.loop, parts_.pool, std::move(work)));
    crash_point("crawl.stored");
  }
  FetchRecord record = record_of(*order, *fetched, std::move(taken), parts_.decide);
  co_return co_await this->record(task, std::move(record));
}

net::Task<Result<Outcome>> PageFetcher::leave_out(Task& task, const Reason& why) {
  FetchRecord record;
  record.page = task.page;
  record.why_kind = why.kind;
  record.why = why.text;
  record.failed = why.failed;
  record.gone = !why.failed && why.kind == "robots";
  co_return co_await this->record(task, std::move(record));
}

net::Task<Result<Outcome>> PageFetcher::record(Task& task, FetchRecord record) {
  store::Fence fence{task.site.partition.value, task.token};
  if (record.root) fence.also = record.root->shard.value;
  auto shared = std::make_shared<const FetchRecord>(std::move(record));
  auto write = store::Fenced{fence, [shared](Tx& tx) { return record_fetch(tx, *shared); }};
  Result<Recorded> written = co_await queue::write(
      parts_.loop, parts_.writer.lane(queue::lane_of(task.site.partition)), std::move(write));
  // A crawl that was sealed meanwhile takes no file: it was canceled or deleted.
  if (!written.ok() && written.error().kind() == Errc::Conflict && shared->root) {
    parts_.blobs.discard(shared->root->file.blob->place);
    const Reason why{"canceled", "the crawl was canceled", false};
    co_return co_await leave_out(task, why);
  }
  CO_TRY_ASSIGN(const Recorded done, std::move(written));
  if (done.root) {
    for (const std::string& place : done.root->orphans) parts_.blobs.discard(place);
    parts_.added(task.crawl.job);
  }
  if (shared->capture && !done.stale) parts_.captured(*task.crawl.order, *shared);
  if (!done.root && done.state == PageState::Fetched) parts_.ready(shared->page.id);
  if (done.state == PageState::Out) parts_.closed(task.crawl.job);
  co_return Outcome::complete();
}

}  // namespace quern::crawl
