// Steps played by a test: what Text gives back, and a Detect that looks at names only.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/json.hpp>
#include <map>
#include <thread>

#include "support/worker_peer.h"

namespace quern::e2e {

using support::FragmentPost;
using support::HttpAnswer;
using support::LentTask;
using support::Multipart;
using support::Style;
using support::WorkerPeer;

// What the server takes for a PDF and for pictures.
inline const std::string kPdf = "%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n";
inline const std::string kPng("\x89PNG\r\n\x1a\nrest", 12);
inline const std::string kJpeg("\xFF\xD8\xFF\xE0rest", 8);

// What a step makes of a text: a whole document.
inline std::string document_body(Style style, std::string_view filename, std::string_view text) {
  return Multipart(style)
      .child(0, filename, "application/pdf")
      .part("0.blob", kPdf)
      .part("0-thumbnail.jpg", kJpeg)
      .part("0.txt", text)
      .part("done", "")
      .close();
}

// Answers Detect by the ends of names, on a thread of its own, until destroyed.
class Detector {
 public:
  using Types = std::map<std::string, std::string>;  // ".zip": application/zip

  Detector(const net::Endpoint& server, Types types)
      : types_(std::move(types)), thread_([this, server] { run(WorkerPeer(server)); }) {}
  ~Detector() {
    stopping_ = true;
    thread_.join();
  }
  Detector(const Detector&) = delete;
  Detector& operator=(const Detector&) = delete;

  int files() const { return files_; }

 private:
  void run(WorkerPeer peer) {
    while (!stopping_) {
      const HttpAnswer answer = peer.poll("Detect", "tasks=64");
      if (answer.status == 201) detect(peer, answer.json());
      if (answer.status != 201 && answer.status != 204) return;
    }
  }
  void detect(WorkerPeer& peer, const boost::json::object& answer) {
    for (const auto& task : answer.at("tasks").as_array()) {
      boost::json::array types;
      for (const auto& file : task.at("files").as_array()) {
        types.push_back({{"file", file.at("file")}, {"type", type_of(file.at("filename"))}});
        ++files_;
      }
      const boost::json::object body{{"types", std::move(types)}};
      EXPECT_EQ(peer.post_one({task.as_object()}, "types", boost::json::serialize(body)), 202);
    }
  }
  std::string type_of(const boost::json::value& filename) const {
    const std::string_view name = filename.as_string();
    for (const auto& [end, type] : types_) {
      if (name.ends_with(end)) return type;
    }
    return "application/octet-stream";
  }

  Types types_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> files_ = 0;
  std::thread thread_;
};

}  // namespace quern::e2e
