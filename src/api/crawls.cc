// /api/v1/crawls: sites that are brought in, their pages, and why an address is in or out.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <chrono>

#include "api/await.h"
#include "api/job_json.h"
#include "api/request.h"
#include "api/service.h"
#include "crawl/list.h"
#include "crawl/service.h"
#include "fileset/show.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using crawl::Crawl;
using crawl::Page;
using store::Tx;

struct Shown {
  Crawl crawl;
  crawl::CrawlSums sums;
  tree::Job job;
};

json::object sums_json(const crawl::CrawlSums& sums) {
  return {{"admitted", sums.admitted},   {"open", sums.open},
          {"in", sums.inside},           {"out", sums.admitted - sums.open - sums.inside},
          {"unchanged", sums.unchanged}, {"failed", sums.failed}};
}

json::object crawl_json(const Parts& parts, const Shown& shown) {
  const crawl::CrawlOrder& order = *shown.crawl.order;
  json::object out = to_json(parts, shown.job);
  out["urls"] = json::array(order.urls.begin(), order.urls.end());
  out["scope"] = order.scope;
  out["delay"] = static_cast<double>(order.delay_ms) / 1000;
  out["period"] = order.period_s;
  out["whole"] = order.whole;
  out["max_pages"] = order.pages_max;
  out["max_depth"] = order.depth_max;
  out["pages"] = sums_json(shown.sums);
  out["sites"] = shown.sums.sites;
  out["fetched_bytes"] = shown.sums.bytes;
  out["ended"] = shown.crawl.ended;
  return out;
}

json::object page_json(const Page& page) {
  json::object out{{"page", page.id.value},
                   {"url", page.url},
                   {"state", json::string(crawl::to_string(page.state))},
                   {"depth", page.depth},
                   {"source", page.source},
                   {"status", page.status},
                   {"type", page.type}};
  if (!page.why.empty()) out["why"] = page.why;
  if (!page.why_kind.empty()) out["why_kind"] = page.why_kind;
  if (page.file) out["file"] = page.file->value;
  if (page.fetched_us > 0) out["fetched_us"] = page.fetched_us;
  if (page.next_us > 0) out["next_us"] = page.next_us;
  return out;
}

Result<Shown> load_shown(Tx& tx, tree::JobId id) {
  TRY_ASSIGN(tree::Job job, tree::load_job(tx, id));
  TRY_ASSIGN(Crawl crawl, crawl::load_crawl(tx, id));
  TRY_ASSIGN(const crawl::CrawlSums sums, crawl::load_sums(tx, id));
  return Shown{std::move(crawl), sums, std::move(job)};
}

net::Task<Result<>> create(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const std::string text, co_await call.exchange.read_all(kJsonBodyBytesMax));
  CO_TRY_ASSIGN(const crawl::CrawlOrder order, crawl::parse_order(text));
  if (!order.archive.empty()) {
    co_return Error{Errc::Invalid,
                    "archives are read by /api/v1/collections/{collection}/archives"};
  }
  CO_TRY(expect_within(call.caller, order.collection));
  CO_TRY_ASSIGN(const tree::Job job, co_await parts->crawl->begin(order));
  auto load = [id = job.id](Tx& tx) { return load_shown(tx, id); };
  CO_TRY_ASSIGN(const Shown shown, co_await read(parts->loop, parts->readers, load));
  const std::string answer = json::serialize(crawl_json(*parts, shown));
  co_return co_await call.exchange.respond(net::json_response(201, answer));
}

net::Task<Result<>> list(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const std::string collection = parameters.text("collection");
  const std::int64_t before = parameters.number("before").value_or(0);
  const std::size_t limit = parameters.limit(crawl::kCrawlsListed);
  CO_TRY(parameters.finish());
  auto load = [=](Tx& tx) -> Result<std::vector<Shown>> {
    TRY_ASSIGN(const std::vector<tree::JobId> jobs,
               crawl::list_crawls(tx, collection, before, limit));
    std::vector<Shown> all;
    for (const tree::JobId job : jobs) {
      TRY_ASSIGN(Shown one, load_shown(tx, job));
      all.push_back(std::move(one));
    }
    return all;
  };
  CO_TRY_ASSIGN(const std::vector<Shown> all,
                co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  for (const Shown& one : all) items.push_back(crawl_json(*parts, one));
  std::optional<json::value> next;
  if (all.size() == limit) next = all.back().job.id.value;
  co_return co_await call.exchange.respond(page_response(std::move(items), std::move(next)));
}

net::Task<Result<>> show(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const auto id, parse_id<tree::JobId>("job", call.values[0]));
  auto load = [id](Tx& tx) { return load_shown(tx, id); };
  CO_TRY_ASSIGN(const Shown shown, co_await read(parts->loop, parts->readers, load));
  const std::string answer = json::serialize(crawl_json(*parts, shown));
  co_return co_await call.exchange.respond(net::json_response(200, answer));
}

json::object site_json(const crawl::SiteSums& one) {
  json::object out{
      {"site", one.site.name}, {"pages", sums_json(one.sums)}, {"fetched_bytes", one.sums.bytes}};
  if (one.site.not_before_us > 0) out["not_before_us"] = one.site.not_before_us;
  if (one.site.robots) {
    out["robots"] = json::object{{"status", one.site.robots->status},
                                 {"bytes", one.site.robots->text.size()},
                                 {"at_us", one.site.robots->at_us}};
  }
  return out;
}

