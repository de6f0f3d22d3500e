// The archive of a crawl: exported, and read back without asking anybody.
#include <fstream>

#include <sstream>

#include "e2e/crawl_fixture.h"
#include "web/body.h"
#include "web/warc.h"

namespace quern::e2e {
namespace {

class CrawlArchiveTest : public CrawlTest {
 protected:
  enum class Where { Here, Elsewhere };  // in another folder, which asks nobody

  support::Ran run(std::vector<std::string> arguments, Where where = Where::Here) {
    if (where == Where::Elsewhere) {
      const std::filesystem::path other = folder_.path() / "other";
      arguments.insert(arguments.end(), {"--data", other.string(), "--db",
                                         "sqlite:" + (other / "quern.db").string()});
    }
    return folder_.run(std::move(arguments), environment());
  }
  // What a program sees of a folder: without what differs between two runs.
  std::string documents(Where where = Where::Here) {
    const support::Ran ran = run({"documents", "--json", "--no-ids", "--text"}, where);
    EXPECT_EQ(ran.status.code, 0) << ran.standard_error;
    return ran.standard_output;
  }
  // The index of a collection, without where its records lie.
  std::multiset<std::string> index_of(const std::string& collection) {
    std::multiset<std::string> lines;
    std::istringstream text(get("/api/v1/collections/" + collection + "/cdxj?limit=1000").body);
    for (std::string line; std::getline(text, line);) {
      const auto one = web::parse_cdxj(line);
      EXPECT_TRUE(one.ok()) << line;
      if (!one.ok()) continue;
      lines.insert(fmt::format("{} {} {} {} {}", one->timestamp, one->url, one->mime, one->status,
                               one->digest));
    }
    return lines;
  }
  std::vector<std::string> import_all(const std::string& collection) {
    std::vector<std::string> import{"crawl", "--from-warc", "--collection", collection};
    for (const auto& file : std::filesystem::directory_iterator(folder_.path() / "warcs")) {
      import.push_back(file.path().string());
    }
    return import;
  }
};

TEST_P(CrawlArchiveTest, PagesThatWereUnchangedHaveTheirCapturesWhenReadBack) {
  serve();
  site_.set("plain.test", "pages", "6");
  crawl({"http://plain.test/"});
  crawl({"http://plain.test/"}, {{"force", true}});
  const std::multiset<std::string> before = index_of("default");
  ASSERT_EQ(captures("http://plain.test/").size(), 2u);
  const std::vector<std::string> import = import_all("back");
  support::Ran read = run(import);
  EXPECT_EQ(read.status.code, 0) << read.standard_error;
  EXPECT_EQ(index_of("back"), before);
  // Read once more, nothing is there twice: neither a capture nor a page.
  read = run(import);
  EXPECT_EQ(read.status.code, 0) << read.standard_error;
  EXPECT_EQ(index_of("back"), before);
  EXPECT_EQ(CrawlTest::documents("back").size(), 6u);
  expect_clean();
}

TEST_P(CrawlArchiveTest, WhatIsNewerThanTheArchiveStays) {
  serve();
  site_.set("plain.test", "pages", "2");
  crawl({"http://plain.test/"});
  // As it is now: the file itself gets the second crawl's answers, too.
  const std::filesystem::path old = folder_.path() / "old";
  std::filesystem::copy(folder_.path() / "warcs", old);
  std::vector<std::string> import{"crawl", "--from-warc"};
  for (const auto& file : std::filesystem::directory_iterator(old)) {
    import.push_back(file.path().string());
  }
  site_.set("plain.test", "version", "2");
  crawl({"http://plain.test/"}, {{"force", true}});
  ASSERT_EQ(found("version2").size(), 2u);
  EXPECT_EQ(run(import).status.code, 0);
  EXPECT_EQ(found("version2").size(), 2u);
  EXPECT_EQ(found("version1").size(), 0u);
}

TEST_P(CrawlArchiveTest, ARevisitOfAnotherAddressShowsItsBytes) {
  serve();
  web::CaptureOrder first;
  first.url = "http://plain.test/one";
  first.at_us = 1'600'000'000'000'000;
  first.response_head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
  first.body = web::BodyWriter::in_memory("what both have");
  const auto one = web::written_capture(first);
  ASSERT_TRUE(one.ok());
  web::CaptureOrder second = first;
  second.url = "http://plain.test/two";
  second.at_us += 1'000'000;
  second.revisit = {first.url, first.at_us, one->payload_digest, false};
  const auto two = web::written_capture(second);
  ASSERT_TRUE(two.ok());
  const std::filesystem::path file = folder_.path() / "two.warc.gz";
  std::ofstream(file, std::ios::binary) << one->bytes << two->bytes;
  const support::Ran read = run({"crawl", "--from-warc", file.string()});
  EXPECT_EQ(read.status.code, 0) << read.standard_error;
  const std::vector<Json> all = captures("http://plain.test/two");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].at("revisit").as_bool());
  EXPECT_EQ(get(field(all[0], "address")).body, "what both have");
}

