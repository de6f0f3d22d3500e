// The web UI as a browser's network stack sees it: what is served where, and what it is told not to
// do.
#include <gmock/gmock.h>

#include <regex>

#include "e2e/http_fixture.h"

namespace quern::e2e {
namespace {

using net::Method;
using net::Response;
using testing::HasSubstr;
using testing::Not;

class UiTest : public ServedTest {
 protected:
  static std::string header(const Response& answer, std::string_view name) {
    const std::string* value = answer.headers.find(name);
    return value == nullptr ? "" : *value;
  }
  // The script that the page loads.
  std::string script() {
    std::smatch found;
    const std::string page = get("/").body;
    const std::regex pattern(R"(src="(/assets/[^"]+\.js)\")");
    return std::regex_search(page, found, pattern) ? found[1].str() : "";
  }
};

TEST_P(UiTest, ThePageIsServedAtEveryAddressThatItShows) {
  const std::string page = get("/").body;
  EXPECT_THAT(page, HasSubstr("<div id=\"app\">"));
  for (const char* address :
       {"/search?q=a", "/collections", "/collections/leak", "/jobs", "/jobs/1", "/jobs/1/files",
        "/documents/1", "/files/1", "/errors", "/crawls", "/crawls/1", "/captures-of?url=http://a/",
        "/work", "/partitions/a%2Fb", "/workers", "/login"}) {
    const Response answer = get(address);
    EXPECT_EQ(answer.status, 200) << address;
    EXPECT_EQ(answer.body, page) << address;
    EXPECT_EQ(header(answer, "Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(header(answer, "Cache-Control"), "no-cache");
  }
}

TEST_P(UiTest, WhatIsNoPageIs404) {
  for (const char* address : {"/nothing", "/assets/nothing.js", "/assets/..%2Findex.html",
                              "/pdf/cmaps/none", "/documents", "/jobs/1/2/3", "/index.html"}) {
    EXPECT_EQ(get(address).status, 404) << address;
  }
  EXPECT_EQ(post("/").status, 405);
  const Response person = send(Method::Get, "/nothing", "", {{"Accept", "text/html, */*"}});
  EXPECT_EQ(person.status, 404);
  EXPECT_THAT(person.body, HasSubstr("<div id=\"app\">"));
  EXPECT_THAT(header(get("/nothing"), "Content-Type"), HasSubstr("problem+json"));
}

TEST_P(UiTest, ThePageMayRunNoScriptButItsOwnAndAskNoOtherHost) {
  const std::string policy = header(get("/"), "Content-Security-Policy");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("script-src 'self'"));
  EXPECT_THAT(policy, HasSubstr("connect-src 'self'"));
  EXPECT_THAT(policy, HasSubstr("frame-src 'self'"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe-inline")));
  EXPECT_THAT(policy, Not(HasSubstr("'unsafe-eval'")));
  EXPECT_THAT(policy, Not(HasSubstr("http")));
}

TEST_P(UiTest, WhateverElseIsAnsweredIsSandboxed) {
  for (const char* address : {"/api/v1/jobs", "/api/v1/files/1/blob", "/healthz", "/nothing"}) {
    const Response answer = get(address);
    EXPECT_THAT(header(answer, "Content-Security-Policy"), HasSubstr("sandbox")) << address;
    EXPECT_THAT(header(answer, "Content-Security-Policy"), HasSubstr("default-src 'none'"));
    EXPECT_EQ(header(answer, "X-Content-Type-Options"), "nosniff") << address;
    EXPECT_EQ(header(answer, "Cross-Origin-Resource-Policy"), "same-origin") << address;
  }
}

TEST_P(UiTest, FilesNamedByTheirContentAreKeptForEverAndCompressedForWhoUnderstands) {
  const std::string path = script();
  ASSERT_NE(path, "");
  const Response plain = get(path);
  EXPECT_EQ(plain.status, 200);
  EXPECT_EQ(header(plain, "Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_THAT(header(plain, "Cache-Control"), HasSubstr("immutable"));
  EXPECT_EQ(header(plain, "Content-Encoding"), "");
  const Response small = send(Method::Get, path, "", {{"Accept-Encoding", "gzip, deflate, br"}});
  EXPECT_EQ(header(small, "Content-Encoding"), "gzip");
  EXPECT_LT(small.body.size(), plain.body.size() / 2);
  const Response known = send(Method::Get, path, "", {{"If-None-Match", header(plain, "ETag")}});
  EXPECT_EQ(known.status, 304);
  EXPECT_EQ(known.body, "");
}

TEST_P(UiTest, TheDescriptionForProgramsHasNoPages) {
  const boost::json::object paths = get_json("/api/v1/openapi.json").at("paths").as_object();
  EXPECT_TRUE(paths.contains("/api/v1/session"));
  EXPECT_FALSE(paths.contains("/"));
  EXPECT_FALSE(paths.contains("/documents/{document}"));
}

INSTANTIATE_TEST_SUITE_P(Stores, UiTest, testing::Values(Store::Sqlite, Store::Postgres), name_of);

}  // namespace
}  // namespace quern::e2e
