// Tokens and roles, as other machines, people and workers meet them, on either store.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <set>

#include "e2e/http_fixture.h"
#include "io/file.h"

namespace quern::e2e {
namespace {

using net::Method;
using net::Response;
using testing::HasSubstr;
using testing::Not;

// An address of this machine that is not loopback: a connection to it comes from there, too. Empty
// on a machine without any network; src/api/access_test.cc knows other machines without one.
std::string other_address() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return "";
  std::string found;
  for (const ifaddrs* one = all; one != nullptr && found.empty(); one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_LOOPBACK) != 0 || (one->ifa_flags & IFF_UP) == 0) continue;
    char text[INET_ADDRSTRLEN] = {};
    const auto* address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    if (::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) != nullptr) found = text;
  }
  ::freeifaddrs(all);
  return found;
}

net::Headers bearer(const std::string& secret) {
  return {{"Authorization", "Bearer " + secret}};
}

class TokenTest : public ServedTest {
 protected:
  void SetUp() override {
    server_ = folder_.start({"serve", "--listen", "0.0.0.0:0", "--steps", "none"});
    const auto line = server_->wait_for_line(support::Output::Standard, "http://");
    CHECK_OK(line);
    const std::string listens = line->substr(line->find("http://"));
    port_ = listens.substr(listens.rfind(':'));
    address_ = "http://127.0.0.1" + port_;
    const std::string other = other_address();
    elsewhere_ = other.empty() ? "" : "http://" + other + port_;
  }

  std::string token(const std::string& role, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"token", "create", "--role", role};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const support::Ran ran = folder_.run(arguments);
    EXPECT_TRUE(ran.status.exited_with(0)) << ran.standard_error;
    std::string secret = ran.standard_output;
    while (!secret.empty() && secret.back() == '\n') secret.pop_back();
    EXPECT_TRUE(secret.starts_with("quern_")) << secret;
    return secret;
  }
  int status(Method method, const std::string& target, const net::Headers& headers,
             const std::string& body = "") {
    return send(method, target, body, headers).status;
  }
  // As a client on another machine would; on loopback where there is no such address.
  void go_elsewhere() {
    if (!elsewhere_.empty()) address_ = elsewhere_;
  }
  std::size_t messages(const std::string& queue) {
    return get_json("/api/v1/queues/" + queue + "/messages").at("items").as_array().size();
  }
  std::set<std::string> files() const {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      all.insert(entry.path().string());
    }
    return all;
  }

  std::string port_;
  std::string elsewhere_;
};

TEST_P(TokenTest, A26_ANameThatCannotBeOneIs400AndAWrongKeyIs401AndNothingComesOfThem) {
  const std::set<std::string> before = files();
  for (const char* target : {"/search/..%2F..%2Fx?q=a", "/search/..%2F..%2Fetc%2Fpasswd?q=a",
                             "/search/a%0Ab?q=a", "/api/v1/search?q=a&collection=..%2F..%2Fx"}) {
    EXPECT_EQ(get(target).status, 400) << target;
  }
  const std::string message = R"({"type":"index+crawl","site":"example.org"})";
  for (const net::Headers& wrong :
       {bearer("quern_0000000000000000000000000000000000000000"), bearer("x"),
        net::Headers{{"Authorization", "Basic d29ya2VyOng="}},
        net::Headers{{"Authorization", "nonsense"}}}) {
    const Response refused = send(Method::Get, "/search/default?q=a", "", wrong);
    EXPECT_EQ(refused.status, 401) << refused.body;
    ASSERT_NE(refused.headers.find("WWW-Authenticate"), nullptr);
    EXPECT_EQ(*refused.headers.find("WWW-Authenticate"), "Bearer");
    EXPECT_EQ(status(Method::Post, "/api/v1/queues/INDEX/messages", wrong, message), 401);
    EXPECT_EQ(status(Method::Post, "/api/v1/collections/a/files?filename=a.txt", wrong, "a"), 401);
    EXPECT_EQ(status(Method::Get, "/healthz", wrong), 401) << "also where none is needed";
    EXPECT_EQ(status(Method::Get, "/nowhere", wrong), 401);
  }
  EXPECT_EQ(messages("INDEX"), 0U);
  EXPECT_EQ(get("/api/v1/collections/a").status, 404);
  std::set<std::string> after = files();
  // The database's own files come and go.
  std::erase_if(after, [&](const std::string& path) {
    return before.contains(path) || path.find("quern.db") != std::string::npos;
  });
  EXPECT_THAT(after, testing::IsEmpty());
}

