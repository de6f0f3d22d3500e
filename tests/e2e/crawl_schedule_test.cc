// When pages are fetched: who is admitted, what becomes of failures and restarts, and how far apart
// a site's requests are.
#include <array>
#include <cstdio>

#include "e2e/crawl_fixture.h"

namespace quern::e2e {
namespace {

constexpr std::int64_t kHour = 3600;

// -- admission --

TEST_P(CrawlTest, A10_AdmissionFollowsTheTable) {
  enum class Known { No, Due, NotDue };
  struct Cell {
    bool whole;
    bool force;
    Known known;
    bool accepted;
  };
  const std::vector<Cell> cells = {
      {false, true, Known::No, true},     {false, true, Known::Due, true},
      {false, true, Known::NotDue, true}, {false, false, Known::No, true},
      {false, false, Known::Due, true},   {false, false, Known::NotDue, false},
      {true, true, Known::No, true},      {true, true, Known::Due, true},
      {true, true, Known::NotDue, true},  {true, false, Known::No, true},
      {true, false, Known::Due, true},    {true, false, Known::NotDue, false},
  };
  serve();
  site_.set("hosts", "pages", "1");
  const auto host_of = [](std::size_t cell) { return fmt::format("host{:04}.test", cell); };
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].known == Known::No) continue;
    const std::int64_t period = cells[i].known == Known::Due ? 0 : kHour;
    crawl({"http://" + host_of(i) + "/"}, {{"collection", host_of(i)}, {"period", period}});
  }
  const std::int64_t before = asked_so_far();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    tell({{"type", cells[i].whole ? "index+crawl" : "index"},
          {"site", "http://" + host_of(i)},
          {"force", cells[i].force}});
  }
  told();
  EXPECT_TRUE(is_quiet());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Targets expected = cells[i].accepted ? Targets{"/"} : Targets{};
    EXPECT_EQ(asked(host_of(i), before), expected)
        << "whole " << cells[i].whole << ", force " << cells[i].force << ", known "
        << static_cast<int>(cells[i].known);
  }
  expect_clean();
}

TEST_P(CrawlTest, A10_AnUnknownPageOfASiteThatIsNotDueIsTaken) {
  serve();
  const Json own{{"collection", "set.test"}, {"period", kHour}};
  crawl({"http://set.test/"}, own);
  site_.set("set.test", "unlisted", "c");
  const std::int64_t before = asked_so_far();
  for (const char* path : {"/a", "/c"}) {
    tell({{"type", "index"}, {"site", "http://set.test"}, {"path", path}});
  }
  told();
  EXPECT_TRUE(is_quiet());
  EXPECT_EQ(asked("set.test", before), Targets{"/c"});
}

