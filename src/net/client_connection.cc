#include "net/client_connection.h"

#include <fmt/format.h>

#include <algorithm>

#include "net/body_reader.h"

namespace quern::net {
namespace {

constexpr std::size_t kProducerBufferBytes = 64 * 1024;
constexpr int kInterimHeadsMax = 16;

bool has_body(const Request& request) {
  return request.producer || !request.body.empty();
}

void add_framing(Headers& headers, const Request& request) {
  const bool usually_has_one = request.method == Method::Post || request.method == Method::Put ||
                               request.method == Method::Patch;
  if (request.producer && !request.producer_bytes) {
    headers.set("Transfer-Encoding", "chunked");
  } else if (request.producer) {
    headers.set("Content-Length", std::to_string(*request.producer_bytes));
  } else if (!request.body.empty() || usually_has_one) {
    headers.set("Content-Length", std::to_string(request.body.size()));
  }
}

std::string head_of(const Request& request, std::string_view authority,
                    const std::string& authorization) {
  Headers headers;
  if (request.headers.find("Host") == nullptr) headers.add("Host", authority);
  if (!authorization.empty() && request.headers.find("Authorization") == nullptr) {
    headers.add("Authorization", authorization);
  }
  for (const Header& header : request.headers) headers.add(header.name, header.value);
  add_framing(headers, request);
  const bool expects = request.expectation == Expectation::Continue && has_body(request);
  if (expects) headers.set("Expect", "100-continue");
  std::string head;
  append_head(head, fmt::format("{} {} HTTP/1.1", to_string(request.method), request.target),
              headers);
  return head;
}

}  // namespace

ClientConnection::ClientConnection(Loop& loop, io::Descriptor socket, const ClientOptions& options)
    : options_(options) {
  stream_ = std::make_shared<Stream>(loop, socket.release(), &bytes_);
}

void ClientConnection::rest() {
  bytes_ = {};
  keep_alive_ = request_complete_ = false;
  early_head_.reset();
  idle_since_ = std::chrono::steady_clock::now();
  stream_->release_buffer();
}

Task<Result<ResponseHead>> ClientConnection::exchange(const Request& request, std::string authority,
                                                      Instant last) {
  last_ = last;
  answered_early_ = std::make_shared<bool>(false);
  const auto sent = co_await send_request(request, std::move(authority), last);
  stream_->unwatch();
  stream_->resume();
  request_complete_ = sent.ok();
  if (early_head_) co_return *std::move(early_head_);
  // A server that refuses a body may answer and close while we still send.
  const bool maybe_answered =
      *answered_early_ || (!sent && sent.error().kind() == Errc::Unavailable && byte_sent());
  if (!sent && !maybe_answered) co_return sent.error();
  auto head = co_await read_final_head(request, last);
  if (!head && !sent && !*answered_early_) co_return sent.error();
  co_return head;
}

Task<Result<>> ClientConnection::send_request(const Request& request, std::string authority,
                                              Instant last) {
  const std::string head = head_of(request, authority, options_.authorization);
  const bool wait_first = request.expectation == Expectation::Continue && has_body(request);
  const bool together = !wait_first && !request.producer;
  const std::string_view body = together ? std::string_view(request.body) : std::string_view();
  CO_TRY(co_await stream_->write(Parts{head, body}, options_.stall_ms));
  if (together) co_return Result<>{};
  if (wait_first) {
    CO_TRY(co_await await_continue(request, last));
    if (early_head_) co_return Error{Errc::Canceled, "answered without the body"};
  }
  if (request.producer) co_return co_await send_produced(request);
  co_return co_await stream_->write(Parts{request.body}, options_.stall_ms);
}

// Ends with a head only where it is final: the body is not wanted then.
Task<Result<>> ClientConnection::await_continue(const Request& request, Instant last) {
  auto head = co_await read_head(std::min(in_ms(options_.continue_ms), last));
  if (!head && head.error().kind() == Errc::Timeout) co_return Result<>{};
  CO_TRY(head);
  if (head->status < 200) co_return Result<>{};
  CO_TRY(accept(*head, version_minor_, request.method));
  early_head_ = *std::move(head);
  co_return Result<>{};
}

Task<Result<>> ClientConnection::send_produced(const Request& request) {
  stream_->watch_readable([early = answered_early_, weak = std::weak_ptr(stream_)] {
    *early = true;
    if (const auto stream = weak.lock()) stream->interrupt();
  });
  co_return co_await produce_all(request);
}

Task<Result<>> ClientConnection::produce_all(const Request& request) {
  const auto buffer = std::make_unique_for_overwrite<char[]>(kProducerBufferBytes);
  const bool chunked = !request.producer_bytes.has_value();
  std::uint64_t left = request.producer_bytes.value_or(UINT64_MAX);
  for (;;) {
    CO_TRY_ASSIGN(const std::size_t bytes,
                  co_await request.producer({buffer.get(), kProducerBufferBytes}));
    if (bytes > left || (bytes == 0 && !chunked && left > 0)) {
      co_return Error{Errc::Internal, "the body is not as long as announced"};
    }
    left -= chunked ? 0 : bytes;
    const std::string size_line = chunked ? fmt::format("{:x}\r\n", bytes) : std::string();
    const Parts parts{size_line, {buffer.get(), bytes}, chunked ? "\r\n" : ""};
    CO_TRY(co_await stream_->write(parts, options_.stall_ms));
    if (bytes == 0) co_return Result<>{};
  }
}

Task<Result<ResponseHead>> ClientConnection::read_final_head(const Request& request, Instant last) {
  const std::int64_t first_byte_ms =
      request.first_byte_ms > 0 ? request.first_byte_ms : options_.first_byte_ms;
  const Instant deadline = std::min(in_ms(first_byte_ms), last);
  for (int i = 0; i < kInterimHeadsMax; ++i) {
    CO_TRY_ASSIGN(ResponseHead head, co_await read_head(deadline));
    if (head.status < 200 && head.status != 101) continue;
    CO_TRY(accept(head, version_minor_, request.method));
    co_return head;
  }
  co_return Error{Errc::Invalid, "the server sends interim answers without end"};
}

Task<Result<ResponseHead>> ClientConnection::read_head(Instant deadline) {
  stream_->reserve(kHeadBufferBytes);
  std::size_t scanned = 0;
  for (;;) {
    const std::string_view bytes = stream_->buffered();
    const std::size_t end = find_head_end(bytes, scanned);
    if (end != std::string_view::npos) {
      auto parsed = parse_response_head(bytes.substr(0, end - 2));
      stream_->consume(end);
      if (!parsed)
        co_return Error{Errc::Invalid, "not an HTTP answer: " + parsed.error().message()};
      version_minor_ = parsed->version_minor;
      co_return std::move(parsed->head);
    }
    if (bytes.size() >= options_.head_bytes_max) {
      co_return over_limit("answer head", static_cast<std::int64_t>(bytes.size()),
                           static_cast<std::int64_t>(options_.head_bytes_max),
                           "client.head_bytes_max");
    }
    scanned = bytes.size();
    if (stream_->buffer_full()) {
      stream_->reserve(std::min(bytes.size() * 2, options_.head_bytes_max));
    }
    CO_TRY_ASSIGN(const std::size_t more, co_await stream_->fill(deadline));
    if (more == 0) co_return Error{Errc::Unavailable, "the server closed without an answer"};
  }
}

Result<> ClientConnection::accept(const ResponseHead& head, int version_minor, Method method) {
  TRY_ASSIGN(const Framing framing, response_framing(head, method));
  body_ = BodyDecoder(framing);
  keep_alive_ = request_complete_ && framing.kind != Framing::Kind::UntilClose &&
                wants_keep_alive(head.headers, version_minor);
  return {};
}

Task<Result<std::size_t>> ClientConnection::read(std::span<char> buffer) {
  const BodyDeadlines deadlines{options_.stall_ms, last_};
  auto bytes = co_await read_body(*stream_, body_, buffer, deadlines);
  if (!bytes) keep_alive_ = false;
  co_return bytes;
}

}  // namespace quern::net
