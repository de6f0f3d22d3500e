// A web page on paper: its PDF and its thumbnail are made when somebody asks for them, once. Pages
// are read by a real worker; what becomes of them on paper is played.
#include <future>

#include "e2e/crawl_fixture.h"
#include "step/renderer.h"

namespace quern::e2e {
namespace {

class CrawlRenderingTest : public CrawlTest {
 protected:
  void crawl_pages(int pages, const support::Environment& more = {}) {
    site_.set("plain.test", "pages", std::to_string(pages));
    support::Environment settings{{"QUERN_STEPS", "Page=1"}, {"QUERN_POLL_HOLD", "300"}};
    settings.insert(settings.end(), more.begin(), more.end());
    serve(settings);
    job_ = crawl({"http://plain.test/"});
    for (const Json& line : documents()) documents_.push_back(line.at("document").as_int64());
    ASSERT_EQ(documents_.size(), static_cast<std::size_t>(pages));
  }
  net::Endpoint endpoint() const {
    return *net::Endpoint::parse(address_.substr(std::string("http://").size()));
  }
  WorkerPeer worker() const { return WorkerPeer(endpoint()); }
  static std::string pdf_of(std::int64_t document, std::string_view query = "") {
    return fmt::format("/api/v1/files/{}/pdf{}", document, query);
  }
  static std::string thumbnail_of(std::int64_t document, std::string_view query = "") {
    return fmt::format("/api/v1/files/{}/thumbnail{}", document, query);
  }
  // By somebody else, while the test goes on.
  std::future<net::Response> ask(std::string target) {
    return std::async(std::launch::async, [endpoint = endpoint(), target = std::move(target)] {
      net::Loop loop;
      net::Request request;
      request.target = target;
      request.first_byte_ms = 120'000;
      net::Client client(loop, endpoint, {});
      Result<net::Response> answer = loop.run_until(client.fetch(std::move(request), 1 << 20));
      CHECK_OK(answer);
      return *std::move(answer);
    });
  }
  // All that anybody sees of the collection, without renderings.
  std::string seen() {
    std::string all;
    for (const char* target : {"/api/v1/documents?limit=100", "/api/v1/files?limit=100",
                               "/api/v1/errors", "/api/v1/jobs", "/api/v1/collections",
                               "/api/v1/partitions", "/api/v1/search?q=page&fresh=60000"}) {
      boost::json::object page = get_json(target);
      page.erase("took_ms");
      all += boost::json::serialize(page) + "\n";
    }
    return all;
  }
  static std::string body(std::string_view pdf = kPdf) {
    return Multipart(Style::SingleFile)
        .child(0, "page", "application/pdf")
        .part("0.blob", pdf)
        .part("0.txt", "words")
        .part("0-thumbnail.jpg", kJpeg)
        .part("done", "")
        .close();
  }

