#include "fileset/wayback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fileset/file_meta.h"
#include "fileset/scripted_outside.h"
#include "fileset/site_outside.h"
#include "support/archive_site.h"
#include "support/temp_folder.h"
#include "web/body.h"
#include "web/warc.h"

namespace quern::fileset {
namespace {

using support::ArchiveSite;
using support::SiteCapture;
using ::testing::HasSubstr;

constexpr char kUrl[] = "http://site.example/records/1";
constexpr char kPage[] = "<html><title>A</title></html>";

SiteCapture capture(std::string url, std::string datetime, std::string body = kPage) {
  SiteCapture made;
  made.url = std::move(url);
  made.datetime = std::move(datetime);
  made.body = std::move(body);
  return made;
}
SiteCapture redirect(std::string url, std::string to) {
  SiteCapture made = capture(std::move(url), "20200101000000", "moved");
  made.status = 302;
  made.location = std::move(to);
  return made;
}

class WaybackTest : public ::testing::Test {
 protected:
  WaybackTest() : pool_({}), outside_(loop_, site_.origin()) {
    options_.cdx = site_.cdx();
    options_.cdx_token = ArchiveSite::kCdxToken;
    options_.replay = site_.replay();
    options_.spn.save = site_.save();
    options_.spn.access_key = ArchiveSite::kAccessKey;
    options_.spn.secret_key = ArchiveSite::kSecretKey;
    options_.spn.poll_ms = 1;
    options_.cdx_step_ms = 1;
    options_.cdx_retry_ms = 5;
    options_.cdx_error_ms = 1;
    options_.scratch = folder_.path();
  }

  Resource page(const std::string& url, bool force = false) {
    Wayback wayback(loop_, pool_, outside_, options_);
    return loop_.run_until(wayback.find_page(url, force));
  }
  std::optional<Kept> find_file(const ManifestFile& file) {
    Wayback wayback(loop_, pool_, outside_, options_);
    return loop_.run_until(wayback.find_file(file));
  }
  Kept keep_file(const ManifestFile& file) {
    Wayback wayback(loop_, pool_, outside_, options_);
    return loop_.run_until(wayback.keep_file(file, nullptr, {}));
  }
  static ManifestFile file_of(const std::string& url, std::string_view bytes) {
    const FileMeta meta = file_meta_of(bytes);
    ManifestFile file;
    file.path = "a.csv";
    file.platform_url = url;
    file.size = meta.size;
    file.md5 = meta.md5;
    file.sha1 = meta.sha1;
    return file;
  }

