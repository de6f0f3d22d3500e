#include "net/readable.h"

#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/check.h"
#include "net/waiter.h"

namespace quern::net {
namespace asio = boost::asio;

// The callback of the reactor may come when the wait is over: it looks at the number.
struct Readable::State {
  State(Loop& the_loop, int descriptor) : loop(the_loop), watched(the_loop.context(), descriptor) {}

  Loop& loop;
  asio::posix::stream_descriptor watched;
  Waiter* waiter = nullptr;
  std::uint64_t number = 0;
};

Readable::Readable(Loop& loop, int descriptor)
    : state_(std::make_shared<State>(loop, descriptor)) {}

// Released, not closed: it is the caller's.
Readable::~Readable() {
  ++state_->number;
  state_->watched.release();
}

Task<WaitEnd> Readable::wait(Instant deadline) {
  const std::shared_ptr<State> state = state_;
  CHECK(state->waiter == nullptr);
  Waiter waiter(state->loop);
  state->waiter = &waiter;
  const std::uint64_t number = ++state->number;
  state->watched.async_wait(
      asio::posix::stream_descriptor::wait_read,
      [weak = std::weak_ptr(state), number](const boost::system::error_code&) {
        const auto self = weak.lock();
        if (!self || self->number != number || self->waiter == nullptr) return;
        self->waiter->wake(WaitEnd::Notified);
      });
  const WaitEnd end = co_await waiter.wait(deadline);
  state->waiter = nullptr;
  ++state->number;
  boost::system::error_code ignored;
  if (end != WaitEnd::Notified && state->watched.is_open()) state->watched.cancel(ignored);
  co_return end;
}

void Readable::cancel() {
  if (state_->waiter != nullptr) state_->waiter->wake(WaitEnd::Interrupted);
}

}  // namespace quern::net
