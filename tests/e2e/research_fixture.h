// For tests of research through the real server, on either store: episodes and clips of any bytes,
// and requests as researchers make them.
#pragma once

#include <fmt/format.h>

#include "e2e/http_fixture.h"

namespace quern::e2e {

class ResearchServedTest : public ServedTest {
 protected:
  // Nothing is served before serve(): each test says with what.
  void SetUp() override {}

  void serve(const support::Environment& more = {}) {
    settings_ = {{"QUERN_STEPS", "none"},
                 {"QUERN_LOCAL_RESEARCH", "0"},
                 {"QUERN_FREE_MIN", "0"},
                 {"QUERN_GRACE", "5"}};
    settings_.insert(settings_.end(), more.begin(), more.end());
    start();
  }
  void start() {
    server_ = folder_.start({"serve", "--listen", "127.0.0.1:0"}, settings_);
    const auto line = server_->wait_for_line(support::Output::Standard, "http://");
    CHECK_OK(line);
    address_ = line->substr(line->find("http://"));
  }
  net::Endpoint endpoint() const {
    return *net::Endpoint::parse(address_.substr(std::string("http://").size()));
  }

  // An episode or a clip of these bytes: "episodes" or "clips".
  std::int64_t curate(const std::string& kind, const std::string& title, const std::string& bytes,
                      std::int64_t priority = 0) {
    std::string target = "/api/v1/collections/default/files";
    net::append_query(target, "filename", title + ".mp3");
    net::append_query(target, "content_type", "audio/mpeg");
    const net::Response added = post(target, bytes);
    EXPECT_EQ(added.status, 201) << added.body;
    const std::int64_t file = boost::json::parse(added.body).at("file").as_int64();
    const net::Response made =
        post("/api/v1/" + kind,
             fmt::format(R"({{"priority":{},"sources":[{{"file":{},"title":"{}"}}]}})", priority,
                         file, title));
    EXPECT_EQ(made.status, 202) << made.body;
    return boost::json::parse(made.body).at(kind).at(0).at("id").as_int64();
  }
  std::int64_t add_episode(const std::string& bytes, std::int64_t priority = 0) {
    return curate("episodes", "episode of " + bytes, bytes, priority);
  }
  std::int64_t add_clip(const std::string& bytes, std::int64_t priority = 0) {
    return curate("clips", "clip of " + bytes, bytes, priority);
  }

  // An item within a while; {} where none came.
  boost::json::object take(const std::string& researcher = "ann", std::int64_t wait_ms = 10'000) {
    const net::Response answer =
        post("/research/work",
             fmt::format(R"({{"researcher":"{}","wait_ms":{}}})", researcher, wait_ms));
    if (answer.status == 204) return {};
    EXPECT_EQ(answer.status, 200) << answer.body;
    return boost::json::parse(answer.body).as_object();
  }
  static std::vector<std::int64_t> clips_of(const boost::json::object& item) {
    std::vector<std::int64_t> ids;
    for (const auto& clip : item.at("clips").as_array()) ids.push_back(clip.at("id").as_int64());
    return ids;
  }
  static boost::json::object result_of(const boost::json::object& item, std::int64_t clip,
                                       bool final = false) {
    return {{"lease_id", item.at("lease_id")},
            {"episode", item.at("episode").at("id")},
            {"clip", clip},
            {"offsets_ns", boost::json::array{5, 7}},
            {"scores", boost::json::array{0.5, 1}},
            {"episode_duration_ns", 1000},
            {"clip_duration_ns", 10},
            {"final", final}};
  }
  boost::json::object tell(const boost::json::object& result) {
    const net::Response answer = post("/research/results", boost::json::serialize(result));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return boost::json::parse(answer.body).as_object();
  }
  std::size_t findings() {
    return get_json("/api/v1/findings?limit=1000").at("items").as_array().size();
  }
  bool comes_to_findings(std::size_t count) {
    const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
    while (findings() != count) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }

  support::Environment settings_;
};

}  // namespace quern::e2e