  support::TempFolder folder_;
  ArchiveSite site_;
  net::Loop loop_;
  io::Pool pool_;
  SiteOutside outside_;
  WaybackOptions options_;
};

TEST_F(WaybackTest, ACaptureIsReplayed) {
  site_.add(capture(kUrl, "20200101000000"));
  const Resource found = page(kUrl);
  EXPECT_EQ(found.status, "success") << found.message;
  EXPECT_EQ(found.body, kPage);
  EXPECT_EQ(found.capture.terminal_url, kUrl);
  EXPECT_EQ(found.capture.terminal_dt, "20200101000000");
  EXPECT_EQ(found.capture.status_code, 200);
  EXPECT_EQ(found.capture.meta.mimetype, "text/html");
  EXPECT_FALSE(found.capture.cdx.contains("warc_path")) << "it cannot be read there";
  EXPECT_EQ(site_.calls_to("/save"), 0U);
}

TEST_F(WaybackTest, TheNewestRowsAreAskedForByDefaultAndTheOldestInStrictMode) {
  for (int i = 0; i < 50; ++i) {
    site_.add(capture(kUrl, "202001010000" + std::to_string(10 + i)));
  }
  EXPECT_EQ(page(kUrl).capture.terminal_dt, "20200101000059");
  options_.compat = Compat::Strict;
  EXPECT_EQ(page(kUrl).capture.terminal_dt, "20200101000049");
}

TEST_F(WaybackTest, WithoutATokenSevenFieldsAreEnoughByDefault) {
  site_.add(capture(kUrl, "20200101000000"));
  options_.cdx_token.clear();
  EXPECT_EQ(page(kUrl).status, "success");
  options_.compat = Compat::Strict;
  EXPECT_EQ(page(kUrl).status, "cdx-error");
}

TEST_F(WaybackTest, RedirectsOfTheArchiveAreFollowed) {
  site_.add(redirect("https://doi.example/1", kUrl));
  site_.add(capture(kUrl, "20200102000000"));
  const Resource found = page("https://doi.example/1");
  EXPECT_EQ(found.status, "success") << found.message;
  EXPECT_EQ(found.capture.terminal_url, kUrl);
}

TEST_F(WaybackTest, RedirectsHaveTheirFailures) {
  options_.spn_on = false;
  site_.add(redirect("http://a.example/1", "http://a.example/2"));
  site_.add(redirect("http://a.example/2", "http://a.example/1"));
  EXPECT_EQ(page("http://a.example/1").status, "redirect-loop");
  site_.add(redirect("http://b.example/1", "http://"));
  EXPECT_EQ(page("http://b.example/1").status, "bad-redirect");
  site_.add(redirect("http://c.example/1", "http://c.example/nowhere"));
  const Resource nowhere = page("http://c.example/1");
  EXPECT_EQ(nowhere.status, "no-capture");
  EXPECT_EQ(nowhere.capture.terminal_url, "http://c.example/nowhere");
  EXPECT_EQ(nowhere.capture.terminal_dt, "");
  for (int i = 0; i <= kWaybackHopsMax + 1; ++i) {
    site_.add(redirect("http://d.example/" + std::to_string(i),
                       "http://d.example/" + std::to_string(i + 1)));
  }
  EXPECT_EQ(page("http://d.example/0").status, "redirects-exceeded");
}

TEST_F(WaybackTest, AnErrorPageIsATerminalBadStatus) {
  SiteCapture gone = capture(kUrl, "20200101000000");
  gone.status = 404;
  site_.add(gone);
  const Resource found = page(kUrl);
  EXPECT_EQ(found.status, "terminal-bad-status");
  EXPECT_EQ(found.capture.status_code, 404);
  EXPECT_EQ(site_.calls_to("/save"), 0U) << "it is too young to be asked for again";
}

TEST_F(WaybackTest, AnOldMissIsCapturedAgain) {
  SiteCapture gone = capture(kUrl, "20150101000000");
  gone.status = 404;
  site_.add(gone);
  site_.set_live(kUrl, capture(kUrl, "20261116060000"));
  EXPECT_EQ(page(kUrl).capture.terminal_dt, "20261116060000");
}

TEST_F(WaybackTest, WhatIsNotThereIsSaved) {
  site_.set_live(kUrl, capture(kUrl, "20261116060000"));
  site_.fail(ArchiveSite::Fault::IndexLate, 2);
  const Resource found = page(kUrl);
  EXPECT_EQ(found.status, "success") << found.message;
  EXPECT_EQ(found.capture.terminal_dt, "20261116060000");
  const std::vector<support::SiteCall> calls = site_.calls();
  const auto save = std::ranges::find(calls, "/save", &support::SiteCall::target);
  ASSERT_NE(save, calls.end());
  EXPECT_EQ(save->method, "POST");
  EXPECT_THAT(save->body, HasSubstr("url=http%3A%2F%2Fsite.example%2Frecords%2F1"));
  EXPECT_THAT(save->body, HasSubstr("force_get=1"));
  EXPECT_THAT(save->body, HasSubstr("if_not_archived_within=14d"));
}

TEST_F(WaybackTest, ForcingLeavesOldCapturesAlone) {
  site_.add(capture(kUrl, "20200101000000"));
  site_.set_live(kUrl, capture(kUrl, "20261116060000"));
  EXPECT_EQ(page(kUrl, true).capture.terminal_dt, "20261116060000");
  options_.spn_on = false;
  EXPECT_EQ(page(kUrl, true).status, "no-capture");
}

TEST_F(WaybackTest, ACaptureThatNeverGetsIndexedIsNamed) {
  site_.set_live(kUrl, capture(kUrl, "20261116060000"));
  site_.fail(ArchiveSite::Fault::IndexLate, 100);
  const Resource found = page(kUrl, true);
  EXPECT_EQ(found.status, "spn2-cdx-lookup-failure");
  EXPECT_TRUE(found.passing);
}

TEST_F(WaybackTest, ANewCaptureThatCannotBeReadIsNamed) {
  site_.set_live(kUrl, capture(kUrl, "20261116060000"));
  site_.fail(ArchiveSite::Fault::ReplayPlain, 1);
  EXPECT_EQ(page(kUrl, true).status, "spn2-wayback-error");
}

TEST_F(WaybackTest, ServicesThatFailAreNamed) {
  site_.add(capture(kUrl, "20200101000000"));
  site_.fail(ArchiveSite::Fault::CdxDown, 1);
  Resource found = page(kUrl);
  EXPECT_EQ(found.status, "cdx-error");
  EXPECT_TRUE(found.passing);
  site_.fail(ArchiveSite::Fault::CdxBroken, 1);
  EXPECT_EQ(page(kUrl).status, "cdx-error");
  site_.fail(ArchiveSite::Fault::ReplayPlain, 1);
  EXPECT_EQ(page(kUrl).status, "wayback-error");
}

TEST_F(WaybackTest, BytesThatAreNotThoseOfTheIndexAreRefused) {
  SiteCapture other = capture(kUrl, "20200101000000");
  other.digest = support::site_digest("another page");
  site_.add(other);
  EXPECT_EQ(page(kUrl).status, "wayback-content-error");
}

TEST_F(WaybackTest, APageWithoutBytesIsAnEmptyBlob) {
  site_.add(capture(kUrl, "20200101000000", ""));
  EXPECT_EQ(page(kUrl).status, "empty-blob");
}

TEST_F(WaybackTest, SavePageNowFailsInWays) {
  using Fault = ArchiveSite::Fault;
  const auto failing = [this](Fault fault) {
    site_.fail(fault, 1000);
    const Resource found = page(kUrl);
    site_.fail(fault, 0);
    return found;
  };
  EXPECT_EQ(failing(Fault::SpnBusy).status, "spn2-backoff");
  EXPECT_TRUE(failing(Fault::SpnLimited).passing);
  options_.spn.polls_max = 3;
  EXPECT_EQ(failing(Fault::SpnForever).status, "spn2-error");
  EXPECT_EQ(site_.calls_to("/save/status/spn2-"), 3U) << "polls are bounded";
  options_.spn.polls_max = 60;
  const std::pair<const char*, const char*> cases[] = {
      {"error:not-found", "not-found"},
      {"error:forbidden", "forbidden"},
      {"error:no-access", "forbidden"},
      {"error:internal-server-error", "remote-server-error"},
      {"error:user-session-limit", "spn2-backoff"},
      {"error:gateway-timeout", "gateway-timeout"},
      {"error:blocked-url", "spn2-error:blocked-url"},
      {"error:filesize-limit", "spn2-error:filesize-limit"}};
  for (const auto& [said, status] : cases) {
    site_.set_live_error(kUrl, said);
    EXPECT_EQ(page(kUrl).status, status) << said;
  }
  EXPECT_EQ(page("http://nobody.example/").status, "invalid-host-resolution");
  EXPECT_EQ(page("ftp://site.example/a").status, "spn2-no-ftp");
  options_.spn.secret_key = "wrong";
  EXPECT_EQ(page(kUrl).status, "spn2-error");
}

TEST_F(WaybackTest, AFileIsFoundWhereItMatches) {
  const std::string url = "http://site.example/a.csv";
  EXPECT_FALSE(find_file(file_of(url, "1,2\n")));
  site_.add(capture(url, "20200101000000", "1,2\n"));
  const std::optional<Kept> found = find_file(file_of(url, "1,2\n"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status, "success") << found->message;
  EXPECT_EQ(found->capture.terminal_dt, "20200101000000");
  EXPECT_EQ(found->capture.meta.sha256, file_meta_of("1,2\n").sha256);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "nothing is left behind";
}

TEST_F(WaybackTest, AnotherVersionOfAFileIsAMismatchOrNoCaptureAtAll) {
  const std::string url = "http://site.example/a.csv";
  site_.add(capture(url, "20200101000000", "old\n"));
  EXPECT_FALSE(find_file(file_of(url, "1,2\n"))) << "a new capture may be right";
  options_.compat = Compat::Strict;
  EXPECT_EQ(find_file(file_of(url, "1,2\n"))->status, "mismatch");
}

TEST_F(WaybackTest, AFileIsSavedAndVerified) {
  const std::string url = "http://site.example/a.csv";
  site_.set_live(url, capture(url, "20261116060000", "1,2\n"));
  EXPECT_EQ(keep_file(file_of(url, "1,2\n")).status, "success");
  EXPECT_EQ(keep_file(file_of(url, "1,3\n")).status, "mismatch");
  options_.spn_on = false;
  EXPECT_EQ(keep_file(file_of(url, "1,2\n")).status, "no-capture");
}

TEST_F(WaybackTest, StrictModeUnpacksGzipFilesAsRecorded) {
  options_.compat = Compat::Strict;
  const std::string url = "http://site.example/a.gz";
  SiteCapture broken = capture(url, "20200101000000", "\x1F\x8B\x08 broken");
  broken.mimetype = "application/octet-stream";
  site_.add(broken);
  EXPECT_EQ(find_file(file_of(url, broken.body))->status, "transfer-encoding-error");
  options_.compat = Compat::Default;
  EXPECT_EQ(find_file(file_of(url, broken.body))->status, "success") << "it is what it is";
  options_.compat = Compat::Strict;
  const std::string empty = "http://site.example/empty";
  site_.add(capture(empty, "20200101000000", ""));
  EXPECT_EQ(find_file(file_of(empty, ""))->status, "empty-blob");
}

// -- from WARC files --

class WaybackWarcTest : public ::testing::Test {
 protected:
  WaybackWarcTest() : pool_({}) {
    options_.cdx = "https://cdx.example/search";
    options_.warc_base = "https://warc.example/";
    options_.warc_token = "secret";
    options_.spn_on = false;
    options_.cdx_error_ms = 1;
  }
  // A record in a WARC file, and its row in the index.
  std::string add_record(const std::string& url, std::int64_t at_us,
                         std::optional<web::CaptureOrder::Revisit> revisit = {}) {
    web::CaptureOrder order;
    order.url = url;
    order.at_us = at_us;
    order.response_head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    order.body = web::BodyWriter::in_memory(kPage);
    order.revisit = std::move(revisit);
    const auto written = web::written_capture(order);
    const std::string datetime = web::timestamp14(at_us);
    const std::string path = "crawl/" + datetime + ".warc.gz";
    outside_.answer("https://warc.example/" + path, 206, written->bytes);
    return fmt::format(R"(["k","{}","{}","{}","{}","{}","-","-","{}","0","{}"])", datetime, url,
                       order.revisit ? "warc/revisit" : "text/html", order.revisit ? "-" : "200",
                       support::site_digest(kPage), written->bytes.size(), path);
  }
  void index(const std::string& query, const std::string& row) {
    outside_.answer(
        "https://cdx.example/search?" + query, 200,
        R"([["urlkey","timestamp","original","mimetype","statuscode","digest","redirect",)"
        R"("robotflags","length","offset","filename"],)" +
            row + "]");
  }
  Resource page() {
    Wayback wayback(loop_, pool_, outside_, options_);
    return loop_.run_until(wayback.find_page(kUrl, false));
  }

  static constexpr std::int64_t kAtUs = 1'794'808'800'000'000;  // 2026-11-16T06:00:00Z
  const std::string newest_ =
      "url=http%3A%2F%2Fsite.example%2Frecords%2F1&matchType=exact&limit=-40&output=json";
  net::Loop loop_;
  io::Pool pool_;
  ScriptedOutside outside_;
  WaybackOptions options_;
};

TEST_F(WaybackWarcTest, ARecordIsReadByItsRange) {
  index(newest_, add_record(kUrl, kAtUs));
  const Resource found = page();
  EXPECT_EQ(found.status, "success") << found.message;
  EXPECT_EQ(found.body, kPage);
  EXPECT_EQ(found.capture.cdx.at("warc_path"), "crawl/20261116060000.warc.gz");
  const Ask& ask = outside_.asked().back();
  EXPECT_THAT(std::string(web::find_header(ask.headers, "Range")),
              ::testing::StartsWith("bytes=0-"));
  EXPECT_EQ(web::find_header(ask.headers, "Cookie"), "webdata-secret=secret");
}

TEST_F(WaybackWarcTest, ARevisitLeadsToItsBytes) {
  const std::string original = add_record(kUrl, kAtUs);
  web::CaptureOrder::Revisit revisit;
  revisit.url = kUrl;
  revisit.at_us = kAtUs;
  revisit.payload_digest = "sha1:" + support::site_digest(kPage);
  index(newest_, add_record(kUrl, kAtUs + 1'000'000, revisit));
  index(
      "url=http%3A%2F%2Fsite.example%2Frecords%2F1&matchType=exact&from=20261116060000"
      "&to=20261116060000&limit=40&output=json",
      original);
  const Resource found = page();
  EXPECT_EQ(found.status, "success") << found.message;
  EXPECT_EQ(found.body, kPage);
  EXPECT_EQ(found.capture.terminal_dt, "20261116060001");
  EXPECT_EQ(found.capture.cdx.at("datetime"), "20261116060000");
  EXPECT_EQ(found.capture.revisit_cdx.at("datetime"), "20261116060001");
}

TEST_F(WaybackWarcTest, WhatCannotBeReadIsNamed) {
  const std::string row = add_record(kUrl, kAtUs);
  index(newest_, row);
  const std::string warc = "https://warc.example/crawl/20261116060000.warc.gz";
  (void)page();  // the good answer
  outside_.answer(warc, 206, "short");
  (void)page();
  EXPECT_EQ(page().status, "petabox-error");
  outside_.fail(warc, web::FetchProblem::Timeout, "late");
  (void)page();
  const Resource late = page();
  EXPECT_EQ(late.status, "petabox-error");
  EXPECT_TRUE(late.passing);
}

TEST(SpnTest, AnswersOfAnyShapeAreNamed) {
  net::Loop loop;
  for (const char* body : {"", "[]", "{", "{}", R"({"job_id": 1})", R"({"job_id": "../x"})",
                           R"({"message": 5})", R"({"job_id": null, "status": []})"}) {
    ScriptedOutside outside;
    outside.answer("https://a/save/status/user", 200, R"({"available": 5})");
    outside.answer("https://a/save", 200, body);
    SpnOptions options;
    options.save = "https://a/save";
    SavePageNow spn(loop, outside, options);
    EXPECT_EQ(loop.run_until(spn.save("http://b/")).status, "spn2-error") << body;
  }
  for (const char* body : {"", "{}", "[]", R"({"available": "many"})", R"({"available": null})"}) {
    ScriptedOutside outside;
    outside.answer("https://a/save/status/user", 200, body);
    SpnOptions options;
    options.save = "https://a/save";
    SavePageNow spn(loop, outside, options);
    EXPECT_EQ(loop.run_until(spn.save("http://b/")).status, "spn2-error") << body;
  }
}

TEST(SpnTest, MessagesAndJobsAreRead) {
  const auto said = [](const std::string& reply, const std::string& status) {
    net::Loop loop;
    ScriptedOutside outside;
    outside.answer("https://a/save/status/user", 200, R"({"available": 5})");
    outside.answer("https://a/save", 200, reply);
    outside.answer("https://a/save/status/j1", 200, status);
    outside.answer(
        "https://a/save/status/j2", 200,
        R"({"status":"success","original_url":"http://b/x","timestamp":"20200101000000"})");
    SpnOptions options;
    options.save = "https://a/save";
    SavePageNow spn(loop, outside, options);
    return loop.run_until(spn.save("http://b/"));
  };
  EXPECT_EQ(
      said(R"({"message":"You have already reached the limit of active sessions"})", "").status,
      "spn2-backoff");
  EXPECT_EQ(said(R"({"message":"The same snapshot had been made 5 minutes ago"})", "").status,
            "spn2-recent-capture");
  EXPECT_EQ(said(R"({"status":"error","status_ext":"error:invalid-url"})", "").status,
            "invalid-url");
  EXPECT_EQ(said(R"({"job_id":"j1"})", R"({"original_job_id":"j2","status":"success"})").url,
            "http://b/x");
  EXPECT_EQ(said(R"({"job_id":"j1"})",
                 R"({"status":"success","original_url":"/x","timestamp":"20200101000000"})")
                .status,
            "spn2-success-partial-url");
  EXPECT_EQ(
      said(R"({"job_id":"j1"})", R"({"status":"success","original_url":"http://b/?cookieSet=1",)"
                                 R"("timestamp":"20200101000000"})")
          .status,
      "blocked-cookie");
  EXPECT_EQ(said(R"({"job_id":"j1"})", R"({"status":"success"})").status, "spn2-error");
}

}  // namespace
}  // namespace quern::fileset
