// For end-to-end tests of search: a server whose documents a test makes by itself, and questions.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "e2e/worker_protocol_fixture.h"

namespace quern::e2e {

// Waits for what a server brings about by itself.
inline bool eventually(const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

// A target that asks for these words; `more`: further parameters, "&limit=5".
inline std::string question(const std::string& words, const std::string& more = "",
                            const std::string& path = "/api/v1/search") {
  std::string target = path;
  net::append_query(target, "q", words);
  return target + more;
}

// Of each hit its filename, in order.
inline std::vector<std::string> names_of(const boost::json::object& answer) {
  std::vector<std::string> names;
  const boost::json::value* hits = answer.if_contains("hits");
  if (hits == nullptr) return names;
  for (const auto& hit : hits->as_array()) names.emplace_back(hit.at("filename").as_string());
  return names;
}

inline std::vector<std::string> sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

class SearchingTest : public WorkerProtocolTest {
 protected:
  // Packs come soon.
  void serve_search(support::Environment more = {}) {
    support::Environment settings = {{"QUERN_SEARCH_SETTLE", "100"}, {"QUERN_SEARCH_DELAY", "200"}};
    settings.insert(settings.end(), more.begin(), more.end());
    serve(std::move(settings));
  }

  // A text that becomes a document with these words. Returns its job.
  std::int64_t add_document(const std::string& filename, const std::string& text,
                            const std::string& collection = "default") {
    const std::int64_t job = put_text(filename, collection);
    WorkerPeer peer = worker();
    const LentTask task = peer.take("Text");
    EXPECT_EQ(peer.post_all(task, document_body(Style::SingleFile, task.filename(), text)), 202);
    EXPECT_TRUE(finishes(job));
    return job;
  }
  // Only the file: somebody has to play the step.
  std::int64_t put_text(const std::string& filename, const std::string& collection) {
    std::string target = "/api/v1/collections";
    net::append_segment(target, collection);
    target += "/files";
    net::append_query(target, "filename", filename);
    net::append_query(target, "content_type", "text/plain");
    const net::Response answer = post(target, "bytes of " + filename);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return boost::json::parse(answer.body).at("job").as_int64();
  }
  // Publishes what has changed, as one step.
  boost::json::object pack(const std::string& collection = "default",
                           const std::string& more = "") {
    const net::Response answer =
        post("/api/v1/collections/" + collection + "/pack?wait=60000" + more);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return boost::json::parse(answer.body).as_object();
  }

  boost::json::object ask(const std::string& words, const std::string& more = "") {
    return get_json(question(words, more));
  }
  Names found(const std::string& words, const std::string& more = "") {
    return names_of(ask(words, more));
  }
  bool finds(const std::string& words, const Names& names) {
    return eventually([&] { return sorted(found(words)) == names; });
  }
};

}  // namespace quern::e2e
