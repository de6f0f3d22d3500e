// /research/work, /research/results, media and fingerprints, as researchers of any make meet them.
#include <gmock/gmock.h>

#include "base/base64.h"
#include "e2e/research_fixture.h"
#include "net/raw_peer.h"

namespace quern::e2e {
namespace {

namespace json = boost::json;
using net::Method;
using net::RawPeer;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kBodyMax = 4 * 1024 * 1024;

std::string head_of(const std::string& more) {
  return "POST /research/results HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
         "application/json\r\n" +
         more + "\r\n\r\n";
}

class ResearchProtocolTest : public ResearchServedTest {
 protected:
  std::string status_of(const std::string& head, const std::string& body) {
    RawPeer peer(endpoint());
    peer.send(head_of(head));
    peer.send_some(body);
    return peer.read_status();
  }
  std::string send_sized(const std::string& body) {
    return status_of(fmt::format("Content-Length: {}", body.size()), body);
  }
};

// The agent is a process of its own; it has told of two clips, hangs in the third, and is killed.
TEST_P(ResearchProtocolTest, B12_WhatAKilledAgentLeftIsHandedOutAgainAndWhatItFinishedIsNot) {
  serve({{"QUERN_RESEARCH_LEASE", "1500"}, {"QUERN_RESEARCH_OFFER", "1000"}});
  add_clip("found", 5);
  add_clip("absent", 4);
  const std::int64_t hanging = add_clip("hang", 3);
  const std::int64_t last = add_clip("never reached", 2);
  add_episode("episode");
  support::ProgramOptions options{
      "quern_hostile_steps", {"--server", address_, "--research", "--worker", "agent"}, {}, {}};
  auto agent = support::Program::start(options);
  CHECK_OK(agent);
  ASSERT_TRUE(comes_to_findings(2)) << (*agent)->text(support::Output::Error);
  // It lives, and so does its lease, beyond its time: it says so.
  EXPECT_TRUE(take("ann", 3000).empty());
  (*agent)->kill();
  const json::object again = take("ann");
  ASSERT_FALSE(again.empty());
  EXPECT_THAT(clips_of(again), ElementsAre(hanging, last));
  EXPECT_TRUE(tell(result_of(again, hanging)).at("stored").as_bool());
  EXPECT_TRUE(tell(result_of(again, last, true)).at("revoked").as_bool());
  EXPECT_EQ(findings(), 4U);
  EXPECT_TRUE(becomes("/api/v1/research", "idle", "true"));
}

TEST_P(ResearchProtocolTest, B19_BodiesOfEverySizeAreTakenRefusedOrForgotten) {
  serve();
  const std::int64_t clip = add_clip("a");
  add_episode("b");
  const json::object item = take();
  ASSERT_FALSE(item.empty());
  EXPECT_EQ(send_sized(""), "400");
  EXPECT_EQ(send_sized("{"), "400");
  const std::string good = json::serialize(result_of(item, clip));

  // What breaks off in the middle is not looked at, whatever stands there already.
  for (const std::string& head : {fmt::format("Content-Length: {}", good.size() + 10),
                                  std::string("Transfer-Encoding: chunked")}) {
    RawPeer peer(endpoint());
    peer.send(head_of(head));
    const bool chunked = head.starts_with("T");
    peer.send(chunked ? fmt::format("{:x}\r\n{}\r\n", good.size(), good) : good);
    peer.end_sending();
    peer.read_to_end();  // it ends
  }
  EXPECT_EQ(findings(), 0U);

  std::string largest = good;
  largest.resize(kBodyMax, ' ');
  EXPECT_EQ(send_sized(largest + " "), "413");
  std::string chunks;
  for (std::size_t sent = 0; sent <= kBodyMax; sent += 65'536) {
    chunks += "10000\r\n" + std::string(65'536, ' ') + "\r\n";
  }
  EXPECT_EQ(status_of("Transfer-Encoding: chunked", chunks + "0\r\n\r\n"), "413");
  EXPECT_EQ(findings(), 0U);

  EXPECT_EQ(send_sized(largest), "200");
  EXPECT_EQ(findings(), 1U);
  EXPECT_EQ(status_of("Transfer-Encoding: chunked",
                      fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", good.size(), good)),
            "200");
  EXPECT_EQ(findings(), 1U);
}

TEST_P(ResearchProtocolTest, AQuestionIsHeldUntilThereIsWork) {
  serve();
  EXPECT_TRUE(take("ann", 50).empty());
  RawPeer peer(endpoint());
  const std::string body = R"({"researcher":"bea","wait_ms":60000})";
  peer.send(
      fmt::format("POST /research/work HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}"
                  "\r\n\r\n{}",
                  body.size(), body));
  ASSERT_TRUE(becomes("/api/v1/research", "researchers", "2"));
  const std::int64_t clip = add_clip("clip");
  const std::int64_t episode = add_episode("episode");
  const std::string answer = peer.read_answer();
  ASSERT_EQ(answer.substr(9, 3), "200") << answer;
  const json::object item = json::parse(answer.substr(answer.find("\r\n\r\n") + 4)).as_object();
  EXPECT_EQ(item.at("episode").at("id").as_int64(), episode);
  EXPECT_THAT(clips_of(item), ElementsAre(clip));
  EXPECT_EQ(field(item.at("clips").at(0).as_object(), "title"), "clip of clip");
  EXPECT_TRUE(field(item, "expires").ends_with("Z"));
}

TEST_P(ResearchProtocolTest, AQuestionEndsWhenTheServerDoes) {
  serve();
  RawPeer peer(endpoint());
  peer.send("POST /research/work HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n");
  ASSERT_TRUE(becomes("/api/v1/research", "researchers", "1"));
  CHECK_OK(server_->signal(SIGTERM));
  EXPECT_EQ(peer.read_status(), "204");
  const auto ended = server_->wait();
  ASSERT_TRUE(ended.ok());
  EXPECT_TRUE(ended->exited_with(0)) << server_->text(support::Output::Error);
}

TEST_P(ResearchProtocolTest, AnItemThatNobodyIsThereToReceiveIsNotLost) {
  serve();
  {
    RawPeer peer(endpoint());
    peer.send("POST /research/work HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n");
    ASSERT_TRUE(becomes("/api/v1/research", "researchers", "1"));
  }
  add_clip("clip");
  add_episode("episode");
  EXPECT_FALSE(take("ann").empty());
}

TEST_P(ResearchProtocolTest, AResultIsStoredExtendsItsLeaseAndTheFinalOneEndsIt) {
  serve();
  const std::int64_t one = add_clip("one", 2);
  const std::int64_t two = add_clip("two", 1);
  add_episode("episode");
  const json::object item = take();
  ASSERT_FALSE(item.empty());
  const json::object first = tell(result_of(item, one));
  EXPECT_TRUE(first.at("stored").as_bool());
  EXPECT_TRUE(first.at("extended").as_bool());
  EXPECT_TRUE(first.contains("expires"));
  const json::object again = tell(result_of(item, one));
  EXPECT_FALSE(again.at("stored").as_bool());
  const json::object last = tell(result_of(item, two, true));
  EXPECT_TRUE(last.at("revoked").as_bool());
  EXPECT_FALSE(last.at("extended").as_bool());
  const json::object late = tell(result_of(item, two));
  EXPECT_FALSE(late.at("extended").as_bool());
  EXPECT_EQ(findings(), 2U);
}

TEST_P(ResearchProtocolTest, AWordWithoutAClipKeepsTheLeaseAliveOrGivesItBack) {
  serve();
  const std::int64_t clip = add_clip("clip");
  add_episode("episode");
  const json::object item = take();
  ASSERT_FALSE(item.empty());
  json::object word{{"lease_id", item.at("lease_id")}, {"episode", item.at("episode").at("id")}};
  const json::object kept = tell(word);
  EXPECT_TRUE(kept.at("extended").as_bool());
  EXPECT_FALSE(kept.at("stored").as_bool());
  word["final"] = true;
  EXPECT_TRUE(tell(word).at("revoked").as_bool());
  word.erase("final");
  EXPECT_FALSE(tell(word).at("extended").as_bool());
  const json::object again = take("bea");
  ASSERT_FALSE(again.empty());
  EXPECT_NE(field(again, "lease_id"), field(item, "lease_id"));
  EXPECT_THAT(clips_of(again), ElementsAre(clip));
}

TEST_P(ResearchProtocolTest, ABodyThatCannotBeTakenIsADeadLetterTheThirdTime) {
  serve();
  for (const std::string& body : {std::string("nonsense"), std::string(R"({"episode":0})"),
                                  std::string(R"({"episode":17,"clip":18})"),
                                  std::string(R"({"lease_id":"no uuid","episode":1,"clip":2})")}) {
    for (int tries = 1; tries <= 2; ++tries) {
      const net::Response refused = post("/research/results", body);
      EXPECT_TRUE(refused.status == 400 || refused.status == 404) << refused.body;
      EXPECT_THAT(refused.body, HasSubstr("detail"));
    }
    const net::Response dead = post("/research/results", body);
    EXPECT_EQ(dead.status, 200) << dead.body;
    EXPECT_TRUE(json::parse(dead.body).at("dead_letter").as_bool());
    EXPECT_FALSE(field(json::parse(dead.body).as_object(), "reason").empty());
  }
  EXPECT_EQ(get_json("/api/v1/research").at("dead_letters").as_int64(), 4);
}

TEST_P(ResearchProtocolTest, MediaIsServedWithRangesAndAsWhatItIs) {
  serve();
  add_clip("some clip");
  add_episode("0123456789");
  const json::object item = take();
  ASSERT_FALSE(item.empty());
  const std::string url = field(item.at("episode").as_object(), "url");
  ASSERT_TRUE(url.starts_with(address_)) << url;
  const std::string target = url.substr(address_.size());
  const net::Response whole = get(target);
  EXPECT_EQ(whole.status, 200);
  EXPECT_EQ(whole.body, "0123456789");
  EXPECT_EQ(*whole.headers.find("Content-Type"), "audio/mpeg");
  EXPECT_EQ(*whole.headers.find("X-Content-Type-Options"), "nosniff");
  EXPECT_THAT(*whole.headers.find("Content-Security-Policy"), HasSubstr("sandbox"));
  const net::Response part = send(Method::Get, target, "", {{"Range", "bytes=2-4"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "234");
  const net::Response head = send(Method::Head, target);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(*head.headers.find("Content-Length"), "10");
  EXPECT_EQ(get("/research/media/999999").status, 404);
  EXPECT_EQ(get("/research/media/x").status, 400);
}

TEST_P(ResearchProtocolTest, AFingerprintIsKeptForTheMediaThatItIsOf) {
  serve();
  add_clip("clip");
  const std::int64_t episode = add_episode("episode");
  const json::object item = take();
  ASSERT_FALSE(item.empty());
  const json::object& about = item.at("episode").as_object();
  EXPECT_TRUE(about.at("fingerprint").is_null());
  const std::string place = fmt::format("/research/fingerprints/{}", episode);
  const std::string version = fmt::format("?version={}", item.at("fingerprint_version").as_int64());
  const std::string good = place + version + "&sha256=" + field(about, "sha256");
  EXPECT_EQ(get(place + version).status, 404);
  const std::string large(100'000, 'f');
  const net::Headers shape = {{"Quern-Waveform", base64_encoded("shape")}};
  EXPECT_EQ(put(good, large, shape).status, 204);
  EXPECT_EQ(put(good, large, shape).status, 204);
  EXPECT_EQ(get(place + version).body, large);
  EXPECT_EQ(put(place + version + "&sha256=" + std::string(64, '0'), "x").status, 409);
  EXPECT_EQ(put(place + version, "x").status, 400);
  EXPECT_EQ(put(good, "x", {{"Quern-Waveform", "!"}}).status, 400);
  EXPECT_EQ(
      put("/research/fingerprints/999999?version=1&sha256=" + std::string(64, '0'), "x").status,
      404);
  tell({{"lease_id", item.at("lease_id")}, {"episode", episode}, {"final", true}});
  const json::object again = take("bea");
  ASSERT_FALSE(again.empty());
  EXPECT_THAT(field(again.at("episode").as_object(), "fingerprint"), HasSubstr(place));
  const support::Ran checked = folder_.run({"check"});
  EXPECT_EQ(checked.status.code, 0) << checked.standard_output << checked.standard_error;
}

TEST_P(ResearchProtocolTest, FindingsAreListedByPagesAndFilters) {
  serve();
  std::vector<std::int64_t> clips;
  for (int i = 0; i < 3; ++i) clips.push_back(add_clip(fmt::format("clip {}", i)));
  for (int i = 0; i < 2; ++i) add_episode(fmt::format("episode {}", i));
  for (int i = 0; i < 2; ++i) {
    const json::object item = take();
    ASSERT_FALSE(item.empty());
    for (const std::int64_t clip : clips_of(item)) {
      json::object result = result_of(item, clip, clip == clips_of(item).back());
      if (clip == clips[1]) result["offsets_ns"] = result["scores"] = json::array();
      tell(result);
    }
  }
  EXPECT_EQ(findings(), 6U);
  const auto count = [this](const std::string& query) {
    return get_json("/api/v1/findings?" + query).at("items").as_array().size();
  };
  EXPECT_EQ(count("found=true"), 4U);
  EXPECT_EQ(count(fmt::format("clip={}", clips[1])), 2U);
  EXPECT_EQ(count(fmt::format("clip={}&found=true", clips[1])), 0U);
  EXPECT_EQ(count("collection=default"), 6U);
  EXPECT_EQ(get("/api/v1/findings?found=maybe").status, 400);
  std::vector<std::string> seen;
  std::string after;
  for (int pages = 0; pages < 10; ++pages) {
    const json::object page = get_json("/api/v1/findings?limit=2" + after);
    for (const auto& one : page.at("items").as_array()) {
      seen.push_back(
          fmt::format("{:05}-{:05}", one.at("episode").as_int64(), one.at("clip").as_int64()));
    }
    if (!page.contains("next")) break;
    after = "&after=" + field(page, "next");
  }
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

TEST_P(ResearchProtocolTest, WhatFailedIsLookedForAgainWhenAskedTo) {
  serve();
  const std::int64_t clip = add_clip("clip");
  add_episode("episode");
  const json::object item = take();
  ASSERT_FALSE(item.empty());
  json::object failed = result_of(item, clip, true);
  failed["offsets_ns"] = failed["scores"] = json::array();
  failed["error"] = "the clip is silent";
  tell(failed);
  EXPECT_TRUE(becomes("/api/v1/research", "idle", "true"));
  EXPECT_EQ(get_json("/api/v1/research").at("failed").as_int64(), 1);
  EXPECT_EQ(post("/api/v1/research", R"({"retry":"all"})").status, 400);
  const net::Response retried = post("/api/v1/research", R"({"retry":"failed"})");
  EXPECT_EQ(json::parse(retried.body).at("reopened").as_int64(), 1) << retried.body;
  EXPECT_THAT(clips_of(take()), ElementsAre(clip));
}

TEST_P(ResearchProtocolTest, RolesSayWhoMayAskAndWhoMayRead) {
  serve({{"QUERN_ASK_EVERYBODY", "on"}});
  const auto secret = [this](const std::string& role) {
    const support::Ran ran = folder_.run({"token", "create", "--role", role});
    std::string text = ran.standard_output;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return net::Headers{{"Authorization", "Bearer " + text}};
  };
  const net::Headers worker = secret("worker");
  const net::Headers reader = secret("reader");
  const std::string hurry = R"({"wait_ms":0})";
  EXPECT_EQ(post("/research/work", hurry).status, 401);
  EXPECT_EQ(post("/research/work", hurry, worker).status, 204);
  EXPECT_EQ(post("/research/work", hurry, reader).status, 403);
  EXPECT_EQ(post("/research/results", "{}", reader).status, 403);
  EXPECT_EQ(send(Method::Get, "/api/v1/findings", "", reader).status, 200);
  EXPECT_EQ(send(Method::Get, "/api/v1/research", "", reader).status, 200);
  EXPECT_EQ(post("/api/v1/research", R"({"retry":"failed"})", reader).status, 403);
  EXPECT_EQ(send(Method::Get, "/research/media/7", "", reader).status, 404);
  EXPECT_EQ(send(Method::Get, "/research/media/7", "", worker).status, 404);
  EXPECT_EQ(send(Method::Get, "/research/fingerprints/7", "", reader).status, 403);
}

INSTANTIATE_TEST_SUITE_P(Stores, ResearchProtocolTest,
                         testing::Values(Store::Sqlite, Store::Postgres), name_of);

}  // namespace
}  // namespace quern::e2e
