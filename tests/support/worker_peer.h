// WorkerPeer: a converter that speaks the worker protocol on raw sockets, byte for byte as the
// public ones do, so that a test decides what is sent, where the chunks end and when the connection
// dies.
//
//   WorkerPeer worker(endpoint);
//   const LentTask task = worker.take("Archive");
//   FragmentPost post = worker.post(task);
//   post.chunk(Multipart(Style::Archive).part("done", "").close());
//   EXPECT_EQ(post.finish().status, 202);
//
// Everything blocks, and fails the test after some seconds instead of hanging. One thread.
#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/raw_peer.h"

namespace quern::support {

struct HttpAnswer {
  int status = 0;
  std::string head;
  std::string body;

  boost::json::object json() const;  // fails the test where it is none
};
// Reads one answer; its body by Content-Length, none where it has none.
HttpAnswer read_answer(net::RawPeer& peer);

// Which public converter's habits: names quoted or not, an empty preamble or none.
enum class Style { Archive, Email, SingleFile };

// A multipart body as they write it: one header a part, no line end behind the close delimiter.
class Multipart {
 public:
  static constexpr std::string_view kBoundary =
      "MIMEBOUNDARY0123456789abcdefghijklmnopqrstuvwxyz01";

  explicit Multipart(Style style) : style_(style) {}

  Multipart& part(std::string_view name, std::string_view data);
  // A child's description, with these fields and the usual others.
  Multipart& child(int index, std::string_view filename, std::string_view content_type);
  // As much of a part as comes before its end.
  Multipart& cut_part(std::string_view name, std::string_view data);
  std::string close();
  // What was added since the last take() or close(): for bodies sent bit by bit.
  std::string take() { return std::exchange(text_, {}); }

 private:
  Style style_;
  bool first_ = true;
  std::string text_;
};
// The JSON of a child: all fields, with these values.
std::string child_json(std::string_view filename, std::string_view content_type,
                       std::string_view metadata = "{}");

struct LentTask {
  boost::json::object json;

  std::string id() const { return std::string(json.at("id").as_string()); }
  std::int64_t file() const { return json.at("file").as_int64(); }
  std::string filename() const { return std::string(json.at("filename").as_string()); }
  std::string path() const;  // of its url, without host
  const boost::json::object& blob() const { return json.at("blob").as_object(); }
};

// The POST that brings a task's fragments: chunked, on a connection of its own, open until told.
class FragmentPost {
 public:
  FragmentPost(const net::Endpoint& server, const std::string& path, std::string_view content_type);

  // One HTTP chunk.
  void chunk(std::string_view bytes);
  // Ends the body; the answer.
  HttpAnswer finish();
  // Whether the server has answered although the body goes on.
  bool was_answered_early() const;
  // The worker dies: the connection with it.
  void die() { peer_.reset(); }
  net::RawPeer& peer() { return peer_; }

 private:
  net::RawPeer peer_;
};

inline constexpr std::string_view kMultipartType =
    "multipart/form-data; boundary=\"MIMEBOUNDARY0123456789abcdefghijklmnopqrstuvwxyz01\"";

class WorkerPeer {
 public:
  explicit WorkerPeer(net::Endpoint server) : server_(std::move(server)) {}

  // One poll, as Go's client sends it; over the same connection each time.
  HttpAnswer poll(std::string_view step, std::string_view query = "");
  // Only the request of a poll: the answer is for whoever reads.
  net::RawPeer begin_poll(std::string_view step);
  // Polls until there is a task. Fails the test where none comes.
  LentTask take(std::string_view step);
  // Whether one poll brings nothing.
  bool finds_nothing(std::string_view step) { return poll(step).status == 204; }

  HttpAnswer request(std::string_view method, std::string_view path, std::string_view body = "",
                     std::string_view headers = "");
  HttpAnswer get(const std::string& path) { return request("GET", path); }
  int head(const std::string& path) { return request("HEAD", path).status; }
  std::string blob_of(const LentTask& task) { return get(task.path() + "/blob").body; }

  FragmentPost post(const LentTask& task, std::string_view content_type = kMultipartType) {
    return FragmentPost(server_, task.path(), content_type);
  }
  // The whole body in one chunk.
  int post_all(const LentTask& task, std::string_view body);
  // A single fragment.
  int post_one(const LentTask& task, const std::string& name, std::string_view body) {
    return request("POST", task.path() + "/" + name, body).status;
  }
  const net::Endpoint& server() const { return server_; }
  // The Host that polls say; the address by default.
  void set_host(std::string host) { host_ = std::move(host); }

 private:
  std::string poll_text(std::string_view step, std::string_view query) const;

  net::Endpoint server_;
  std::string host_;
  std::unique_ptr<net::RawPeer> polling_;
};

}  // namespace quern::support
