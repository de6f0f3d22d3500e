#include "crawl/list.h"

#include <fmt/format.h>

#include "crawl/fetching.h"
#include "crawl/page_row.h"

namespace quern::crawl {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kPages{
    "SELECT " QUERN_PAGE
    " FROM page AS p WHERE p.job = $1 AND p.id > $2 AND ($3 = 0 OR p.state = $3)"
    " AND ($4 = 0 OR p.site = $4) AND ($5 = '' OR p.why_kind = $5) ORDER BY p.id LIMIT $6"};
constexpr Sql kCollection{"SELECT id FROM collection WHERE name = $1"};

Result<std::optional<Crawl>> newest_crawl(Tx& tx, const std::string& collection) {
  TRY_ASSIGN(const std::vector<tree::JobId> jobs, list_crawls(tx, collection, 0, 1));
  if (jobs.empty()) return std::optional<Crawl>();
  TRY_ASSIGN(Crawl crawl, load_crawl(tx, jobs[0]));
  return std::optional<Crawl>(std::move(crawl));
}

Result<> tell_page(Tx& tx, const Page& page, UrlStory& story) {
  story.page = page;
  story.in = page.state == PageState::In;
  switch (page.state) {
    case PageState::Waiting:
      story.verdict = "It waits to be fetched.";
      break;
    case PageState::Fetched:
      story.verdict = "It was fetched, and is being read.";
      break;
    case PageState::In:
      story.verdict = "It is in the collection.";
      break;
    case PageState::Out:
      story.verdict = fmt::format("It is not in: {}.", page.why);
      break;
  }
  story.facts.push_back(fmt::format("It was found as a {}, {} {} from the first page.", page.source,
                                    page.depth, page.depth == 1 ? "link" : "links"));
  if (page.referrer) {
    const Result<Page> from = load_page(tx, *page.referrer);
    if (from.ok()) story.facts.push_back(fmt::format("It was found on {}.", from->url));
  }
  if (page.status > 0) story.facts.push_back(fmt::format("Its server answered {}.", page.status));
  return {};
}

Result<> tell_robots(Tx& tx, const web::Url& url, UrlStory& story) {
  TRY_ASSIGN(const auto site, find_site(tx, web::site_of(url)));
  if (!site || !site->robots) return {};
  const web::Robots robots = PageFetcher::robots_of(*site->robots, "quern");
  const web::RobotsVerdict verdict = robots.check(url.target());
  story.facts.push_back(verdict.allowed
                            ? "The site's robots.txt allows it."
                            : fmt::format("The site's robots.txt does not allow it: line {}, {}.",
                                          verdict.line, verdict.rule));
  return {};
}

}  // namespace

Result<std::vector<Page>> list_pages(Tx& tx, const PageFilter& filter) {
  std::int64_t site = 0;
  if (!filter.site.empty()) {
    TRY_ASSIGN(const auto found, find_site(tx, filter.site));
    if (!found) return Error{Errc::Missing, fmt::format("there is no site '{}'", filter.site)};
    site = found->id.value;
  }
  const int state = filter.state ? static_cast<int>(*filter.state) : 0;
  TRY_ASSIGN(const Rows rows, tx.query(kPages, filter.job.value_or(tree::JobId{}), filter.after,
                                       state, site, filter.kind, filter.limit));
  std::vector<Page> pages;
  for (const Row row : rows) pages.push_back(page_of(row));
  return pages;
}

Result<UrlStory> explain_url(Tx& tx, const std::string& collection, const std::string& given,
                             int year_now) {
  TRY_ASSIGN(const web::Url parsed, web::Url::parse(given));
  if (!parsed.is_web()) return Error{Errc::Invalid, "that is no address of the web"};
  const web::Url url = web::canonical_url(parsed);
  UrlStory story;
  story.url = url.href();
  TRY_ASSIGN(const auto id, tx.find_value<tree::CollectionId>(kCollection, collection));
  if (!id) return Error{Errc::Missing, fmt::format("there is no collection '{}'", collection)};
  TRY_ASSIGN(const std::optional<Page> page, find_page(tx, *id, story.url));
  if (page) {
    TRY(tell_page(tx, *page, story));
    TRY(tell_robots(tx, url, story));
    return story;
  }
  TRY_ASSIGN(const std::optional<Crawl> crawl, newest_crawl(tx, collection));
  if (!crawl) {
    story.verdict = "Nothing was crawled into this collection.";
    return story;
  }
  const Judgement judged = crawl->scope->judge(url, 0, year_now);
  if (!judged.in) {
    story.verdict = fmt::format("It is not in: {}.", judged.why);
  } else {
    TRY_ASSIGN(const CrawlSums sums, load_sums(tx, crawl->job));
    const std::int64_t limit = crawl->order->pages_max;
    story.verdict = sums.admitted < limit
                        ? "It is not in: no page that was crawled links to it."
                        : fmt::format("It is not in: the crawl had its limit of {} pages.", limit);
  }
  TRY(tell_robots(tx, url, story));
  return story;
}

}  // namespace quern::crawl