TEST_P(TokenTest, OtherMachinesNeedATokenAndThisOneNeedsNone) {
  const std::string reader = token("reader");
  EXPECT_EQ(get("/api/v1/counters").status, 200) << "loopback";
  // A browser on this machine that was led here by another name.
  EXPECT_EQ(status(Method::Get, "/api/v1/counters", {{"Host", "evil.example"}}), 403);
  go_elsewhere();
  if (!elsewhere_.empty()) {
    for (const char* target : {"/api/v1/counters", "/metrics", "/nowhere", "/api/v1/tokens"}) {
      EXPECT_EQ(get(target).status, 401) << target;
    }
    EXPECT_EQ(post("/api/v1/counters/visits", R"({"key":"a"})").status, 401);
    EXPECT_EQ(post("/steps/Text").status, 401);
  }
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/steps/Text/0123456789abcdef0123456789abcdef").status, 404)
      << "the address is the secret";
  net::Headers named = bearer(reader);
  EXPECT_EQ(status(Method::Get, "/api/v1/counters", named), 200);
  named.set("Host", "quern.example.org");
  EXPECT_EQ(status(Method::Get, "/api/v1/counters", named), 200) << "as people call it";
  named.set("Origin", "http://quern.example.org");
  EXPECT_EQ(status(Method::Get, "/api/v1/counters", named), 200);
  named.set("Origin", "http://evil.example");
  EXPECT_EQ(status(Method::Get, "/api/v1/counters", named), 403);
}

TEST_P(TokenTest, ARoleMayWhatItIsForAndNothingElse) {
  struct Case {
    Method method;
    std::string target;
    std::string body;
    std::set<std::string> roles;  // the others get 403
  };
  const std::set<std::string> readers{"reader", "editor", "admin"};
  const std::set<std::string> editors{"editor", "admin"};
  const std::set<std::string> workers{"worker", "admin"};
  const std::string queues = "/api/v1/queues/";
  const std::string segment = "/api/v1/segments/" + std::string(64, '0');
  const std::string registration =
      R"({"type":"register","searcher_id":"s1","free_space":1,"held":[]})";
  const Case cases[] = {
      {Method::Get, "/api/v1/counters", "", readers},
      {Method::Head, "/api/v1/counters", "", readers},
      {Method::Get, "/api/v1/search?q=a", "", readers},
      {Method::Get, "/metrics", "", readers},
      {Method::Post, "/api/v1/counters/visits", R"({"key":"a"})", editors},
      {Method::Delete, "/api/v1/jobs/999", "", editors},
      {Method::Put, "/api/v1/limits/a", R"({"concurrency":1})", editors},
      {Method::Post, queues + "INDEX/messages", R"({"type":"index","site":"a.org"})", editors},
      {Method::Post, queues + "ORCH/messages", registration, workers},
      {Method::Post, queues + "ORCH/messages", R"({"type":"update","site":"a.org"})", {"admin"}},
      {Method::Get, queues + "ORCH/messages", "", readers},
      {Method::Get, queues + "SEARCHER-s1/messages", "", {"reader", "editor", "worker", "admin"}},
      {Method::Get, segment, "", {"reader", "editor", "worker", "admin"}},
      {Method::Post, "/steps/NoSuchStep", "", workers},
      {Method::Get, "/api/v1/tokens", "", {"admin"}},
      {Method::Post, "/api/v1/tokens", "{}", {"admin"}},
      {Method::Delete, "/api/v1/tokens/999", "", {"admin"}},
  };
  go_elsewhere();
  for (const std::string role : {"reader", "editor", "worker", "admin"}) {
    const net::Headers headers = bearer(token(role));
    for (const Case& one : cases) {
      const int answered = status(one.method, one.target, headers, one.body);
      const std::string which =
          fmt::format("{} {} {} {}", role, net::to_string(one.method), one.target, answered);
      EXPECT_NE(answered, 401) << which;
      EXPECT_EQ(answered != 403, one.roles.contains(role)) << which;
    }
  }
}

