// Exchange: one request and its answer, as a handler sees them.
//
//   Task<Result<>> hello(Exchange& exchange) {
//     CO_TRY_ASSIGN(const std::string name, co_await exchange.read_all(4096));
//     co_return co_await exchange.respond(text_response(200, "hello " + name));
//   }
//
// Guarantee: body bytes are taken from the socket only when the handler asks for them, so an upload
// that nobody reads stalls its sender and costs no memory. Every request gets one answer: an error
// that the handler returns before answering becomes a problem document, a handler that throws or
// forgets to answer a 500; an answer that was begun and cannot be finished ends with the connection
// cut, so that no client takes a part for the whole. How: see net/server.h for the limits.
// Deadlines run only while we wait for the peer.
//
// Threads: the loop's only. Lifetime: until the handler returns.
// Errors of reading: TooLarge, Invalid (malformed chunks), Timeout (stalled), Unavailable (the peer
// has gone), Canceled (interrupted). Of answering: Timeout, Unavailable. Returning them is handling
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/body_decoder.h"
#include "net/endpoint.h"
#include "net/event.h"
#include "net/http.h"
#include "net/range.h"
#include "net/task.h"

namespace quern::net {

class Connection;

// Bytes of known size that can be read from any offset: a blob, a file, a text.
class ContentSource {
 public:
  virtual ~ContentSource() = default;
  // How many bytes were put into `output`, at least one: it is not asked beyond the size.
  virtual Task<Result<std::size_t>> read_at(std::uint64_t offset, std::span<char> output) = 0;
};

struct Content {
  std::uint64_t size = 0;
  std::string content_type = "application/octet-stream";
  std::string etag;  // quoted and strong; empty: If-Range never allows, If-None-Match never matches
  Headers headers;   // more of them
};

class Exchange {
 public:
  Exchange(Connection& connection, RequestHead request, Framing framing);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const RequestHead& request() const { return request_; }
  PeerKind peer() const;
  // Of the connection, for people: "192.0.2.7", or "local".
  std::string peer_address() const;
  // The server is stopping: finish, and begin nothing long.
  bool stopping() const;

  // -- the request's body --
  // The default is ServerOptions::body_bytes_max. A larger declared length fails the first read.
  void limit_body(std::uint64_t bytes_max) { body_bytes_max_ = bytes_max; }
  // How long the sender may pause while we read; the default is ServerOptions::body_stall_ms.
  void set_body_stall_ms(std::int64_t stall_ms) { body_stall_ms_ = stall_ms; }
  // At least one byte, or 0 at the end. Answers Expect: 100-continue when first called.
  Task<Result<std::size_t>> read(std::span<char> buffer);
  Task<Result<std::string>> read_all(std::size_t bytes_max);
  // Reads and forgets what is left; TooLarge beyond bytes_max. The server does it after the handler
  // for a short rest, and closes the connection where the rest is long.
  Task<Result<>> drain(std::uint64_t bytes_max);
  bool body_done() const { return body_.done(); }
  std::uint64_t body_bytes() const { return body_bytes_; }

  // -- the answer --
  // Added to whatever answer is sent, where it has none of that name. They must outlive us.
  void set_default_headers(const Headers* defaults) { default_headers_ = defaults; }
  // The server adds Date and the framing headers; Connection: close among the headers is obeyed.
  Task<Result<>> respond(Response response);
  // A streamed answer: start, then write until done, then finish. Without a length it is chunked.
  // The head goes out with the first bytes, or when the handler waits or reads.
  Task<Result<>> start(ResponseHead head, std::optional<std::uint64_t> content_length);
  Task<Result<>> write(std::string_view bytes);
  Task<Result<>> finish();
  bool answered() const { return phase_ != Phase::Unanswered; }
  // GET and HEAD with Range, If-Range and If-None-Match; memory is one buffer of
  // kContentBufferBytes. An error of the source before its first byte is returned unanswered.
  Task<Result<>> respond_content(ContentSource& source, Content content);

  // A long poll: ends when the event notifies, at the deadline, when the client goes, when the
  // server stops. Any of them may be answered. A client that has sent more (pipelining, or a body
  // unread) is only noticed to be gone when its connection is reset.
  Task<WaitEnd> wait(Event& event, Instant deadline);

  // From another coroutine: ends a read with Canceled and a wait with Interrupted, now and later.
  // The handler can still answer; the connection is closed then.
  void interrupt();

 private:
  friend class Connection;
  enum class Phase { Unanswered, Streaming, Finished };
  enum class BodyOut { None, Length, Chunked, UntilClose };

  Task<Result<std::size_t>> read_more(std::span<char> buffer);
  Task<Result<>> before_reading();
  Result<> check_declared_length() const;
  Task<Result<>> send(std::string_view head, std::string_view body, std::string_view tail);
  Task<Result<>> flush_head();
  std::string make_head(int status, const Headers& headers, std::optional<std::uint64_t> length);
  void choose_framing(int status, std::optional<std::uint64_t> length);
  void decide_keep_alive(const Headers& headers);
  Task<Result<>> send_range(ContentSource& source, ResponseHead head, ByteRange range);

  Connection& connection_;
  RequestHead request_;
  BodyDecoder body_;
  std::uint64_t body_bytes_ = 0;
  std::uint64_t body_bytes_max_;
  std::int64_t body_stall_ms_;
  Instant drain_deadline_ = kNever;
  bool expects_continue_ = false;
  bool keep_alive_ = true;
  bool broken_ = false;     // the connection cannot be used for another request
  bool timed_out_ = false;  // it was the body that stalled
  bool interrupted_ = false;
  Phase phase_ = Phase::Unanswered;
  BodyOut body_out_ = BodyOut::None;
  bool body_suppressed_ = false;  // HEAD, 204, 304
  std::uint64_t length_left_ = 0;
  std::string pending_head_;
  const Headers* default_headers_ = nullptr;
};

inline constexpr std::size_t kContentBufferBytes = 128 * 1024;

}  // namespace quern::net
