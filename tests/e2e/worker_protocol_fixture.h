// For tests of the worker protocol: the real server without workers of its own, and scripted peers
// that play them. Hold times are short, so that tests wait for nothing; the idle time is long
// unless a test is about it.
#pragma once

#include <fmt/format.h>

#include <set>

#include "e2e/http_fixture.h"
#include "e2e/scripted_steps.h"

namespace quern::e2e {

struct Added {
  std::int64_t file = 0;
  std::int64_t job = 0;
};

// For tests with a Detector: the server's own, which it has though it has no other worker, would
// take some of the files.
inline const support::Environment kOwnDetector = {{"QUERN_STEPS", "Detect=0"}};

class WorkerProtocolTest : public ServedTest {
 protected:
  // Nothing is served before serve(): each test says with what.
  void SetUp() override {}

  void serve(support::Environment more = {}) {
    settings_ = {{"QUERN_STEPS", "none"}, {"QUERN_POLL_HOLD", "300"}, {"QUERN_TASK_IDLE", "600000"},
                 {"QUERN_LEASE", "1"},  // a dead server's shards are taken over soon
                 {"QUERN_SCAN", "50"},    {"QUERN_FREE_MIN", "0"}};
    for (auto& setting : more) {
      std::erase_if(settings_, [&](const auto& old) { return old.first == setting.first; });
      settings_.push_back(std::move(setting));
    }
    start();
  }
  // SIGKILL, and up again on the same folder, at another port.
  void kill_and_restart() {
    server_->kill();
    start();
  }
  WorkerPeer worker() const { return WorkerPeer(endpoint_); }

  // A root file, with a job of its own. `more`: further parameters, "&ocr=1".
  Added add(const std::string& filename, const std::string& bytes,
            const std::string& content_type = "", const std::string& more = "") {
    std::string target = "/api/v1/collections/default/files";
    net::append_query(target, "filename", filename);
    if (!content_type.empty()) net::append_query(target, "content_type", content_type);
    const net::Response answer = post(target + more, bytes);
    EXPECT_EQ(answer.status, 201) << answer.body;
    const auto added = boost::json::parse(answer.body);
    return {added.at("file").as_int64(), added.at("job").as_int64()};
  }
  // Several roots in one job, all of one type.
  std::int64_t add_many(const std::vector<std::string>& filenames,
                        const std::string& content_type) {
    const net::Response made = post("/api/v1/jobs", "{}");
    EXPECT_EQ(made.status, 201) << made.body;
    const std::int64_t job = boost::json::parse(made.body).at("job").as_int64();
    for (std::size_t i = 0; i < filenames.size(); ++i) {
      add(filenames[i], "bytes of " + filenames[i], content_type,
          fmt::format("&job={}&index={}", job, i));
    }
    EXPECT_EQ(post(fmt::format("/api/v1/jobs/{}/seal", job), "{}").status, 200);
    return job;
  }

  bool finishes(std::int64_t job) {
    return becomes(fmt::format("/api/v1/jobs/{}", job), "state", "done");
  }
  std::string state_of(std::int64_t job) {
    return field(get_json(fmt::format("/api/v1/jobs/{}", job)), "state");
  }
  boost::json::object file(std::int64_t id) {
    return get_json(fmt::format("/api/v1/files/{}", id));
  }
  // Everything that a list has of a job: "files", "documents?text=1", "errors".
  std::vector<boost::json::object> list(std::string what, std::int64_t job) {
    std::string target = "/api/v1/" + what;
    net::append_query(target, "job", std::to_string(job));
    std::vector<boost::json::object> all;
    const std::string first = target;
    for (;;) {
      const boost::json::object page = get_json(target);
      if (!page.contains("items")) break;
      for (const auto& item : page.at("items").as_array()) all.push_back(item.as_object());
      const boost::json::value* next = page.if_contains("next");
      if (next == nullptr || next->is_null()) break;
      target = first;
      net::append_query(target, "after", next->as_string());
    }
    return all;
  }
  std::vector<std::string> texts(std::int64_t job) {
    std::vector<std::string> all;
    for (const auto& line : list("documents?text=1", job)) all.push_back(field(line, "text"));
    return all;
  }
  // "filename kind: message", sorted.
  std::vector<std::string> errors(std::int64_t job) {
    std::vector<std::string> all;
    for (const auto& line : list("errors", job)) {
      all.push_back(fmt::format("{} {}: {}", field(line, "filename"), field(line, "kind"),
                                field(line, "message")));
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  // The whole tree without ids: what two runs must have in common.
  std::vector<std::string> tree(std::int64_t job) {
    std::vector<std::string> all;
    for (boost::json::object line : list("files", job)) {
      line.erase("file");
      line.erase("parent");
      all.push_back(boost::json::serialize(line));
    }
    for (boost::json::object line : list("documents?text=1", job)) {
      line.erase("document");
      all.push_back(boost::json::serialize(line));
    }
    for (const std::string& error : errors(job)) all.push_back(error);
    std::sort(all.begin(), all.end());
    return all;
  }
  // Files of the blob folder: those too large to lie in the database.
  std::size_t blob_files() const {
    std::size_t files = 0;
    std::error_code ignored;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(folder_.path() / "blobs", ignored)) {
      if (entry.is_regular_file(ignored)) ++files;
    }
    return files;
  }
  // `quern check`, asked of the running server or of the folder.
  void expect_clean() {
    const support::Ran ran = folder_.run({"check"});
    EXPECT_EQ(ran.status.code, 0) << ran.standard_output << ran.standard_error;
  }

  // Whether so many polls of a step come to be held.
  bool becomes_polled(std::string_view step, std::int64_t polls) {
    const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
    while (std::chrono::steady_clock::now() < give_up) {
      const boost::json::object steps = get_json("/api/v1/steps");
      for (const auto& item : steps.at("items").as_array()) {
        const std::int64_t held = item.at("workers").as_int64() - item.at("running").as_int64();
        if (item.at("step").as_string() == step && held == polls) return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  void convert_one(WorkerPeer& peer, std::string_view step = "Text") {
    const LentTask task = peer.take(step);
    const std::string text = "text of " + task.filename();
    EXPECT_EQ(peer.post_all(task, document_body(Style::SingleFile, task.filename(), text)), 202);
  }
  // Plays the Text step for whatever waits, until nothing does.
  void convert_texts(WorkerPeer& peer, std::string_view step = "Text") {
    for (HttpAnswer answer = peer.poll(step); answer.status == 201; answer = peer.poll(step)) {
      const LentTask task{answer.json()};
      const std::string text = "text of " + task.filename();
      EXPECT_EQ(peer.post_all(task, document_body(Style::SingleFile, task.filename(), text)), 202);
    }
  }

  support::Environment settings_;
  net::Endpoint endpoint_;

 private:
  void start() {
    server_ = folder_.start({"serve", "--listen", "127.0.0.1:0"}, settings_);
    const auto line = server_->wait_for_line(support::Output::Standard, "http://");
    CHECK_OK(line);
    address_ = line->substr(line->find("http://"));
    endpoint_ = net::Endpoint::parse(address_.substr(std::string("http://").size())).value();
  }
};

// So that both stores are run; those that do not depend on the store name one.
#define QUERN_ON_BOTH_STORES(suite) \
  INSTANTIATE_TEST_SUITE_P(Stores, suite, testing::Values(Store::Sqlite, Store::Postgres), name_of)

}  // namespace quern::e2e