TEST_P(TokenTest, AnOverriddenMethodIsNoWayAroundARole) {
  const net::Headers headers = bearer(token("reader"));
  net::Headers overriding = headers;
  overriding.set("X-HTTP-Method-Override", "DELETE");
  overriding.set("Tus-Resumable", "1.0.0");
  const std::string created = *send(Method::Post, "/api/v1/uploads", "",
                                    {{"Tus-Resumable", "1.0.0"},
                                     {"Upload-Length", "5"},
                                     {"Upload-Metadata", "filename YS50eHQ="}})
                                   .headers.find("Location");
  EXPECT_EQ(status(Method::Post, created, overriding), 403);
  EXPECT_EQ(status(Method::Get, created, overriding), 200);
  EXPECT_EQ(status(Method::Get, created, headers), 200) << "it is still there";
}

TEST_P(TokenTest, ATokenIsShownOnceListedWithoutItsSecretAndEndsWhenRevoked) {
  const support::Ran made =
      folder_.run({"token", "create", "--role", "editor", "--note", "Ann", "--json"});
  ASSERT_TRUE(made.status.exited_with(0)) << made.standard_error;
  const boost::json::object token = boost::json::parse(made.standard_output).as_object();
  const std::string secret = field(token, "secret");
  const std::string id = field(token, "token");
  const support::Ran listed = folder_.run({"token", "list", "--json"});
  EXPECT_THAT(listed.standard_output, HasSubstr("\"Ann\""));
  EXPECT_THAT(listed.standard_output, HasSubstr("\"editor\""));
  EXPECT_THAT(listed.standard_output, Not(HasSubstr(secret.substr(6))));
  const net::Headers headers = bearer(secret);
  EXPECT_EQ(status(Method::Post, "/api/v1/counters/a", headers, R"({"key":"a"})"), 200);
  EXPECT_EQ(status(Method::Get, "/api/v1/tokens", headers), 403);
  const support::Ran revoked = folder_.run({"token", "revoke", id});
  EXPECT_TRUE(revoked.status.exited_with(0)) << revoked.standard_error;
  EXPECT_THAT(revoked.standard_output, HasSubstr("revoked"));
  // On PostgreSQL the command is a server of its own, and ours learns of it a moment later.
  const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
  while (status(Method::Get, "/api/v1/counters", headers) != 401) {
    ASSERT_LT(std::chrono::steady_clock::now(), give_up);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(folder_.run({"token", "revoke", "999"}).status.exited_with(3));
  EXPECT_TRUE(folder_.run({"token", "create", "--role", "king"}).status.exited_with(2));
}

TEST_P(TokenTest, AnAdminMakesTokensOverHttpAndWithoutOneNobodyDoes) {
  EXPECT_EQ(post("/api/v1/tokens", R"({"role":"admin"})").status, 403) << "loopback";
  EXPECT_EQ(get("/api/v1/tokens").status, 403);
  const net::Headers admin = bearer(token("admin"));
  go_elsewhere();
  const Response made = post("/api/v1/tokens", R"({"role":"reader","note":"Bob"})", admin);
  ASSERT_EQ(made.status, 201) << made.body;
  const boost::json::object token = boost::json::parse(made.body).as_object();
  EXPECT_EQ(status(Method::Get, "/api/v1/counters", bearer(field(token, "secret"))), 200);
  EXPECT_EQ(remove("/api/v1/tokens/" + field(token, "token"), admin).status, 200);
  EXPECT_EQ(status(Method::Get, "/api/v1/counters", bearer(field(token, "secret"))), 401)
      << "at once, on the server that revoked it";
  const std::string digest(64, 'a');
  const std::string twice = fmt::format(R"({{"role":"reader","sha256":"{}"}})", digest);
  const Response first = post("/api/v1/tokens", twice, admin);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(post("/api/v1/tokens", twice, admin).body, first.body) << "a repeated request";
  const std::string other = fmt::format(R"({{"role":"admin","sha256":"{}"}})", digest);
  EXPECT_EQ(post("/api/v1/tokens", other, admin).status, 409);
  for (const char* wrong :
       {"{}", R"({"role":"king"})", R"({"role":1})", R"({"role":"reader","more":"a"})",
        R"({"role":"reader","sha256":"short"})", R"({"role":"worker","collection":"a"})",
        R"({"role":"reader","collection":"../x"})", "[]", "no json"}) {
    EXPECT_EQ(post("/api/v1/tokens", wrong, admin).status, 400) << wrong;
  }
  EXPECT_EQ(remove("/api/v1/tokens/quern_secret", admin).status, 400);
  EXPECT_EQ(remove("/api/v1/tokens/999", admin).status, 404);
}

TEST_P(TokenTest, CommandsSendTheTokenOfAFileOrOfTheEnvironment) {
  const std::string secret = token("editor");
  const std::filesystem::path file = folder_.path().parent_path() / "a.token";
  ASSERT_TRUE(io::write_file_durably(file, secret + "\n").ok());
  go_elsewhere();
  const std::vector<std::string> add{"counter", "add", "visits", "--server", address_};
  std::vector<std::string> with_file = add;
  with_file.insert(with_file.end(), {"--token", file.string()});
  EXPECT_TRUE(folder_.run(with_file).status.exited_with(0));
  EXPECT_TRUE(folder_.run(add, {{"QUERN_TOKEN", secret}}).status.exited_with(0));
  EXPECT_TRUE(folder_.run(add, {{"QUERN_TOKEN", file.string()}}).status.exited_with(0));
  if (!elsewhere_.empty()) {
    const support::Ran none = folder_.run(add);
    EXPECT_TRUE(none.status.exited_with(3)) << none.standard_error;
    EXPECT_THAT(none.standard_error, HasSubstr("token"));
  }
  const support::Ran wrong = folder_.run(add, {{"QUERN_TOKEN", "quern_wrong"}});
  EXPECT_TRUE(wrong.status.exited_with(3)) << wrong.standard_error;
  std::vector<std::string> seen = add;
  seen.insert(seen.end(), {"--token", secret});
  EXPECT_TRUE(folder_.run(seen).status.exited_with(2)) << "others would see it";
  const support::Ran shown = folder_.run({"--print-config"}, {{"QUERN_TOKEN", secret}});
  EXPECT_THAT(shown.standard_output, Not(HasSubstr(secret)));
}

TEST_P(TokenTest, ASearcherComesInWithAWorkersToken) {
  const std::filesystem::path file = folder_.path().parent_path() / "worker.token";
  ASSERT_TRUE(io::write_file_durably(file, token("worker")).ok());
  const auto searchers = [this] {
    return get_json("/api/v1/searchers").at("items").as_array().size();
  };
  ASSERT_EQ(searchers(), 0U);
  const std::string server = elsewhere_.empty() ? address_ : elsewhere_;
  const DataFolder its;
  const auto searcher = its.start(
      {"searcher", "--server", server, "--token", file.string(), "--listen", "127.0.0.1:0"});
  const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
  while (searchers() == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), give_up);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST_P(TokenTest, ATokenForOneCollectionSeesAndChangesNothingElse) {
  const auto file_of = [](const Response& added) {
    EXPECT_EQ(added.status, 201) << added.body;
    return boost::json::parse(added.body).as_object();
  };
  const auto ours = file_of(post("/api/v1/collections/leak/files?filename=a.txt", "ours"));
  const auto theirs = file_of(post("/api/v1/collections/secret/files?filename=b.txt", "theirs"));
  const net::Headers headers = bearer(token("editor", {"--collection", "leak"}));
  go_elsewhere();
  const std::string mine = "/api/v1/files/" + field(ours, "file");
  const std::string other = "/api/v1/files/" + field(theirs, "file");
  const std::string my_job = "/api/v1/jobs/" + field(ours, "job");
  const std::string other_job = "/api/v1/jobs/" + field(theirs, "job");
  for (const std::string& target :
       {std::string("/search/leak?q=a"), std::string("/api/v1/search?q=a&collection=leak"),
        std::string("/api/v1/suggest?q=a&collection=leak"), std::string("/api/v1/collections/leak"),
        std::string("/api/v1/files?collection=leak"), std::string("/api/v1/jobs?collection=leak"),
        mine, mine + "/blob", mine + "/explain", my_job, my_job + "/roots"}) {
    EXPECT_EQ(status(Method::Get, target, headers), 200) << target;
  }
  for (const std::string& target : {std::string("/search/secret?q=a"),
                                    std::string("/search/leak?q=a&collection=secret"),
                                    std::string("/api/v1/search?q=a"),
                                    std::string("/api/v1/search?q=a&collection=secret"),
                                    std::string("/api/v1/suggest?q=a"),
                                    std::string("/api/v1/collections"),
                                    std::string("/api/v1/collections/secret"),
                                    std::string("/api/v1/files"),
                                    std::string("/api/v1/documents?collection=secret"),
                                    std::string("/api/v1/jobs"),
                                    std::string("/api/v1/events"),
                                    std::string("/api/v1/partitions"),
                                    std::string("/api/v1/packs"),
                                    std::string("/api/v1/check"),
                                    std::string("/metrics"),
                                    std::string("/api/v1/files/999999"),
                                    other,
                                    other + "/blob",
                                    other + "/text",
                                    other_job,
                                    "/api/v1/files?collection=leak&job=" + field(theirs, "job")}) {
    EXPECT_EQ(status(Method::Get, target, headers), 403) << target;
  }
  const auto add = [&](const std::string& target) {
    return status(Method::Post, target, headers, "more");
  };
  EXPECT_EQ(add("/api/v1/collections/leak/files?filename=c.txt"), 201);
  EXPECT_EQ(add("/api/v1/collections/secret/files?filename=c.txt"), 403);
  EXPECT_EQ(add("/api/v1/collections/leak/files?filename=c.txt&job=" + field(theirs, "job")), 403);
  EXPECT_EQ(status(Method::Post, "/api/v1/jobs", headers, R"({"collection":"leak"})"), 201);
  EXPECT_EQ(status(Method::Post, "/api/v1/jobs", headers, R"({"collection":"secret"})"), 403);
  EXPECT_EQ(status(Method::Post, "/api/v1/jobs", headers, "{}"), 403) << "the default one";
  EXPECT_EQ(status(Method::Delete, "/api/v1/collections/secret", headers), 403);
  EXPECT_EQ(status(Method::Delete, other_job, headers), 403);
  EXPECT_EQ(status(Method::Post, "/api/v1/counters/a", headers, R"({"key":"a"})"), 403);
}

TEST_P(TokenTest, AnUploadOfATokenForOneCollectionGoesThere) {
  const net::Headers headers = bearer(token("editor", {"--collection", "leak"}));
  const auto begin = [&](const std::string& metadata, net::Headers with) {
    with.set("Tus-Resumable", "1.0.0");
    with.set("Upload-Length", "5");
    with.set("Upload-Metadata", metadata);
    return send(Method::Post, "/api/v1/uploads", "", with);
  };
  const std::string named = "filename YS50eHQ=";  // a.txt
  const Response leak = begin(named + ",collection bGVhaw==", headers);
  EXPECT_EQ(leak.status, 201) << leak.body;
  EXPECT_EQ(begin(named + ",collection c2VjcmV0", headers).status, 403);
  EXPECT_EQ(begin(named, headers).status, 403) << "the default one";
  EXPECT_EQ(get("/api/v1/collections/secret").status, 404) << "it was not made";
  const Response theirs = begin(named + ",collection c2VjcmV0", {});
  ASSERT_EQ(theirs.status, 201);
  EXPECT_EQ(status(Method::Get, *leak.headers.find("Location"), headers), 200);
  EXPECT_EQ(status(Method::Get, *theirs.headers.find("Location"), headers), 403);
}

TEST_P(TokenTest, ABrowserSignsInOnceAndItsCookieStandsForTheToken) {
  const std::string secret = token("reader", {"--collection", "leak"});
  post("/api/v1/collections/leak/files?filename=a.txt", "a");
  go_elsewhere();
  const std::string wrong = R"({"token":"quern_0000000000000000000000000000000000000000"})";
  EXPECT_EQ(post("/api/v1/session", wrong).status, 401);
  EXPECT_EQ(post("/api/v1/session", R"({"token":7})").status, 400);
  EXPECT_EQ(post("/api/v1/session", R"({"token":""})").status, 401);
  const Response entered = post("/api/v1/session", R"({"token":")" + secret + R"("})");
  ASSERT_EQ(entered.status, 200) << entered.body;
  EXPECT_THAT(entered.body, HasSubstr(R"("role":"reader","collection":"leak","by":"token")"));
  ASSERT_NE(entered.headers.find("Set-Cookie"), nullptr);
  const std::string set = *entered.headers.find("Set-Cookie");
  EXPECT_THAT(set, HasSubstr("HttpOnly; SameSite=Strict"));
  EXPECT_THAT(set, Not(HasSubstr("Secure"))) << "by http a browser would drop it";
  const net::Headers cookie{{"Cookie", "a=b; " + set.substr(0, set.find(';')) + "; c=d"}};
  EXPECT_EQ(status(Method::Get, "/api/v1/jobs?collection=leak", cookie), 200);
  EXPECT_EQ(status(Method::Get, "/api/v1/jobs", cookie), 403) << "other collections, too";
  EXPECT_EQ(status(Method::Get, "/api/v1/session", cookie), 200);
  EXPECT_EQ(status(Method::Post, "/api/v1/jobs", cookie, R"({"collection":"leak"})"), 403);
  const Response left = send(Method::Delete, "/api/v1/session", "", cookie);
  EXPECT_EQ(left.status, 204);
  ASSERT_NE(left.headers.find("Set-Cookie"), nullptr);
  EXPECT_THAT(*left.headers.find("Set-Cookie"), HasSubstr("Max-Age=0"));
}

TEST_P(TokenTest, AnOldCookieOpensNothingAndShutsNothing) {
  go_elsewhere();
  const net::Headers old{{"Cookie", "quern_token=quern_0000000000000000000000000000000000000000"}};
  EXPECT_EQ(status(Method::Get, "/", old), 200) << "or nobody could sign in again";
  EXPECT_EQ(status(Method::Get, "/login", old), 200);
  EXPECT_EQ(status(Method::Get, "/quern.svg", old), 200);
  if (elsewhere_.empty()) return;
  EXPECT_EQ(status(Method::Get, "/api/v1/session", old), 401);
  EXPECT_EQ(status(Method::Get, "/api/v1/jobs", old), 401);
}

TEST_P(TokenTest, APageOfSomebodyElseCannotUseTheCookie) {
  const std::string secret = token("admin");
  const net::Headers theirs{{"Cookie", "quern_token=" + secret}, {"Origin", "http://evil.example"}};
  EXPECT_EQ(status(Method::Post, "/api/v1/jobs", theirs, R"({"collection":"leak"})"), 403);
  EXPECT_EQ(status(Method::Get, "/api/v1/jobs", theirs), 403);
}

INSTANTIATE_TEST_SUITE_P(Stores, TokenTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

}  // namespace
}  // namespace quern::e2e
