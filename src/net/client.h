// Client: HTTP/1.1 requests to one server, over TCP, a Unix socket or sockets of the caller's
// making.
//
//   Client client(loop, *Endpoint::parse("unix:/run/quern.sock"), {});
//   auto response = co_await client.fetch(get_request("/healthz"), 64 * 1024);
//
// Guarantee: bodies are read when asked for and produced when there is room, so memory does not
// grow with them; every wait has a deadline; a failure says whether the server may have seen the
// request. A request goes out twice only if a kept connection turned out dead before a byte of its
// answer came, and only where repeating it changes nothing. How: one connection per request under
// way, kept afterwards for the next (at most idle_max of them).
//
// Threads: the loop's only. Lifetime: an Answer may outlive its client; both go before their loop.
// Errors: Unavailable (no connection, or it broke), Timeout, Invalid (not HTTP), TooLarge.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "io/descriptor.h"
#include "net/endpoint.h"
#include "net/head_parser.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/task.h"

namespace quern::net {

struct ClientOptions {
  std::int64_t connect_ms = 10'000;
  std::int64_t first_byte_ms = 60'000;  // from the request's last byte to the answer's head
  std::int64_t stall_ms = 60'000;       // each pause of the server while a body goes either way
  std::int64_t continue_ms = 1'000;     // after which a body is sent though nobody said 100
  std::int64_t idle_ms = 60'000;        // a connection kept longer is not used again
  std::size_t idle_max = 8;
  std::size_t head_bytes_max = 64 * 1024;
  std::string authorization;  // that header, with every request that brings none of its own
};

// Puts the next bytes of a body into the buffer; 0 at its end.
using BodyProducer = std::function<Task<Result<std::size_t>>(std::span<char>)>;

enum class Expectation { None, Continue };
enum class Repeat { ByMethod, Never, Always };

struct Request {
  Method method = Method::Get;
  std::string target = "/";
  Headers headers;
  std::string body;
  BodyProducer producer;                        // instead of body; never repeated
  std::optional<std::uint64_t> producer_bytes;  // if known; chunked otherwise
  Expectation expectation = Expectation::None;
  Repeat repeat = Repeat::ByMethod;
  std::int64_t first_byte_ms = 0;  // 0: the client's; long polls want more
  // From send() to the last byte of the answer, 0: no limit. Looked at while waiting for the
  // answer; connecting and sending have the deadlines of their own.
  std::int64_t total_ms = 0;
};

Request get_request(std::string target);
Request post_request(std::string target, std::string body, std::string content_type);

// The head of an answer, and its body on demand. One that is dropped before its end closes the
// connection.
class Answer {
 public:
  Answer(Answer&&) noexcept;
  Answer& operator=(Answer&&) noexcept;
  ~Answer();

  int status() const { return head_.status; }
  const Headers& headers() const { return head_.headers; }
  // At least one byte, or 0 at the end.
  Task<Result<std::size_t>> read(std::span<char> buffer);
  Task<Result<std::string>> read_all(std::size_t bytes_max);

 private:
  friend class ClientCore;
  Answer(ResponseHead head, std::unique_ptr<class ClientConnection> connection);

  ResponseHead head_;
  std::unique_ptr<class ClientConnection> connection_;
};

enum class Reached { No, Maybe };
struct Sent {
  Reached reached;  // No: not a byte of the request has left this process
  Result<Answer> answer;
  bool byte_received = false;  // of an answer that then broke off
};

// Makes connected stream sockets.
using Connector = std::function<Task<Result<io::Descriptor>>()>;

class Client {
 public:
  Client(Loop& loop, Endpoint endpoint, ClientOptions options);
  // The authority is for the Host header.
  Client(Loop& loop, Connector connector, std::string authority, ClientOptions options);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // An answer that comes before the body has gone out ends the sending.
  Task<Sent> send(Request request);
  // The whole answer; TooLarge where its body is longer than that.
  Task<Result<Response>> fetch(Request request, std::size_t body_bytes_max);
  std::size_t idle_connections() const;

 private:
  std::shared_ptr<class ClientCore> core_;
};

// Tries the endpoint's addresses in turn. Unavailable, Timeout, or Denied from the file system.
Task<Result<io::Descriptor>> connect(Loop& loop, Endpoint endpoint, std::int64_t connect_ms);

}  // namespace quern::net