  std::int64_t job_ = 0;
  std::vector<std::int64_t> documents_;
};

TEST_P(CrawlRenderingTest, IsMadeOnceHoweverManyAskAndNothingElseIsSeenToChange) {
  crawl_pages(2);
  const std::int64_t page = documents_[0];
  const std::string before = seen();
  std::vector<std::future<net::Response>> pdfs;
  std::vector<std::future<net::Response>> thumbnails;
  for (int i = 0; i < 8; ++i) {
    pdfs.push_back(ask(pdf_of(page, "?wait=60")));
    thumbnails.push_back(ask(thumbnail_of(page, "?wait=60")));
  }
  WorkerPeer peer = worker();
  const LentTask task = peer.take("Html");
  EXPECT_EQ(task.file(), page);
  EXPECT_NE(peer.blob_of(task).find("<html"), std::string::npos) << "the page's own bytes";
  EXPECT_EQ(peer.post_all(task, body()), 202);
  for (auto& one : pdfs) {
    const net::Response answer = one.get();
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.body, kPdf);
    EXPECT_EQ(*answer.headers.find("Content-Type"), "application/pdf");
  }
  for (auto& one : thumbnails) {
    const net::Response answer = one.get();
    EXPECT_EQ(answer.body, kJpeg);
    EXPECT_EQ(*answer.headers.find("Content-Type"), "image/jpeg");
  }
  EXPECT_TRUE(peer.finds_nothing("Html"));
  EXPECT_EQ(get(pdf_of(page, "?make=0")).body, kPdf);
  const net::Response named = get(pdf_of(page, "?download=1"));
  EXPECT_NE(named.headers.find("Content-Disposition")->find(".pdf"), std::string::npos);
  EXPECT_NE(get(fmt::format("/api/v1/files/{}/blob", page)).body.find("<html"), std::string::npos);
  EXPECT_EQ(seen(), before);
  expect_clean();
}

TEST_P(CrawlRenderingTest, WhoDoesNotWaitIsToldThatItIsBeingMade) {
  crawl_pages(1);
  const std::int64_t page = documents_[0];
  EXPECT_EQ(get(pdf_of(page, "?make=0")).status, 404);
  EXPECT_EQ(get(thumbnail_of(page, "?make=0")).status, 404);
  WorkerPeer peer = worker();
  EXPECT_TRUE(peer.finds_nothing("Html")) << "that was no order";

  const net::Response told = get(pdf_of(page, "?wait=0"));
  EXPECT_EQ(told.status, 503);
  EXPECT_EQ(field(boost::json::parse(told.body).as_object(), "kind"), "busy");
  EXPECT_NE(told.headers.find("Retry-After"), nullptr);
  EXPECT_EQ(get(pdf_of(page, "?wait=61")).status, 400);
  EXPECT_EQ(peer.post_all(peer.take("Html"), body()), 202);
  EXPECT_EQ(get(pdf_of(page, "?wait=60")).body, kPdf);
}

TEST_P(CrawlRenderingTest, WhatCannotBeShownIsToldWithTheReasonAndNotTriedAgain) {
  crawl_pages(1);
  const std::int64_t page = documents_[0];
  auto asked = ask(pdf_of(page, "?wait=60"));
  WorkerPeer peer = worker();
  const std::string error =
      Multipart(Style::SingleFile).part("error", "it is written in sand").close();
  EXPECT_EQ(peer.post_all(peer.take("Html"), error), 202);
  const net::Response told = asked.get();
  EXPECT_EQ(told.status, 404);
  EXPECT_NE(told.body.find("it is written in sand"), std::string::npos) << told.body;
  EXPECT_EQ(*told.headers.find("Content-Type"), "application/problem+json");
  EXPECT_EQ(get(thumbnail_of(page)).status, 404);
  EXPECT_TRUE(peer.finds_nothing("Html"));
  EXPECT_EQ(documents().size(), 1u) << "it is a document all the same";
  EXPECT_TRUE(items("/api/v1/errors").empty());
  expect_clean();
}

TEST_P(CrawlRenderingTest, SoManyBadEndsAreEnough) {
  crawl_pages(1, {{"QUERN_TASK_IDLE", "200"}});
  const std::int64_t page = documents_[0];
  auto asked = ask(pdf_of(page, "?wait=60"));
  WorkerPeer peer = worker();
  peer.take("Html");  // and is never heard of again
  const std::string crash = Multipart(Style::SingleFile)
                                .part("failure", R"({"kind":"crash","message":"signal 11",)"
                                                 R"("again":true})")
                                .close();
  for (std::int64_t attempt = 2; attempt <= step::kRenderAttemptsMax; ++attempt) {
    EXPECT_EQ(peer.post_all(peer.take("Html"), crash), 202);
  }
  const net::Response told = asked.get();
  EXPECT_EQ(told.status, 404);
  EXPECT_NE(told.body.find("crash"), std::string::npos) << told.body;
  EXPECT_TRUE(peer.finds_nothing("Html"));
}

TEST_P(CrawlRenderingTest, NoPdfIsLargerThanTheLimit) {
  crawl_pages(2, {{"QUERN_RENDERING_MAX", "100000"}});
  WorkerPeer peer = worker();
  auto large = ask(pdf_of(documents_[0], "?wait=60"));
  EXPECT_EQ(peer.post_all(peer.take("Html"), body(kPdf + std::string(200'000, ' '))), 202);
  const net::Response told = large.get();
  EXPECT_EQ(told.status, 404);
  EXPECT_NE(told.body.find("more than 100000 bytes"), std::string::npos)
      << told.body.substr(0, 500);
  auto small = ask(pdf_of(documents_[1], "?wait=60"));
  EXPECT_EQ(peer.post_all(peer.take("Html"), body(kPdf + std::string(50'000, ' '))), 202);
  EXPECT_EQ(small.get().status, 200);
  expect_clean();
}

TEST_P(CrawlRenderingTest, AnythingButOnePdfIsNoRendering) {
  crawl_pages(3);
  WorkerPeer peer = worker();
  const auto ends = [&](std::int64_t page, const std::string& parts) {
    auto asked = ask(pdf_of(page, "?wait=60"));
    EXPECT_EQ(peer.post_all(peer.take("Html"), parts), 202);
    return asked.get();
  };
  const std::string nothing = Multipart(Style::SingleFile).part("done", "").close();
  EXPECT_NE(ends(documents_[0], nothing).body.find("made no PDF"), std::string::npos);
  EXPECT_NE(ends(documents_[1], body("<html>")).body.find("PDF that is none"), std::string::npos);
  const std::string two = Multipart(Style::SingleFile)
                              .child(0, "page", "application/pdf")
                              .part("0.blob", kPdf)
                              .child(1, "page", "application/pdf")
                              .part("1.blob", kPdf)
                              .part("done", "")
                              .close();
  EXPECT_NE(ends(documents_[2], two).body.find("more than one file"), std::string::npos);
  EXPECT_EQ(documents().size(), 3u);
  expect_clean();
}

TEST_P(CrawlRenderingTest, NoMoreAreWantedAtOnceThanTheLimit) {
  crawl_pages(3, {{"QUERN_RENDERINGS_MAX", "2"}});
  for (const std::size_t i : {0, 1}) EXPECT_EQ(get(pdf_of(documents_[i], "?wait=0")).status, 503);
  const net::Response refused = get(pdf_of(documents_[2], "?wait=60"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("2 web pages"), std::string::npos) << refused.body;
  WorkerPeer peer = worker();
  EXPECT_EQ(peer.post_all(peer.take("Html"), body()), 202);
  EXPECT_TRUE(eventually([&] {
    return get(pdf_of(documents_[2], "?wait=0")).body.find("2 web pages") == std::string::npos;
  }));
}

TEST_P(CrawlRenderingTest, NoMoreRequestsWaitThanTheLimit) {
  crawl_pages(1);
  std::vector<std::future<net::Response>> waiting;
  const auto is_refused = [&] {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(get(pdf_of(documents_[0], "?wait=2")).status, 503);
    return std::chrono::steady_clock::now() - began < std::chrono::seconds(1);
  };
  // Some find the server busy with the others, and do not wait.
  EXPECT_TRUE(eventually([&] {
    for (int i = 0; i < 50; ++i) waiting.push_back(ask(pdf_of(documents_[0], "?wait=60")));
    return is_refused();
  })) << "there is always room for more";
  EXPECT_GE(waiting.size(), static_cast<std::size_t>(step::kRenderAskersMax));
  WorkerPeer peer = worker();
  EXPECT_EQ(peer.post_all(peer.take("Html"), body()), 202);
  std::int64_t shown = 0;
  for (auto& one : waiting) shown += one.get().status == 200 ? 1 : 0;
  EXPECT_GE(shown, step::kRenderAskersMax);
}

TEST_P(CrawlRenderingTest, AServerThatIsKilledHasItsSuccessorGoOn) {
  crawl_pages(1);
  const std::int64_t page = documents_[0];
  EXPECT_EQ(get(pdf_of(page, "?wait=0")).status, 503);
  WorkerPeer(endpoint()).take("Html");
  kill_and_restart({{"QUERN_STEPS", "Page=1"}, {"QUERN_POLL_HOLD", "300"}});
  WorkerPeer peer = worker();
  EXPECT_EQ(peer.post_all(peer.take("Html"), body()), 202);
  EXPECT_EQ(get(pdf_of(page, "?wait=60")).body, kPdf);
  EXPECT_TRUE(peer.finds_nothing("Html"));
  expect_clean();
}

TEST_P(CrawlRenderingTest, GoesWithItsCrawlAndIsNotMadeForAPageThatIsGone) {
  crawl_pages(2);
  auto made = ask(pdf_of(documents_[0], "?wait=60"));
  WorkerPeer peer = worker();
  EXPECT_EQ(peer.post_all(peer.take("Html"), body()), 202);
  EXPECT_EQ(made.get().status, 200);
  EXPECT_EQ(get(pdf_of(documents_[1], "?wait=0")).status, 503);
  const LentTask late = peer.take("Html");
  EXPECT_LT(remove(fmt::format("/api/v1/jobs/{}", job_)).status, 300);
  EXPECT_TRUE(eventually(
      [&] { return get(fmt::format("/api/v1/files/{}", documents_[1])).status == 404; }));
  EXPECT_EQ(peer.post_all(late, body(kPdf + std::string(50'000, ' '))), 202);
  EXPECT_EQ(get(pdf_of(documents_[0])).status, 404);
  EXPECT_EQ(get(pdf_of(documents_[1])).status, 404);
  EXPECT_TRUE(peer.finds_nothing("Html"));
  expect_clean();
}

TEST_P(CrawlRenderingTest, ARealWorkerMakesBoth) {
  site_.set("written.test", "/", "<title>T</title><h1>Heading</h1><p>gru\xC3\x9F an die welt");
  serve();
  crawl({"http://written.test/"});
  const std::int64_t page = documents().at(0).at("document").as_int64();
  const net::Response pdf = get(pdf_of(page, "?wait=60"));
  ASSERT_EQ(pdf.status, 200) << pdf.body;
  EXPECT_TRUE(pdf.body.starts_with("%PDF-"));
  const net::Response thumbnail = get(thumbnail_of(page));
  EXPECT_EQ(thumbnail.status, 200);
  EXPECT_TRUE(thumbnail.body.starts_with("\xFF\xD8\xFF"));
  expect_clean();
}

INSTANTIATE_TEST_SUITE_P(Stores, CrawlRenderingTest,
                         testing::Values(Store::Sqlite, Store::Postgres), name_of);

}  // namespace
}  // namespace quern::e2e