TEST_P(CrawlTest, A11_AHundredWhoAskForOneDuePageGetOneFetch) {
  serve();
  site_.set("plain.test", "pages", "1");
  crawl({"http://plain.test/"}, {{"collection", "plain.test"}});
  // Its next answer puts us off for long: all hundred come while the page waits.
  site_.set("plain.test", "storm", "2");
  site_.set("plain.test", "storm_status", "503");
  site_.set("plain.test", "retry_after", "3600");
  const std::int64_t before = asked_so_far();
  std::vector<std::thread> askers;
  for (int asker = 0; asker < 4; ++asker) {
    askers.emplace_back([this] {
      net::Loop loop;
      const auto endpoint = net::Endpoint::parse(address_.substr(std::string("http://").size()));
      net::Client client(loop, *endpoint, {});
      for (int i = 0; i < 25; ++i) {
        const auto answer = loop.run_until(client.fetch(
            net::post_request("/api/v1/queues/INDEX/messages",
                              R"({"type":"index","site":"http://plain.test","path":"/"})",
                              "application/json"),
            1 << 20));
        EXPECT_TRUE(answer.ok() && answer->status == 202);
      }
    });
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(told().size(), 100u);
  EXPECT_TRUE(eventually([&] { return times("plain.test", "/", before) > 0; }));
  EXPECT_EQ(times("plain.test", "/", before), 1);
  std::int64_t waiting = 0;
  for (const Json& one : items("/api/v1/crawls?limit=100")) {
    if (one.at("ended").as_bool()) continue;
    waiting += one.at("pages").at("open").as_int64();
    EXPECT_EQ(one.at("pages").at("admitted").as_int64(), 1);
  }
  EXPECT_EQ(waiting, 1);
}

// -- failures and restarts --

TEST_P(CrawlTest, A12_AFailureMovesNoDateAndIsRetriedLaterAndLater) {
  serve();
  site_.set("plain.test", "pages", "1");
  const Json own{{"collection", "plain.test"}, {"period", kHour}};
  const std::int64_t first = crawl({"http://plain.test/"}, own);
  const std::int64_t next_us = pages(first).at(0).at("next_us").as_int64();
  site_.set("plain.test", "storm", "1000");
  const std::int64_t before = asked_so_far();
  const auto tries = [&] {
    std::vector<SiteRequest> all = site_.log(before, "plain.test");
    std::erase_if(all, [](const SiteRequest& request) { return request.target != "/"; });
    return all;
  };
  tell({{"type", "index"}, {"site", "http://plain.test"}, {"force", true}});
  told();
  EXPECT_TRUE(in_time([&] { return tries().size() >= 2; }));
  // In the midst of it: nothing has moved.
  Json page = explained("http://plain.test/", "plain.test").at("page").as_object();
  EXPECT_EQ(field(page, "state"), "waiting");
  EXPECT_EQ(page.at("next_us").as_int64(), next_us);
  EXPECT_TRUE(is_quiet());
  const std::vector<SiteRequest> all = tries();
  ASSERT_EQ(all.size(), 5u);
  for (std::size_t i = 2; i < all.size(); ++i) {
    EXPECT_GT(all[i].began_us - all[i - 1].began_us, all[i - 1].began_us - all[i - 2].began_us);
  }
  page = explained("http://plain.test/", "plain.test").at("page").as_object();
  EXPECT_EQ(field(page, "state"), "out");
  EXPECT_EQ(field(page, "why_kind"), "fetch");
  EXPECT_NE(field(page, "why").find("500"), std::string::npos) << field(page, "why");
  EXPECT_EQ(page.at("next_us").as_int64(), next_us);
  EXPECT_EQ(found("word0"), Names{"plain.test/"}) << "what it was before stays";
  expect_clean();
}

TEST_P(CrawlTest, A13_ARestartMovesNoDate) {
  serve();
  site_.set("hosts", "pages", "3");
  const Json own{{"collection", "hosts"}, {"period", kHour}};
  const Names urls = {"http://host0001.test/", "http://host0002.test/", "http://host0003.test/"};
  const std::int64_t job = crawl(urls, own);
  const auto dates = [&] {
    std::map<std::string, std::int64_t> all;
    for (const Json& page : pages(job)) all[field(page, "url")] = page.at("next_us").as_int64();
    return all;
  };
  const std::map<std::string, std::int64_t> before = dates();
  EXPECT_EQ(before.size(), 9u);
  const std::int64_t so_far = asked_so_far();
  for (int restart = 0; restart < 2; ++restart) {
    kill_and_restart();
    EXPECT_EQ(dates(), before);
    Json order{{"urls", boost::json::array(urls.begin(), urls.end())}};
    order["collection"] = "hosts";
    const net::Response refused = post("/api/v1/crawls", boost::json::serialize(order));
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_NE(refused.body.find("due again"), std::string::npos) << refused.body;
  }
  EXPECT_EQ(asked_so_far(), so_far);
}

TEST_P(CrawlTest, APeriodBeginsTheNextCrawlByItself) {
  serve();
  site_.set("plain.test", "pages", "1");
  crawl({"http://plain.test/"}, {{"period", 1}});
  EXPECT_TRUE(in_time([&] { return times("plain.test", "/") >= 2; }));
  EXPECT_TRUE(is_quiet());
}

TEST_P(CrawlTest, APageAskedForByMessageKeepsItsSitesPeriod) {
  serve();
  const Json own{{"collection", "set.test"}, {"period", kHour}};
  crawl({"http://set.test/"}, own);
  tell({{"type", "index"}, {"site", "http://set.test"}, {"path", "/a"}, {"force", true}});
  tell({{"type", "index+crawl"}, {"site", "http://set.test"}, {"force", true}});
  told();
  EXPECT_TRUE(is_quiet());
  const Json page = explained("http://set.test/a", "set.test").at("page").as_object();
  EXPECT_GE(page.at("next_us").as_int64(), page.at("fetched_us").as_int64() + kHour * 1'000'000);
  Json order{{"urls", boost::json::array{"http://set.test/"}}, {"collection", "set.test"}};
  EXPECT_EQ(post("/api/v1/crawls", boost::json::serialize(order)).status, 409);
}

// -- the gap --

class CrawlGapTest : public CrawlTest {
 protected:
  static constexpr std::size_t kPages = 30;
  static constexpr std::int64_t kGapUs = 200'000;

  void SetUp() override {
    site_.set("plain.test", "pages", std::to_string(kPages));
    shared_ = {{"QUERN_BLOBS", "file:" + (blobs_.path() / "blobs").string()}};
  }
  // Four on one database; SQLite has one server.
  void serve_all() {
    serve(shared_);
    if (GetParam() == Store::Sqlite) return;
    for (int i = 0; i < 3; ++i) {
      others_.push_back(more_[i].start({"serve", "--listen", "127.0.0.1:0"}, of_other()));
      CHECK_OK(others_.back()->wait_for_line(support::Output::Standard, "http://"));
    }
  }
  // Somebody dies.
  void kill_one() {
    if (others_.empty()) return kill_and_restart(shared_);
    others_.back()->kill();
    others_.pop_back();
  }
  support::Environment of_other() const {
    support::Environment all = environment(shared_);
    for (const auto& setting : folder_.options({}).environment) {
      if (setting.first == "QUERN_DB") all.push_back(setting);
    }
    return all;
  }
  std::map<std::string, int> gets() {
    std::map<std::string, int> all;
    for (const SiteRequest& request : site_.log(0, "plain.test")) {
      EXPECT_EQ(request.method, "GET");
      if (request.target != "/robots.txt") ++all[request.target];
    }
    return all;
  }
  // A number of /metrics, over all its labels.
  double metric(const std::string& name) {
    const std::string text = get("/metrics").body;
    double sum = 0;
    for (std::size_t at = 0; (at = text.find("\n" + name, at)) != std::string::npos; ++at) {
      const std::size_t end = text.find('\n', at + 1);
      const std::string line = text.substr(at + 1, end - at - 1);
      sum += std::atof(line.substr(line.rfind(' ') + 1).c_str());
    }
    return sum;
  }

  support::TempFolder blobs_;
  support::Environment shared_;
  std::array<DataFolder, 3> more_;
  std::vector<std::unique_ptr<support::Program>> others_;
};

TEST_P(CrawlGapTest, A14_AllServersTogetherKeepTheGapAndFetchOnce) {
  serve_all();
  const double taken = metric("quern_engine_taken_total");
  const std::int64_t job = crawl({"http://plain.test/"}, {{"delay", 0.2}});
  EXPECT_EQ(sum(job, "in"), static_cast<std::int64_t>(kPages)) << shown(job);
  const std::map<std::string, int> all = gets();
  EXPECT_EQ(all.size(), kPages);
  for (const auto& [target, count] : all) EXPECT_EQ(count, 1) << target;
  EXPECT_GE(site_.shortest_gap_us("plain.test").value_or(0), kGapUs);
  if (!others_.empty()) return;
  std::printf("%.1f items taken and %.1f writes in all for each address\n",
              (metric("quern_engine_taken_total") - taken) / kPages,
              metric("quern_writer_operations_total") / kPages);
  const support::Ran ran = folder_.run({"check"}, environment(shared_));
  EXPECT_EQ(ran.status.code, 0) << ran.standard_output << ran.standard_error;
}

TEST_P(CrawlGapTest, A14_ServersThatDieBreakNoGapAndFetchNothingTwiceButWhatWasInFlight) {
  serve_all();
  const std::int64_t job = begin({"http://plain.test/"}, {{"delay", 0.2}});
  for (const std::size_t seen : {10u, 20u}) {
    ASSERT_TRUE(in_time([&] { return gets().size() >= seen; }));
    kill_one();
  }
  ASSERT_TRUE(ends(job)) << shown(job);
  EXPECT_EQ(sum(job, "in"), static_cast<std::int64_t>(kPages)) << shown(job);
  const std::map<std::string, int> all = gets();
  EXPECT_EQ(all.size(), kPages);
  int more = 0;
  for (const auto& [target, count] : all) more += count - 1;
  EXPECT_LE(more, 2);
  EXPECT_GE(site_.shortest_gap_us("plain.test").value_or(0), kGapUs);
}

INSTANTIATE_TEST_SUITE_P(Stores, CrawlGapTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

TEST_P(CrawlTest, A15_SmallSitesDoNotWaitForABigOne) {
  serve();
  Names urls = {"http://big.test/"};
  for (int i = 0; i < 50; ++i) urls.push_back(fmt::format("http://host{:04}.test/", i));
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t job = begin(urls, {{"delay", 0.05}});
  std::vector<SiteRequest> log;
  const auto of_small = [&] {
    log = site_.log();
    Targets seen;
    for (const SiteRequest& one : log) {
      if (one.host != "big.test" && one.target != "/robots.txt") seen.insert(one.host + one.target);
    }
    return seen.size();
  };
  ASSERT_TRUE(in_time([&] { return of_small() >= 500; }));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const std::size_t of_big = log.size() - 550;
  std::printf("50 sites of 10 pages after %.1f s; %zu pages of the big one by then\n", took.count(),
              of_big);
  EXPECT_LT(of_big, 5'000u) << "the big one has most of its pages to go";
  EXPECT_EQ(post(fmt::format("/api/v1/jobs/{}/cancel", job)).status, 200);
  EXPECT_TRUE(ends(job));
}

}  // namespace
}  // namespace quern::e2e
