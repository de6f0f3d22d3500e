#include "net/connection.h"

#include <fmt/format.h>

#include <exception>

#include "base/log.h"
#include "net/waiter.h"

namespace quern::net {
namespace {

constexpr std::size_t kLingerBufferBytes = 16 * 1024;

int status_of(const Error& error) {
  if (error.kind() == Errc::TooLarge) return 431;
  if (error.kind() == Errc::Timeout) return 408;
  return 400;
}

class Counted {
 public:
  explicit Counted(std::uint64_t& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::uint64_t& count_;
};

}  // namespace

Connection::Connection(std::shared_ptr<ServerCore> core, int fd)
    : core_(std::move(core)),
      stream_(std::make_shared<Stream>(core_->loop, fd, &core_->bytes)),
      peer_(peer_kind(fd)) {
  core_->connections.insert(this);
}

Connection::~Connection() {
  core_->connections.erase(this);
  core_->connection_gone.notify_all();
}

Task<> Connection::serve(std::shared_ptr<Connection> self) {
  Next next = Next::Request;
  while (next == Next::Request) next = co_await self->serve_one();
  if (next == Next::Linger) co_await self->linger();
  self->stream_->close();
}

Task<> Connection::refuse(std::shared_ptr<Connection> self) {
  Response busy = problem(503, "too many connections").with("Retry-After", "1");
  const std::string text = fmt::format(
      "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"
      "Retry-After: 1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
      busy.body.size(), busy.body);
  const auto sent = co_await self->stream_->write(Parts{text}, self->core_->options.linger_ms);
  if (sent) co_await self->linger();
  self->stream_->close();
  --self->core_->refusals;
}

void Connection::stopping() {
  if (waiter_ != nullptr) waiter_->wake(WaitEnd::Stopping);
  if (idle_) stream_->close();
}

void Connection::cut() {
  if (waiter_ != nullptr) waiter_->wake(WaitEnd::Stopping);
  stream_->close();
}

Task<Connection::Next> Connection::serve_one() {
  auto head = co_await read_head();
  if (!head) co_return malformed_ ? Next::Linger : Next::Close;
  co_return co_await answer_request(*std::move(head));
}

// Nothing where the connection is to be closed; what could be answered was.
Task<std::optional<RequestHead>> Connection::read_head() {
  const auto end = co_await find_head();
  served_before_ = true;
  if (!end) {
    // Between requests a connection just goes.
    if (stream_->buffered().empty() || end.error().kind() == Errc::Unavailable)
      co_return std::nullopt;
    co_await refuse_request(status_of(end.error()), end.error().message());
    co_return std::nullopt;
  }
  auto head = parse_request_head(stream_->buffered().substr(0, *end - 2));
  stream_->consume(*end);
  if (!head) {
    co_await refuse_request(status_of(head.error()), head.error().message());
    co_return std::nullopt;
  }
  co_return *std::move(head);
}

// The end of the head within what is buffered.
Task<Result<std::size_t>> Connection::find_head() {
  const ServerOptions& options = core_->options;
  stream_->release_buffer(kHeadBufferBytes);
  stream_->reserve(kHeadBufferBytes);
  std::size_t scanned = 0;
  const bool pause_allowed = served_before_ && stream_->buffered().empty();
  Instant deadline = in_ms(pause_allowed ? options.idle_ms : options.head_ms);
  for (;;) {
    // RFC 9112: an empty line before a request is to be ignored.
    while (stream_->buffered().starts_with("\r\n")) stream_->consume(2);
    const std::string_view bytes = stream_->buffered();
    const std::size_t end = find_head_end(bytes, std::min(scanned, bytes.size()));
    if (end != std::string_view::npos && end <= options.head_bytes_max) co_return end;
    if (bytes.size() >= options.head_bytes_max) {
      co_return over_limit("request head", static_cast<std::int64_t>(bytes.size()),
                           static_cast<std::int64_t>(options.head_bytes_max), "net.head_bytes_max");
    }
    scanned = bytes.size();
    if (stream_->buffer_full()) {
      stream_->reserve(std::min(bytes.size() * 2, options.head_bytes_max));
    }
    const bool fresh = bytes.empty();
    if (fresh && core_->stopping) co_return Error{Errc::Canceled, "stopping"};
    idle_ = fresh;
    const auto bytes_read = co_await stream_->fill(deadline);
    idle_ = false;
    if (!bytes_read) co_return bytes_read.error();
    if (*bytes_read == 0) co_return Error{Errc::Unavailable, "closed by the peer"};
    if (fresh && pause_allowed) deadline = in_ms(options.head_ms);
  }
}

Task<> Connection::refuse_request(int status, std::string_view detail) {
  ++core_->metrics.requests_malformed;
  malformed_ = true;
  const Response response = problem(status, detail);
  std::string text;
  Headers headers = response.headers;
  headers.add("Date", core_->date());
  headers.add("Connection", "close");
  headers.add("Content-Length", std::to_string(response.body.size()));
  append_head(text, response_line(status), headers);
  text += response.body;
  // If this fails there is nobody to tell.
  (void)co_await stream_->write(Parts{text}, core_->options.write_stall_ms);
}

Task<Connection::Next> Connection::answer_request(RequestHead head) {
  const auto framing = request_framing(head);
  if (!framing) {
    co_await refuse_request(400, framing.error().message());
    co_return Next::Linger;
  }
  const std::string* expect = head.headers.find("Expect");
  if (expect != nullptr && !equals_ignoring_case(*expect, "100-continue")) {
    co_await refuse_request(417, "the only expectation understood is 100-continue");
    co_return Next::Linger;
  }
  const Counted in_flight(core_->metrics.requests_in_flight);
  ++core_->metrics.requests_total;
  Exchange exchange(*this, std::move(head), *framing);
  co_await run_handler(exchange);
  co_return co_await after_answer(exchange);
}

Task<> Connection::run_handler(Exchange& exchange) {
  Result<> outcome;
  try {
    outcome = co_await core_->handler(exchange);
    if (outcome.ok() && !exchange.answered()) {
      log_error("net.handler_silent", {{"target", exchange.request().target}});
      outcome = Error{Errc::Internal, "the handler did not answer"};
    }
  } catch (const std::exception& exception) {
    log_error("net.handler_threw",
              {{"target", exchange.request().target}, {"error", exception.what()}});
    // What was thrown may name things that are none of the client's business.
    outcome = Error{Errc::Internal, "internal error"};
  }
  co_await conclude(exchange, std::move(outcome));
}

// An answer for what the handler returned, if it gave none itself.
Task<> Connection::conclude(Exchange& exchange, Result<> outcome) {
  if (exchange.phase_ == Exchange::Phase::Streaming) {
    exchange.broken_ = true;
    log_warn("net.answer_cut",
             {{"target", exchange.request().target},
              {"error", outcome.ok() ? "not finished" : outcome.error().message()}});
  }
  if (exchange.answered() || outcome.ok()) co_return;
  Response response =
      exchange.timed_out_ ? problem(408, outcome.error().message()) : problem(outcome.error());
  // If this fails there is nobody to tell.
  (void)co_await exchange.respond(std::move(response));
}

Task<Connection::Next> Connection::after_answer(Exchange& exchange) {
  if (!stream_->is_open() || exchange.phase_ != Exchange::Phase::Finished) co_return Next::Close;
  const bool rest = !exchange.body_done();
  if (exchange.broken_ || !exchange.keep_alive_) co_return rest ? Next::Linger : Next::Close;
  if (rest) {
    exchange.drain_deadline_ = in_ms(core_->options.drain_ms);
    if (!co_await exchange.drain(core_->options.drain_bytes_max)) co_return Next::Linger;
  }
  co_return Next::Request;
}

// Closing with bytes unread resets the connection, and the reset can overtake our answer.
Task<> Connection::linger() {
  stream_->shutdown_send();
  const auto buffer = std::make_unique<char[]>(kLingerBufferBytes);
  const Instant deadline = in_ms(core_->options.linger_ms);
  std::uint64_t left = core_->options.linger_bytes_max;
  while (left > 0) {
    const auto bytes = co_await stream_->read({buffer.get(), kLingerBufferBytes}, deadline);
    if (!bytes || *bytes == 0) co_return;
    left -= std::min<std::uint64_t>(left, *bytes);
  }
}

}  // namespace quern::net
