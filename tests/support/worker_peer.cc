#include "support/worker_peer.h"

#include <fmt/format.h>
#include <poll.h>

#include <boost/json.hpp>

#include "base/log.h"
#include "support/program.h"

namespace quern::support {
namespace {

std::string host_of(const net::Endpoint& server) {
  return server.authority();
}

}  // namespace

boost::json::object HttpAnswer::json() const {
  boost::system::error_code failed;
  const boost::json::value value = boost::json::parse(body, failed);
  if (!failed && value.is_object()) return value.get_object();
  ADD_FAILURE() << "no JSON object: " << head << body;
  return {};
}

HttpAnswer read_answer(net::RawPeer& peer) {
  HttpAnswer answer;
  const std::string text = peer.read_answer();
  const std::size_t end = text.find("\r\n\r\n");
  if (!text.starts_with("HTTP/1.1 ") || end == std::string::npos) return answer;
  answer.status = std::atoi(text.c_str() + std::string_view("HTTP/1.1 ").size());
  answer.head = text.substr(0, end);
  answer.body = text.substr(end + 4);
  return answer;
}

Multipart& Multipart::cut_part(std::string_view name, std::string_view data) {
  if (!first_ || style_ == Style::Email) text_ += "\r\n";
  first_ = false;
  const std::string_view quote = style_ == Style::Archive ? "\"" : "";
  text_ += fmt::format("--{}\r\nContent-Disposition: form-data; name={}{}{}\r\n\r\n", kBoundary,
                       quote, name, quote);
  text_ += data;
  return *this;
}

// The line end before a delimiter is the delimiter's: it comes with the next part or the close.
Multipart& Multipart::part(std::string_view name, std::string_view data) {
  return cut_part(name, data);
}

Multipart& Multipart::child(int index, std::string_view filename, std::string_view content_type) {
  return part(fmt::format("{}.json", index), child_json(filename, content_type));
}

std::string Multipart::close() {
  text_ += fmt::format("\r\n--{}--", kBoundary);
  return take();
}

std::string child_json(std::string_view filename, std::string_view content_type,
                       std::string_view metadata) {
  return fmt::format(
      R"({{"filename":"{}","contentType":"{}","languageCode":"en","metadata":{},"wantOcr":false,)"
      R"("wantSplitByPage":false}})",
      json_escaped(filename), content_type, metadata);
}

std::string LentTask::path() const {
  const std::string url(json.at("url").as_string());
  const std::size_t host = url.find("//");
  return url.substr(url.find('/', host + 2));
}

FragmentPost::FragmentPost(const net::Endpoint& server, const std::string& path,
                           std::string_view content_type)
    : peer_(server) {
  peer_.send(
      fmt::format("POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: Go-http-client/1.1\r\n"
                  "Transfer-Encoding: chunked\r\nContent-Type: {}\r\n"
                  "Accept-Encoding: gzip\r\n\r\n",
                  path, host_of(server), content_type));
}

void FragmentPost::chunk(std::string_view bytes) {
  if (bytes.empty()) return;
  // In one piece, as Go's bufio does for what fits.
  peer_.send(fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes));
}

HttpAnswer FragmentPost::finish() {
  peer_.send("0\r\n\r\n");
  return read_answer(peer_);
}

bool FragmentPost::was_answered_early() const {
  pollfd readable{peer_.fd(), POLLIN, 0};
  return ::poll(&readable, 1, 0) > 0;
}

std::string WorkerPeer::poll_text(std::string_view step, std::string_view query) const {
  return fmt::format(
      "POST /steps/{}{}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: Go-http-client/1.1\r\n"
      "Content-Length: 0\r\nContent-Type: text/plain\r\nAccept-Encoding: gzip\r\n\r\n",
      step, query.empty() ? "" : "?", query, host_.empty() ? host_of(server_) : host_);
}

HttpAnswer WorkerPeer::poll(std::string_view step, std::string_view query) {
  if (!polling_) polling_ = std::make_unique<net::RawPeer>(server_);
  polling_->send(poll_text(step, query));
  return read_answer(*polling_);
}

net::RawPeer WorkerPeer::begin_poll(std::string_view step) {
  net::RawPeer peer(server_);
  peer.send(poll_text(step, ""));
  return peer;
}

LentTask WorkerPeer::take(std::string_view step) {
  const auto give_up = std::chrono::steady_clock::now() + kProgramPatience;
  while (std::chrono::steady_clock::now() < give_up) {
    const HttpAnswer answer = poll(step);
    if (answer.status == 201) return {answer.json()};
    if (answer.status == 204) continue;
    ADD_FAILURE() << "a poll was answered " << answer.head << answer.body;
    break;
  }
  ADD_FAILURE() << "no task for " << step;
  return {};
}

HttpAnswer WorkerPeer::request(std::string_view method, std::string_view path,
                               std::string_view body, std::string_view headers) {
  net::RawPeer peer(server_);
  peer.send(fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n{}Content-Length: {}\r\n\r\n{}", method,
                        path, host_of(server_), headers, body.size(), body));
  if (method != "HEAD") return read_answer(peer);
  HttpAnswer answer;
  answer.head = peer.read_until("\r\n\r\n");
  answer.status = answer.head.size() > 9 ? std::atoi(answer.head.c_str() + 9) : 0;
  return answer;
}

int WorkerPeer::post_all(const LentTask& task, std::string_view body) {
  FragmentPost sending = post(task);
  sending.chunk(body);
  return sending.finish().status;
}

}  // namespace quern::support
