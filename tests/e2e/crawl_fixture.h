// For end-to-end tests of crawling: the real server, the test site, and what became of its pages.
#pragma once

#include <fmt/format.h>

#include <set>

#include "e2e/search_fixture.h"
#include "support/test_site.h"

namespace quern::e2e {

using Targets = std::set<std::string>;
using support::SiteExpected;
using support::SiteRequest;

// A crawl of hundreds of pages on a loaded machine.
inline constexpr std::chrono::milliseconds kCrawlPatience{240'000};

inline bool in_time(const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + kCrawlPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

// What is asked of the host, without its robots.txt.
inline Targets targets_of(const std::vector<SiteRequest>& requests) {
  Targets all;
  for (const SiteRequest& request : requests) {
    if (request.target != "/robots.txt") all.insert(request.target);
  }
  return all;
}

class CrawlTest : public ServedTest {
 protected:
  using Json = boost::json::object;

  // Nothing is served before serve(): each test says with what.
  void SetUp() override {}

  support::Environment environment(const support::Environment& more = {}) const {
    support::Environment all = site_.environment();
    all.insert(all.end(), {{"QUERN_ALLOW_PRIVATE", "*"},
                           {"QUERN_LEASE", "1"},  // a dead server's sites are taken over soon
                           {"QUERN_SCAN", "50"},
                           {"QUERN_FREE_MIN", "0"},
                           {"QUERN_SEARCH_SETTLE", "100"},
                           {"QUERN_SEARCH_DELAY", "200"}});
    for (const auto& setting : more) {
      std::erase_if(all, [&](const auto& old) { return old.first == setting.first; });
      all.push_back(setting);
    }
    return all;
  }
  void serve(const support::Environment& more = {}) {
    server_ = folder_.start({"serve", "--listen", "127.0.0.1:0"}, environment(more));
    const auto line = server_->wait_for_line(support::Output::Standard, "http://");
    CHECK_OK(line);
    address_ = line->substr(line->find("http://"));
  }
  // SIGKILL, and up again on the same folder.
  void kill_and_restart(const support::Environment& more = {}) {
    server_->kill();
    serve(more);
  }

  // -- crawls --

  // Without a gap, unless `more` says otherwise. Returns its job.
  std::int64_t begin(const Names& urls, const Json& more = {}) {
    Json order{{"urls", boost::json::array(urls.begin(), urls.end())}, {"delay", 0}};
    for (const auto& [key, value] : more) order[key] = value;
    const net::Response answer = post("/api/v1/crawls", boost::json::serialize(order));
    EXPECT_EQ(answer.status, 201) << answer.body;
    if (answer.status != 201) return 0;
    return boost::json::parse(answer.body).at("job").as_int64();
  }
  bool ends(std::int64_t job) {
    return in_time([&] {
      const std::string state = field(get_json(fmt::format("/api/v1/jobs/{}", job)), "state");
      return state == "done" || state == "canceled";
    });
  }
  std::int64_t crawl(const Names& urls, const Json& more = {}) {
    const std::int64_t job = begin(urls, more);
    EXPECT_TRUE(job > 0 && ends(job)) << shown(job);
    return job;
  }
  Json crawl_json(std::int64_t job) { return get_json(fmt::format("/api/v1/crawls/{}", job)); }
  std::string shown(std::int64_t job) { return boost::json::serialize(crawl_json(job)); }
  std::int64_t sum(std::int64_t job, const char* what) {
    return crawl_json(job).at("pages").at(what).as_int64();
  }

  // -- pages --

  // `more`: further parameters, "state=in".
  std::vector<Json> pages(std::int64_t job, const std::string& more = "") {
    std::vector<Json> all;
    std::string after;
    for (;;) {
      const Json page = get_json(fmt::format("/api/v1/crawls/{}/pages?{}{}", job, more, after));
      if (!page.contains("items")) return all;
      for (const auto& item : page.at("items").as_array()) all.push_back(item.as_object());
      const boost::json::value* next = page.if_contains("next");
      if (next == nullptr || next->is_null()) return all;
      after = "&after=" + boost::json::serialize(*next);
    }
  }
  // Targets of a host that are in.
  Targets targets_in(std::int64_t job, const std::string& host) {
    const std::string origin = "http://" + host;
    Targets all;
    for (const Json& page : pages(job, "state=in")) {
      const std::string url = field(page, "url");
      if (url.starts_with(origin + "/")) all.insert(url.substr(origin.size()));
    }
    return all;
  }
  Json explained(const std::string& url, const std::string& collection = "default") {
    std::string target = "/api/v1/explain-url";
    net::append_query(target, "url", url);
    net::append_query(target, "collection", collection);
    return get_json(target);
  }
  std::vector<Json> captures(const std::string& url) {
    std::string target = "/api/v1/captures";
    net::append_query(target, "url", url);
    return items(target);
  }
  // The first page of a list.
  std::vector<Json> items(const std::string& target) {
    std::vector<Json> all;
    const Json page = get_json(target);
    if (!page.contains("items")) return all;
    for (const auto& item : page.at("items").as_array()) all.push_back(item.as_object());
    return all;
  }

  // -- messages --

  // To INDEX. Returns its name.
  std::string tell(const Json& message) {
    const net::Response answer =
        post("/api/v1/queues/INDEX/messages", boost::json::serialize(message));
    EXPECT_EQ(answer.status, 202) << answer.body;
    return field(boost::json::parse(answer.body).as_object(), "message");
  }
  // All that were told are done with; of each its status.
  std::map<std::string, std::string> told() {
    std::map<std::string, std::string> statuses;
    EXPECT_TRUE(in_time([&] {
      bool done = true;
      for (const Json& one : items("/api/v1/queues/INDEX/messages?limit=100")) {
        const std::string status = field(one, "status");
        statuses[field(one, "message")] = status;
        done = done && (status == "complete" || status == "failed");
      }
      return done;
    }));
    return statuses;
  }
  // No crawl runs any more.
  bool is_quiet() {
    return in_time([&] {
      for (const Json& one : items("/api/v1/crawls?limit=100")) {
        if (!one.at("ended").as_bool()) return false;
      }
      return true;
    });
  }

  // -- what is found --

  // With everything that is ingested by now.
  Names found(const std::string& words, const std::string& more = "") {
    return sorted(names_of(get_json(question(words, "&fresh=60000&limit=100" + more))));
  }
  std::vector<Json> documents(const std::string& collection = "default") {
    std::string target = "/api/v1/documents?text=1&limit=200";
    net::append_query(target, "collection", collection);
    return items(target);
  }
  void expect_clean() {
    const support::Ran ran = folder_.run({"check"}, environment());
    EXPECT_EQ(ran.status.code, 0) << ran.standard_output << ran.standard_error;
  }

  // -- the site --

  Targets asked(const std::string& host, std::int64_t since = 0) {
    return targets_of(site_.log(since, host));
  }
  std::int64_t asked_so_far() { return static_cast<std::int64_t>(site_.log().size()); }
  int times(const std::string& host, const std::string& target, std::int64_t since = 0) {
    int all = 0;
    for (const SiteRequest& request : site_.log(since, host)) all += request.target == target;
    return all;
  }

  support::TestSite site_;
};

}  // namespace quern::e2e