TEST_P(CrawlArchiveTest, AnIndexIsRebuiltFromTheWarcsAlone) {
  serve();
  site_.set("plain.test", "pages", "20");
  crawl({"http://plain.test/", "http://charset.test/"});
  const std::string before = documents();
  const std::size_t asked = site_.log().size();
  const std::filesystem::path warcs = folder_.path() / "warcs";
  std::vector<std::string> import{"crawl", "--from-warc"};
  for (const auto& file : std::filesystem::directory_iterator(warcs)) {
    import.push_back(file.path().string());
  }
  ASSERT_GT(import.size(), 2u);
  const Where other = Where::Elsewhere;
  const support::Ran read = run(import, other);
  EXPECT_EQ(read.status.code, 0) << read.standard_error;
  EXPECT_TRUE(documents(other) == before);
  EXPECT_EQ(run({"check"}, other).status.code, 0);
  EXPECT_EQ(site_.log().size(), asked) << "nobody was asked";
}

TEST_P(CrawlArchiveTest, AWaczHasItAllAndIsReadBack) {
  serve();
  site_.set("plain.test", "pages", "10");
  crawl({"http://plain.test/"});
  const std::string before = documents();
  const std::string file = (folder_.path() / "site.wacz").string();
  const support::Ran written = run({"export", "default", "--format", "wacz", "--out", file});
  EXPECT_EQ(written.status.code, 0) << written.standard_error;
  const Where other = Where::Elsewhere;
  EXPECT_EQ(run({"crawl", "--from-warc", file}, other).status.code, 0);
  EXPECT_TRUE(documents(other) == before);
  // Once more: nothing new is found.
  EXPECT_EQ(run({"crawl", "--from-warc", file}, other).status.code, 0);
  EXPECT_TRUE(documents(other) == before);
  EXPECT_EQ(run({"check"}, other).status.code, 0);
}

TEST_P(CrawlArchiveTest, WhatIsNoArchiveIsRefused) {
  serve();
  const std::string file = (folder_.path() / "no.warc.gz").string();
  std::ofstream(file) << "this is no archive";
  EXPECT_NE(run({"crawl", "--from-warc", file}).status.code, 0);
  EXPECT_NE(run({"crawl", "--from-warc", file + ".missing"}).status.code, 0);
  EXPECT_NE(run({"export", "nobody", "--format", "wacz", "--out", file}).status.code, 0);
  // A path of the server's machine is not for those who come by TCP.
  const net::Response refused =
      post("/api/v1/collections/default/archives", R"({"path":"/etc/hostname"})");
  EXPECT_EQ(refused.status, 403) << refused.body;
}

TEST_P(CrawlArchiveTest, ACaptureIsShownAsItWasAndRunsNothing) {
  serve();
  site_.set("plain.test", "pages", "5");
  crawl({"http://plain.test/"});
  const std::vector<Json> all = captures("http://plain.test/");
  ASSERT_EQ(all.size(), 1u);
  const net::Response page = get(field(all[0], "address"));
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, site_.get("plain.test", "/").body);
  const std::string* policy = page.headers.find("Content-Security-Policy");
  ASSERT_NE(policy, nullptr);
  EXPECT_TRUE(policy->starts_with("sandbox; default-src 'none'")) << *policy;
  EXPECT_EQ(get("/captures/2026/http://plain.test/never").status, 404);
  EXPECT_EQ(get("/captures/soon/http://plain.test/").status, 400);
}

INSTANTIATE_TEST_SUITE_P(Stores, CrawlArchiveTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

}  // namespace
}  // namespace quern::e2e
