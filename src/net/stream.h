// Stream: a connected socket with deadlines and a read buffer. For use inside net only.
//
// Guarantee: an operation ends by its deadline with Timeout, or with Unavailable once the peer or
// we have closed; memory is what the buffer was asked to hold. TCP and Unix sockets are alike. How:
// one timer guards the one operation that may wait at a time. It is moved only when a deadline
// comes nearer: most operations end long before theirs and never touch it.
//
// Threads: the loop's only. Lifetime: shared, since callbacks of the timer may come late.
#pragma once

#include <sys/uio.h>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/loop.h"
#include "net/task.h"

namespace quern::net {

// A head usually fits in the first, a body is read through the second.
inline constexpr std::size_t kHeadBufferBytes = 2 * 1024;
inline constexpr std::size_t kBodyBufferBytes = 64 * 1024;

// Written as one.
struct Parts {
  std::string_view first;
  std::string_view second = {};
  std::string_view third = {};
};

struct ByteCounts {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  // Takes the descriptor; prepare_stream() was done to it. The counts outlive the stream.
  Stream(Loop& loop, int fd, ByteCounts* counts);

  // Each reads once, into the buffer or into `output`. 0 is the end.
  Task<Result<std::size_t>> fill(Instant deadline);
  Task<Result<std::size_t>> read(std::span<char> output, Instant deadline);
  // After a connect() that is under way.
  Task<Result<>> wait_connected(Instant deadline);
  // Writes everything; each pause of the peer may last stall_ms.
  Task<Result<>> write(Parts parts, std::int64_t stall_ms);

  std::string_view buffered() const { return {buffer_.get() + begin_, end_ - begin_}; }
  void consume(std::size_t bytes);
  // Makes the buffer hold at least that much in all; what it holds stays.
  void reserve(std::size_t bytes);
  bool buffer_full() const { return begin_ == 0 && end_ == capacity_; }
  // Gives the memory back if nothing is buffered and it is more than `keep` bytes.
  void release_buffer(std::size_t keep = 0);

  // Calls back once when the peer has closed or reset the connection while nobody reads. What it
  // sends meanwhile stays where it is. Does nothing after unwatch().
  void watch_peer(std::function<void()> gone);
  // Calls back once when there is something to read, or the end.
  void watch_readable(std::function<void()> readable);
  void unwatch();
  // Whether a read would return at once, with data, the end or an error.
  bool readable_now() const;

  // Ends the operation that waits, if one does, with Canceled, and every later one.
  void interrupt();
  // Takes an interrupt back, so that an answer can still be written.
  void resume() { interrupted_ = false; }
  void shutdown_send();
  void close();
  bool is_open() const { return socket_.is_open(); }
  std::string peer_address();
  Loop& loop() { return loop_; }

 private:
  using Executor = boost::asio::io_context::executor_type;
  using Socket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, Executor>;

  Task<Result<>> wait_writable(Instant deadline);
  void guard(Instant deadline);
  void arm();
  void watch(std::function<void()> ready, bool only_end);
  Error failure(const boost::system::error_code& error);

  Loop& loop_;
  Socket socket_;
  boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                    boost::asio::wait_traits<std::chrono::steady_clock>, Executor>
      timer_;
  Instant deadline_ = kNever;
  Instant armed_until_ = kNever;
  ByteCounts* counts_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t watch_number_ = 0;
  int writes_at_once_ = 0;
  bool watching_ = false;
  bool expired_ = false;
  bool interrupted_ = false;
};

}  // namespace quern::net