net::Task<Result<>> list_sites(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const auto id, parse_id<tree::JobId>("job", call.values[0]));
  Parameters parameters(call.target);
  const std::string after = parameters.text("after");
  const std::size_t limit = parameters.limit(tree::kListMax);
  CO_TRY(parameters.finish());
  auto load = [=](Tx& tx) { return crawl::list_sites(tx, id, after, limit); };
  CO_TRY_ASSIGN(const std::vector<crawl::SiteSums> sites,
                co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  for (const crawl::SiteSums& one : sites) items.push_back(site_json(one));
  std::optional<json::value> next;
  if (sites.size() == limit) next = json::string(sites.back().site.name);
  co_return co_await call.exchange.respond(page_response(std::move(items), std::move(next)));
}

Result<crawl::PageFilter> parse_filter(const net::Target& target, tree::JobId job) {
  Parameters parameters(target);
  crawl::PageFilter filter;
  filter.job = job;
  filter.site = parameters.text("site");
  filter.kind = parameters.text("why");
  const std::string state = parameters.text("state");
  for (const auto known : {crawl::PageState::Waiting, crawl::PageState::Fetched,
                           crawl::PageState::In, crawl::PageState::Out}) {
    if (state == crawl::to_string(known)) filter.state = known;
  }
  if (!state.empty() && !filter.state) {
    parameters.refuse({Errc::Invalid, "'state' is waiting, fetched, in or out"});
  }
  filter.after.value = parameters.number("after").value_or(0);
  filter.limit = parameters.limit(tree::kListMax);
  TRY(parameters.finish());
  return filter;
}

net::Task<Result<>> list_pages(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const auto id, parse_id<tree::JobId>("job", call.values[0]));
  CO_TRY_ASSIGN(const crawl::PageFilter filter, parse_filter(call.target, id));
  auto load = [filter](Tx& tx) { return crawl::list_pages(tx, filter); };
  CO_TRY_ASSIGN(const std::vector<Page> pages,
                co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  for (const Page& page : pages) items.push_back(page_json(page));
  std::optional<json::value> next;
  if (pages.size() == filter.limit) next = pages.back().id.value;
  co_return co_await call.exchange.respond(page_response(std::move(items), std::move(next)));
}

int year_now() {
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  return static_cast<int>(std::chrono::year_month_day(today).year());
}

// What an address has to do with datasets: nothing, mostly.
struct DatasetStory {
  std::optional<tree::JobId> job;
  std::vector<std::string> says;
};

Result<DatasetStory> explain_dataset(Tx& tx, const std::string& collection,
                                     const std::string& url) {
  DatasetStory story;
  TRY_ASSIGN(story.job, fileset::find_last(tx, collection, url));
  if (!story.job) return story;
  TRY_ASSIGN(const fileset::Shown shown, fileset::load_shown(tx, *story.job));
  story.says = explain(shown);
  return story;
}

net::Task<Result<>> explain(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const std::string url = parameters.text("url");
  std::string collection = parameters.text("collection");
  if (collection.empty()) collection = kDefaultCollection;
  CO_TRY(parameters.finish());
  auto load = [=](Tx& tx) { return crawl::explain_url(tx, collection, url, year_now()); };
  CO_TRY_ASSIGN(const crawl::UrlStory story,
                co_await read(parts->loop, parts->readers, std::move(load)));
  json::object out{{"url", story.url},
                   {"collection", collection},
                   {"in", story.in},
                   {"verdict", story.verdict},
                   {"facts", json::array(story.facts.begin(), story.facts.end())}};
  if (story.page) out["page"] = page_json(*story.page);
  auto load_dataset = [=](Tx& tx) { return explain_dataset(tx, collection, url); };
  CO_TRY_ASSIGN(const DatasetStory dataset,
                co_await read(parts->loop, parts->readers, std::move(load_dataset)));
  if (dataset.job) {
    out["dataset"] = dataset.job->value;
    if (!story.page) {
      out["verdict"] = fmt::format("it is a dataset: job {} (quern dataset show {} has its files)",
                                   *dataset.job, *dataset.job);
    }
    for (const std::string& fact : dataset.says) out["facts"].as_array().emplace_back(fact);
  }
  const std::string answer = json::serialize(out);
  co_return co_await call.exchange.respond(net::json_response(200, answer));
}

}  // namespace

void add_crawl_routes(Router& router, PartsPtr parts) {
  using net::Method;
  const auto bound = [&parts](auto handler) {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  router.add({Method::Post, "/api/v1/crawls",
              "Begins a crawl ({\"urls\":[…]}), or finds the one that runs just so.", bound(create),
              Needs::ByMethod, About::Handler});
  router.add({Method::Get, "/api/v1/crawls",
              "Crawls, the newest first (collection, before, limit).", bound(list), Needs::ByMethod,
              About::Query});
  router.add({Method::Get, "/api/v1/crawls/{job}", "A crawl: its order, its pages, how far it is.",
              bound(show)});
  router.add({Method::Get, "/api/v1/crawls/{job}/sites",
              "The sites of a crawl by name (after, limit).", bound(list_sites)});
  router.add({Method::Get, "/api/v1/crawls/{job}/pages",
              "Pages of a crawl (site, state, why, after, limit).", bound(list_pages)});
  router.add({Method::Get, "/api/v1/explain-url",
              "Why an address is in a collection, or is not (url, collection).", bound(explain),
              Needs::ByMethod, About::Query});
}

}  // namespace quern::api
