#include "net/exchange.h"

#include <fmt/format.h>

#include <algorithm>

#include "net/body_reader.h"
#include "net/connection.h"
#include "net/waiter.h"

namespace quern::net {
namespace {

constexpr std::size_t kDrainBufferBytes = 16 * 1024;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// Framing and the connection are the server's to say.
bool is_ours(std::string_view name) {
  return equals_ignoring_case(name, "Content-Length") ||
         equals_ignoring_case(name, "Transfer-Encoding") ||
         equals_ignoring_case(name, "Connection");
}

}  // namespace

// Lets the connection reach the long poll; takes the address back when the frame goes.
class LongPoll {
 public:
  LongPoll(Connection& connection, Waiter& waiter) : connection_(connection) {
    CHECK(connection.waiter_ == nullptr);
    connection.waiter_ = &waiter;
  }
  ~LongPoll() { connection_.waiter_ = nullptr; }
  LongPoll(const LongPoll&) = delete;
  LongPoll& operator=(const LongPoll&) = delete;

 private:
  Connection& connection_;
};

Exchange::Exchange(Connection& connection, RequestHead request, Framing framing)
    : connection_(connection),
      request_(std::move(request)),
      body_(framing),
      body_bytes_max_(connection.core_->options.body_bytes_max),
      body_stall_ms_(connection.core_->options.body_stall_ms) {
  expects_continue_ =
      request_.version_minor >= 1 && request_.headers.find("Expect") != nullptr && !body_.done();
  keep_alive_ = wants_keep_alive(request_.headers, request_.version_minor);
}

PeerKind Exchange::peer() const {
  return connection_.peer_;
}
std::string Exchange::peer_address() const {
  return connection_.stream_->peer_address();
}
bool Exchange::stopping() const {
  return connection_.core_->stopping;
}

void Exchange::interrupt() {
  interrupted_ = broken_ = true;
  connection_.stream_->interrupt();
  if (connection_.waiter_ != nullptr) connection_.waiter_->wake(WaitEnd::Interrupted);
}

// -- reading --

Task<Result<std::size_t>> Exchange::read(std::span<char> buffer) {
  CHECK(!buffer.empty());
  if (body_.done()) co_return std::size_t{0};
  Result<> ready = co_await before_reading();
  Result<std::size_t> bytes = std::size_t{0};
  if (ready) {
    bytes = co_await read_more(buffer);
  } else {
    bytes = std::move(ready).error();
  }
  if (!bytes) {
    broken_ = true;
    timed_out_ = bytes.error().kind() == Errc::Timeout;
  }
  co_return bytes;
}

Result<> Exchange::check_declared_length() const {
  const bool over = body_.length_known() && body_.bytes_left() + body_bytes_ > body_bytes_max_;
  if (!over && body_bytes_ <= body_bytes_max_) return {};
  const std::uint64_t bytes = body_bytes_ + (body_.length_known() ? body_.bytes_left() : 0);
  return over_limit("request body", static_cast<std::int64_t>(bytes),
                    static_cast<std::int64_t>(body_bytes_max_), "net.body_bytes_max");
}

Task<Result<>> Exchange::before_reading() {
  CO_TRY(check_declared_length());
  CO_TRY(co_await flush_head());
  if (!expects_continue_) co_return Result<>{};
  expects_continue_ = false;
  // The client has not waited, or we have answered already: then 100 would be noise or an error.
  if (!connection_.stream_->buffered().empty() || answered()) co_return Result<>{};
  co_return co_await connection_.stream_->write(Parts{kContinue},
                                                connection_.core_->options.write_stall_ms);
}

Task<Result<std::size_t>> Exchange::read_more(std::span<char> buffer) {
  const BodyDeadlines deadlines{body_stall_ms_, drain_deadline_};
  CO_TRY_ASSIGN(const std::size_t bytes,
                co_await read_body(*connection_.stream_, body_, buffer, deadlines));
  body_bytes_ += bytes;
  CO_TRY(check_declared_length());
  co_return bytes;
}

Task<Result<std::string>> Exchange::read_all(std::size_t bytes_max) {
  limit_body(bytes_max);
  std::string all;
  while (!body_.done()) {
    // Grows with what has come, not with what was promised.
    const std::size_t had = all.size();
    const std::size_t room = std::clamp<std::size_t>(had, kHeadBufferBytes, 1024 * 1024);
    all.resize(had + room);
    CO_TRY_ASSIGN(const std::size_t bytes, co_await read(std::span(all).subspan(had)));
    all.resize(had + bytes);
  }
  co_return all;
}

Task<Result<>> Exchange::drain(std::uint64_t bytes_max) {
  limit_body(bytes_max > UINT64_MAX - body_bytes_ ? UINT64_MAX : body_bytes_ + bytes_max);
  const auto buffer = std::make_unique<char[]>(kDrainBufferBytes);
  while (!body_.done()) {
    CO_TRY(co_await read({buffer.get(), kDrainBufferBytes}));
  }
  co_return Result<>{};
}

// -- answering --

Task<Result<>> Exchange::respond(Response response) {
  CHECK(phase_ == Phase::Unanswered);
  const std::string head = make_head(response.status, response.headers, response.body.size());
  phase_ = Phase::Finished;
  co_return co_await send(head, body_suppressed_ ? std::string_view{} : response.body, {});
}

Task<Result<>> Exchange::start(ResponseHead head, std::optional<std::uint64_t> content_length) {
  CHECK(phase_ == Phase::Unanswered);
  pending_head_ = make_head(head.status, head.headers, content_length);
  phase_ = Phase::Streaming;
  length_left_ = content_length.value_or(0);
  co_return Result<>{};
}

Task<Result<>> Exchange::write(std::string_view bytes) {
  CHECK(phase_ == Phase::Streaming);
  if (body_out_ == BodyOut::Length) {
    CHECK(bytes.size() <= length_left_);
    length_left_ -= bytes.size();
  }
  if (bytes.empty()) co_return Result<>{};
  std::string head = std::exchange(pending_head_, {});
  if (body_suppressed_) co_return co_await send(head, {}, {});
  const bool chunked = body_out_ == BodyOut::Chunked;
  if (chunked) head += fmt::format("{:x}\r\n", bytes.size());
  co_return co_await send(head, bytes, chunked ? "\r\n" : "");
}

Task<Result<>> Exchange::finish() {
  CHECK(phase_ == Phase::Streaming);
  if (body_out_ == BodyOut::Length && length_left_ > 0) {
    co_return Error{Errc::Internal, fmt::format("an answer lacks {} bytes", length_left_)};
  }
  phase_ = Phase::Finished;
  const std::string head = std::exchange(pending_head_, {});
  const bool chunked = body_out_ == BodyOut::Chunked && !body_suppressed_;
  co_return co_await send(head, chunked ? "0\r\n\r\n" : "", {});
}

Task<Result<>> Exchange::flush_head() {
  if (pending_head_.empty()) co_return Result<>{};
  const std::string head = std::exchange(pending_head_, {});
  co_return co_await send(head, {}, {});
}

Task<Result<>> Exchange::send(std::string_view head, std::string_view body, std::string_view tail) {
  // An interrupt ends what the handler waited for, not its answer.
  if (interrupted_) connection_.stream_->resume();
  const std::int64_t stall_ms = connection_.core_->options.write_stall_ms;
  auto sent = co_await connection_.stream_->write(Parts{head, body, tail}, stall_ms);
  if (!sent) {
    broken_ = true;
    connection_.stream_->close();
  }
  co_return sent;
}

std::string Exchange::make_head(int status, const Headers& headers,
                                std::optional<std::uint64_t> length) {
  choose_framing(status, length);
  decide_keep_alive(headers);
  std::string head = response_line(status);
  head += "\r\nDate: " + connection_.core_->date() + "\r\n";
  for (const Header& header : headers) {
    if (!is_ours(header.name)) head += header.name + ": " + header.value + "\r\n";
  }
  if (default_headers_ != nullptr) {
    for (const Header& header : *default_headers_) {
      if (!headers.find(header.name)) head += header.name + ": " + header.value + "\r\n";
    }
  }
  if (body_out_ == BodyOut::Length) head += fmt::format("Content-Length: {}\r\n", *length);
  if (body_out_ == BodyOut::Chunked) head += "Transfer-Encoding: chunked\r\n";
  if (!keep_alive_) head += "Connection: close\r\n";
  if (keep_alive_ && request_.version_minor == 0) head += "Connection: keep-alive\r\n";
  head += "\r\n";
  return head;
}

void Exchange::choose_framing(int status, std::optional<std::uint64_t> length) {
  const bool bodiless = status == 204 || status == 304 || status < 200;
  body_suppressed_ = bodiless || request_.method == Method::Head;
  if (bodiless) {
    body_out_ = BodyOut::None;
  } else if (length) {
    body_out_ = BodyOut::Length;
  } else {
    body_out_ = request_.version_minor >= 1 ? BodyOut::Chunked : BodyOut::UntilClose;
  }
}

void Exchange::decide_keep_alive(const Headers& headers) {
  const std::uint64_t drainable = connection_.core_->options.drain_bytes_max;
  // A client that was never told to continue may send its body or not: nobody can know which.
  const bool rest_too_long =
      !body_.done() &&
      (expects_continue_ || (body_.length_known() && body_.bytes_left() > drainable));
  if (broken_ || rest_too_long || stopping() || headers.has_token("Connection", "close") ||
      (body_out_ == BodyOut::UntilClose && !body_suppressed_)) {
    keep_alive_ = false;
  }
}

// -- waiting --

Task<WaitEnd> Exchange::wait(Event& event, Instant deadline) {
  if (stopping()) co_return WaitEnd::Stopping;
  if (interrupted_) co_return WaitEnd::Interrupted;
  if (!connection_.stream_->is_open()) co_return WaitEnd::PeerGone;
  Waiter waiter(connection_.core_->loop);
  // First of all, so that no notification is lost while the head goes out.
  waiter.join(event);
  const LongPoll long_poll(connection_, waiter);
  const auto flushed = co_await flush_head();
  if (!flushed) co_return WaitEnd::PeerGone;
  connection_.stream_->release_buffer();
  connection_.stream_->watch_peer([weak = connection_.weak_from_this()] {
    const auto self = weak.lock();
    if (self && self->waiter_ != nullptr) self->waiter_->wake(WaitEnd::PeerGone);
  });
  const WaitEnd end = co_await waiter.wait(deadline);
  connection_.stream_->unwatch();
  co_return end;
}

}  // namespace quern::net
