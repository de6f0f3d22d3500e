#include "fileset/wayback.h"

#include <fmt/format.h>

#include <set>

#include "fileset/landing.h"
#include "net/target.h"

namespace quern::fileset {
namespace {

// A miss that is older is worth a new try.
constexpr std::string_view kOldMiss = "2019";

Capture capture_of(const CdxRow& row) {
  Capture capture;
  capture.terminal_url = row.url;
  capture.terminal_dt = row.datetime;
  capture.status_code = row.status.value_or(0);
  capture.cdx = to_json(row);
  return capture;
}

}  // namespace

net::Task<Resource> Wayback::find_page(const std::string& url, bool force_recrawl) {
  return page(url, force_recrawl);
}

net::Task<Resource> Wayback::page(std::string url, bool force_recrawl) {
  Resource found;
  if (!force_recrawl) {
    std::string wanted = url;
    Found place = co_await look_up(std::move(wanted), std::string());
    found = co_await page_of(std::move(place));
    if (found.status == "success") co_return found;
  }
  const std::string& datetime = found.capture.terminal_dt;
  const bool missed = found.status.empty() || found.status == "no-capture" ||
                      (!datetime.empty() && std::string_view(datetime) < kOldMiss);
  if (!missed) co_return found;
  if (!options_.spn_on) {
    if (found.status.empty()) {
      co_return failed_page("no-capture", "Save Page Now is off, and an old capture is not wanted",
                            url);
    }
    co_return found;
  }
  Found saved = co_await save(std::move(url));
  found = co_await page_of(std::move(saved));
  if (found.status == "wayback-error") found.status = "spn2-wayback-error";
  co_return found;
}

// The page that lies at a place of the index.
net::Task<Resource> Wayback::page_of(Found found) {
  Resource page;
  page.status = found.status;
  page.message = found.message;
  page.passing = found.passing;
  if (!found.row.datetime.empty()) page.capture = capture_of(found.row);
  if (page.capture.terminal_url.empty()) page.capture.terminal_url = found.url;
  if (found.status != "success") co_return page;
  CdxRow row = found.row;
  Content content = co_await read(std::move(row));
  if (content.status != "success") {
    page.status = content.status;
    page.message = content.message;
    page.passing = content.passing;
    co_return page;
  }
  std::string type = found.row.mimetype;
  if (content.original) {
    page.capture.revisit_cdx = std::move(page.capture.cdx);
    page.capture.cdx = to_json(*content.original);
    type = content.original->mimetype;
  }
  if (page.capture.status_code == 0) page.capture.status_code = content.http_status;
  page.body = std::move(content.body);
  finish_page(page, type);
  co_return page;
}

net::Task<Result<std::vector<CdxRow>>> Wayback::ask_cdx(CdxQuery query) {
  Ask ask;
  ask.url = options_.cdx;
  net::append_query(ask.url, "url", query.url);
  net::append_query(ask.url, "matchType", "exact");
  if (query.from.empty()) {
    // The oldest rows come first; a negative limit means the newest.
    const bool oldest = options_.compat == Compat::Strict;
    net::append_query(ask.url, "limit", std::to_string(oldest ? kCdxRowsAsked : -kCdxRowsAsked));
  } else {
    net::append_query(ask.url, "from", query.from);
    net::append_query(ask.url, "to", query.from);
    net::append_query(ask.url, "limit", std::to_string(kCdxRowsAsked));
  }
  if (!query.only_status.empty()) {
    net::append_query(ask.url, "filter", "statuscode:" + query.only_status);
  }
  net::append_query(ask.url, "output", "json");
  if (!options_.cdx_token.empty()) {
    ask.headers.emplace_back("Cookie", "cdx_auth_token=" + options_.cdx_token);
  }
  ask.tries = 3;
  const Answer answer = co_await outside_.ask(std::move(ask));
  if (answer.problem != web::FetchProblem::None) {
    co_return Error{Errc::Unavailable, "the index does not answer: " + answer.message};
  }
  // What an index that knows of rules says of an address that they forbid.
  if (answer.status == 404 || answer.status == 400) co_return std::vector<CdxRow>();
  if (answer.status != 200) {
    co_return Error{Errc::Unavailable, fmt::format("the index answered {}", answer.status)};
  }
  // No row at all may be no text at all.
  if (answer.body.find_first_not_of(" \r\n\t") == std::string::npos) {
    co_return std::vector<CdxRow>();
  }
  co_return parse_cdx_answer(answer.body, options_.compat);
}

// Along the redirects of the archive, to a row with content.
net::Task<Wayback::Found> Wayback::look_up(std::string url, std::string mimetype) {
  std::set<std::string> seen{url};
  Found found;
  for (int hop = 0; hop <= kWaybackHopsMax; ++hop) {
    found = {};
    found.url = url;
    CdxQuery query;
    query.url = url;
    const Result<std::vector<CdxRow>> rows = co_await ask_cdx(std::move(query));
    if (!rows.ok()) {
      co_await rest(loop_, outside_, options_.cdx_error_ms);
      found.status = "cdx-error";
      found.message = rows.error().message();
      found.passing = true;
      co_return found;
    }
    const CdxWish wish{url, mimetype, {}};
    const CdxRow* best = best_row(*rows, wish);
    if (best == nullptr) {
      found.status = "no-capture";
      found.message = "the archive has no capture of " + url;
      co_return found;
    }
    found.row = *best;
    // A revisit may not say its status: what it revisits does.
    if (best->is_content() || (best->is_revisit() && !best->status)) {
      found.status = "success";
      co_return found;
    }
    if (!best->is_redirect()) {
      found.status = "terminal-bad-status";
      found.message = fmt::format("the capture is an answer {}", best->status.value_or(0));
      co_return found;
    }
    CdxRow row = *best;
    const Content content = co_await read(std::move(row));
    if (content.status != "success") {
      found.status = content.status;
      found.message = content.message;
      found.passing = content.passing;
      co_return found;
    }
    const Result<web::Url> base = web::Url::parse(url);
    const Result<web::Url> next =
        base.ok() ? web::Url::parse(content.location, *base) : web::Url::parse(content.location);
    if (content.location.empty() || !next.ok()) {
      found.status = "bad-redirect";
      found.message = "a redirect leads nowhere: " + content.location;
      co_return found;
    }
    url = next->href();
    if (!seen.insert(url).second) {
      found.status = "redirect-loop";
      found.message = "redirects lead back to " + url;
      co_return found;
    }
  }
  found.status = "redirects-exceeded";
  found.message = fmt::format("more than {} redirects", kWaybackHopsMax);
  co_return found;
}

net::Task<Wayback::Found> Wayback::save(std::string url) {
  SavePageNow spn(loop_, outside_, options_.spn);
  std::string wanted = url;
  SpnAnswer answer = co_await spn.save(std::move(wanted));
  Found found;
  found.url = answer.url.empty() ? url : answer.url;
  if (answer.status != "success") {
    found.status = answer.status;
    found.message = answer.message;
    found.passing = answer.passing;
    co_return found;
  }
  found = co_await find_saved(std::move(answer.url), std::move(answer.datetime));
  co_return found;
}

// A new capture is in the index after some seconds.
net::Task<Wayback::Found> Wayback::find_saved(std::string url, std::string datetime) {
  Found found;
  found.url = url;
  found.status = "spn2-cdx-lookup-failure";
  found.message = "the new capture is not in the index yet";
  found.passing = true;
  const std::int64_t step_ms = std::max<std::int64_t>(options_.cdx_step_ms, 1);
  bool redirected = false;
  for (std::int64_t waited_ms = 0; waited_ms <= options_.cdx_retry_ms; waited_ms += step_ms) {
    CdxQuery query;
    query.url = url;
    query.from = datetime;
    if (redirected) query.only_status = "200";
    const Result<std::vector<CdxRow>> rows = co_await ask_cdx(std::move(query));
    if (!rows.ok()) {
      found.status = "cdx-error";
      found.message = rows.error().message();
      co_return found;
    }
    for (const CdxRow& row : *rows) {
      if (row.datetime != datetime || !same_page(row.url, url)) continue;
      if (row.is_redirect()) {
        redirected = true;
        continue;
      }
      found.row = row;
      found.passing = false;
      found.message.clear();
      const bool content = row.is_content() || (row.is_revisit() && !row.status);
      found.status = content ? "success" : "terminal-bad-status";
      if (content) co_return found;
    }
    if (found.status == "terminal-bad-status") {
      found.message = fmt::format("the capture is an answer {}", found.row.status.value_or(0));
      co_return found;
    }
    const bool open = co_await rest(loop_, outside_, step_ms);
    if (!open) co_return found;
  }
  co_return found;
}

}  // namespace quern::fileset
