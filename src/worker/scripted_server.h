// For tests of the broker: a server that lends what it is told to and keeps what it was sent.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "net/event.h"
#include "net/server.h"
#include "worker/base64.h"

namespace quern::worker {

// One POST on a task's URL.
struct Posted {
  std::string path;
  std::string body;
  std::string content_type;
  bool whole = false;  // it ended as it should
};

class ScriptedServer {
 public:
  explicit ScriptedServer(net::Loop& loop) : loop_(loop), changed_(loop) {}
  ~ScriptedServer() {
    if (server_) stop();
  }

  void listen(const std::string& endpoint = "127.0.0.1:0") {
    net::ServerOptions options;
    options.listen = {*net::Endpoint::parse(endpoint)};
    auto server = net::Server::open(loop_, options, [this](net::Exchange& e) { return serve(e); });
    CHECK_OK(server);
    server_.emplace(*std::move(server));
    endpoint_ = server_->endpoints().at(0);
  }
  // Every connection breaks.
  void stop() {
    const auto stopping = [](net::Server* server) -> net::Task<bool> {
      co_await server->stop(0);
      co_return true;
    };
    loop_.run_until(stopping(&*server_));
    server_.reset();
  }
  const net::Endpoint& endpoint() const { return endpoint_; }

  // A file named like what a hostile step shall do. `blob` are more fields of the blob's.
  void lend(const std::string& id, const std::string& filename, const std::string& bytes = "input",
            const std::string& blob = "") {
    blobs[id] = bytes;
    waiting.push_back({id, filename, bytes.size(), blob});
    changed_.notify_all();
  }

  // Until the condition holds; fails the test after a long while.
  template <class Condition>
  void run_until(Condition condition) {
    const auto wait = [](net::Event* changed, Condition* holds) -> net::Task<bool> {
      const net::Instant deadline = net::in_ms(60'000);
      while (!(*holds)() && net::in_ms(0) < deadline) {
        co_await changed->wait(std::min(deadline, net::in_ms(20)));
      }
      co_return (*holds)();
    };
    EXPECT_TRUE(loop_.run_until(wait(&changed_, &condition))) << "it never came";
  }
  void run_until_posted(std::size_t count) {
    run_until([this, count] { return posted.size() >= count; });
  }

  struct Waiting {
    std::string id;
    std::string filename;
    std::size_t bytes;
    std::string blob;
  };
  std::deque<Waiting> waiting;
  std::map<std::string, std::string> blobs;
  std::set<std::string> gone;
  std::vector<Posted> posted;
  std::vector<std::string> polls;
  std::vector<std::string> heads;
  std::vector<std::string> gets;
  std::string authorization;  // of the last poll
  std::uint64_t bytes_read = 0;
  bool reads = true;  // bodies
  bool lends_files = false;
  std::int64_t hold_ms = 100;
  std::size_t tasks_max = 64;

 private:
  net::Task<Result<>> serve(net::Exchange& exchange) {
    const std::string& target = exchange.request().target;
    const std::string path = target.substr(0, target.find('?'));
    const auto slashes = std::count(path.begin(), path.end(), '/');
    const std::string id = path.substr(path.find('/', 7) + 1);
    switch (exchange.request().method) {
      case net::Method::Head:
        heads.push_back(path);
        changed_.notify_all();
        co_return co_await exchange.respond(net::empty_response(gone.contains(id) ? 404 : 200));
      case net::Method::Get:
        gets.push_back(path);
        co_return co_await send_blob(exchange, id.substr(0, id.find('/')));
      default:
        if (slashes == 2) co_return co_await lend_some(exchange, target);
        co_return co_await take(exchange, path);
    }
  }

  net::Task<Result<>> lend_some(net::Exchange& exchange, std::string target) {
    polls.push_back(target);
    const std::string* who = exchange.request().headers.find("Authorization");
    authorization = who != nullptr ? *who : "";
    const net::Instant deadline = net::in_ms(hold_ms);
    while (waiting.empty() && net::in_ms(0) < deadline) {
      const net::WaitEnd end = co_await exchange.wait(changed_, deadline);
      if (end == net::WaitEnd::PeerGone || end == net::WaitEnd::Stopping) break;
    }
    if (waiting.empty()) co_return co_await exchange.respond(net::empty_response(204));
    const std::string base = "http://" + *exchange.request().headers.find("Host") +
                             target.substr(0, target.find('?')) + "/";
    std::string list;
    for (std::size_t i = 0; i < tasks_max && !waiting.empty(); ++i) {
      list += (list.empty() ? "" : ",") + task_json(base, waiting.front());
      waiting.pop_front();
    }
    if (lends_files) list = R"({"id":"d","url":")" + base + R"(d","files":[)" + list + "]}";
    co_return co_await exchange.respond(net::json_response(201, R"({"tasks":[)" + list + "]}"));
  }

  static std::string task_json(const std::string& base, const Waiting& task) {
    return R"({"id":")" + task.id + R"(","file":)" + std::to_string(task.id[0]) + R"(,"url":")" +
           base + task.id + R"(","filename":")" + task.filename +
           R"(","contentType":"application/octet-stream","languageCode":"en","metadata":{"k":1},)"
           R"("wantOcr":false,"wantSplitByPage":true,"blob":{"url":")" +
           base + task.id + R"(/blob","nBytes":)" + std::to_string(task.bytes) + R"(,"sha1":"")" +
           task.blob + "}}";
  }

  net::Task<Result<>> send_blob(net::Exchange& exchange, std::string id) {
    if (!blobs.contains(id)) co_return co_await exchange.respond(net::empty_response(404));
    co_return co_await exchange.respond(net::text_response(200, blobs[id]));
  }

  net::Task<Result<>> take(net::Exchange& exchange, std::string path) {
    Posted one{path};
    if (const std::string* type = exchange.request().headers.find("Content-Type")) {
      one.content_type = *type;
    }
    exchange.limit_body(UINT64_MAX);
    std::string buffer(64 * 1024, '\0');
    for (;;) {
      while (!reads) co_await changed_.wait(net::in_ms(20));
      const auto n = co_await exchange.read(buffer);
      one.whole = n.ok();
      if (!n || *n == 0) break;
      bytes_read += *n;
      if (one.body.size() < (8 << 20)) one.body.append(buffer.data(), *n);
      changed_.notify_all();
    }
    posted.push_back(one);
    changed_.notify_all();
    co_return co_await exchange.respond(net::text_response(202, "taken"));
  }

  net::Loop& loop_;
  net::Event changed_;
  std::optional<net::Server> server_;
  net::Endpoint endpoint_;
};

// The parts of a multipart body by their names, in order; a body that does not end as one must
// has a last part named "(broken)".
inline std::vector<std::pair<std::string, std::string>> parts_of(const std::string& body) {
  std::vector<std::pair<std::string, std::string>> parts;
  const std::string delimiter = "\r\n" + body.substr(0, body.find("\r\n"));
  std::string rest = "\r\n" + body;
  for (;;) {
    rest.erase(0, delimiter.size());
    if (rest == "--") return parts;
    const std::size_t name = rest.find("name=\"") + 6;
    const std::size_t begin = rest.find("\r\n\r\n") + 4;
    const std::size_t end = rest.find(delimiter, begin);
    if (end == std::string::npos) break;
    parts.emplace_back(rest.substr(name, rest.find('"', name) - name),
                       rest.substr(begin, end - begin));
    rest.erase(0, end);
  }
  parts.emplace_back("(broken)", rest);
  return parts;
}

}  // namespace quern::worker
