#include "net/stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>

#include "net/socket.h"

namespace quern::net {
namespace asio = boost::asio;
namespace {

// A peer that takes everything at once must not keep the loop from others: after so many writes
// without a wait, the others go first.
constexpr int kWritesAtOnceMax = 16;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

iovec part_of(std::string_view text) {
  return {const_cast<char*>(text.data()), text.size()};
}

// Leaves out what was written.
void advance(std::span<iovec> parts, std::size_t written) {
  for (iovec& part : parts) {
    const std::size_t n = std::min(written, part.iov_len);
    part.iov_base = static_cast<char*>(part.iov_base) + n;
    part.iov_len -= n;
    written -= n;
  }
}

}  // namespace

Stream::Stream(Loop& loop, int fd, ByteCounts* counts)
    : loop_(loop), socket_(loop.context()), timer_(loop.context()), counts_(counts) {
  const asio::generic::stream_protocol protocol(AF_UNSPEC, 0);
  boost::system::error_code failure;
  socket_.assign(protocol, fd, failure);
  CHECK(!failure);
}

std::string Stream::peer_address() {
  return net::peer_address(socket_.native_handle());
}

Task<Result<std::size_t>> Stream::fill(Instant deadline) {
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  CHECK(end_ < capacity_);
  const std::span<char> room(buffer_.get() + end_, capacity_ - end_);
  CO_TRY_ASSIGN(const std::size_t bytes, co_await read(room, deadline));
  end_ += bytes;
  co_return bytes;
}

Task<Result<std::size_t>> Stream::read(std::span<char> output, Instant deadline) {
  if (interrupted_) co_return Error{Errc::Canceled, "interrupted"};
  writes_at_once_ = 0;
  guard(deadline);
  const asio::mutable_buffer buffer(output.data(), output.size());
  const auto [error, bytes] = co_await socket_.async_read_some(buffer, kAwait);
  guard(kNever);
  if (error == asio::error::eof) co_return std::size_t{0};
  if (error) co_return failure(error);
  counts_->in += bytes;
  co_return bytes;
}

Task<Result<>> Stream::write(Parts texts, std::int64_t stall_ms) {
  iovec parts[] = {part_of(texts.first), part_of(texts.second), part_of(texts.third)};
  std::size_t left = texts.first.size() + texts.second.size() + texts.third.size();
  while (left > 0) {
    if (interrupted_ || !socket_.is_open()) co_return failure(asio::error::operation_aborted);
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = std::size(parts);
    const ssize_t n = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      counts_->out += static_cast<std::size_t>(n);
      left -= static_cast<std::size_t>(n);
      advance(parts, static_cast<std::size_t>(n));
      if (++writes_at_once_ < kWritesAtOnceMax) continue;
      writes_at_once_ = 0;
      co_await loop_.yield();
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      CO_TRY(co_await wait_writable(in_ms(stall_ms)));
    } else if (errno != EINTR) {
      co_return Error{Errc::Unavailable, socket_error("writing to the peer", errno).message()};
    }
  }
  co_return Result<>{};
}

Task<Result<>> Stream::wait_writable(Instant deadline) {
  writes_at_once_ = 0;
  guard(deadline);
  const auto [error] = co_await socket_.async_wait(Socket::wait_write, kAwait);
  guard(kNever);
  if (error) co_return failure(error);
  co_return Result<>{};
}

Task<Result<>> Stream::wait_connected(Instant deadline) {
  CO_TRY(co_await wait_writable(deadline));
  int failure = 0;
  socklen_t size = sizeof failure;
  ::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_ERROR, &failure, &size);
  if (failure != 0)
    co_return Error{Errc::Unavailable, socket_error("connecting", failure).message()};
  co_return Result<>{};
}

void Stream::consume(std::size_t bytes) {
  CHECK(bytes <= end_ - begin_);
  begin_ += bytes;
  if (begin_ == end_) begin_ = end_ = 0;
}

void Stream::reserve(std::size_t bytes) {
  if (capacity_ >= bytes) return;
  auto larger = std::make_unique_for_overwrite<char[]>(bytes);
  if (end_ > begin_) std::memcpy(larger.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  buffer_ = std::move(larger);
  capacity_ = bytes;
}

void Stream::release_buffer(std::size_t keep) {
  if (begin_ != end_ || capacity_ <= keep) return;
  buffer_.reset();
  capacity_ = begin_ = end_ = 0;
}

void Stream::guard(Instant deadline) {
  deadline_ = deadline;
  if (deadline == kNever) return;
  expired_ = false;
  if (deadline < armed_until_) arm();
}

void Stream::arm() {
  armed_until_ = deadline_;
  timer_.expires_at(deadline_);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (error || !self) return;
    self->armed_until_ = kNever;
    if (self->deadline_ == kNever) return;
    if (std::chrono::steady_clock::now() < self->deadline_) return self->arm();
    self->expired_ = true;
    boost::system::error_code ignored;
    self->socket_.cancel(ignored);
  });
}

void Stream::watch_peer(std::function<void()> gone) {
  watch(std::move(gone), true);
}
void Stream::watch_readable(std::function<void()> readable) {
  watch(std::move(readable), false);
}

// A peer that has sent something is not known to be gone; from then on only a reset tells.
void Stream::watch(std::function<void()> ready, bool only_end) {
  watching_ = true;
  const std::uint64_t number = ++watch_number_;
  char byte;
  const bool sent =
      only_end && ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  const auto kind = sent ? Socket::wait_error : Socket::wait_read;
  socket_.async_wait(
      kind, [weak = weak_from_this(), number, sent, only_end,
             ready = std::move(ready)](const boost::system::error_code& error) mutable {
        const auto self = weak.lock();
        if (!self || !self->watching_ || self->watch_number_ != number || error) return;
        self->watching_ = false;
        char peeked;
        const int fd = self->socket_.native_handle();
        if (only_end && !sent && ::recv(fd, &peeked, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
          return self->watch(std::move(ready), only_end);
        }
        ready();
      });
}

void Stream::unwatch() {
  if (!watching_) return;
  watching_ = false;
  boost::system::error_code ignored;
  socket_.cancel(ignored);
}

bool Stream::readable_now() const {
  pollfd poll_fd{const_cast<Socket&>(socket_).native_handle(), POLLIN, 0};
  return ::poll(&poll_fd, 1, 0) != 0;
}

void Stream::interrupt() {
  interrupted_ = true;
  boost::system::error_code ignored;
  if (socket_.is_open()) socket_.cancel(ignored);
}

void Stream::shutdown_send() {
  boost::system::error_code ignored;
  if (socket_.is_open()) socket_.shutdown(Socket::shutdown_send, ignored);
}

void Stream::close() {
  watching_ = false;
  boost::system::error_code ignored;
  if (socket_.is_open()) socket_.close(ignored);
}

Error Stream::failure(const boost::system::error_code& error) {
  if (expired_) return Error{Errc::Timeout, "the peer does not go on"};
  if (interrupted_) return Error{Errc::Canceled, "interrupted"};
  return Error{Errc::Unavailable, "the connection broke: " + error.message()};
}

}  // namespace quern::net
