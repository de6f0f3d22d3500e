#include "app/stop_signal.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>

#include "base/log.h"
#include "net/event.h"

namespace quern::app {

struct StopSignal::State {
  explicit State(net::Loop& loop) : event(loop), signals(loop.context(), SIGTERM, SIGINT) {
    signals.async_wait([this](const boost::system::error_code& failed, int signal) {
      if (failed) return;
      asked = true;
      log_info("serve.stopping", {{"signal", signal}});
      event.notify_all();
      // The next one kills, whatever the loop is doing.
      boost::system::error_code ignored;
      signals.clear(ignored);
    });
  }

  net::Event event;
  boost::asio::signal_set signals;
  bool asked = false;
};

StopSignal::StopSignal(net::Loop& loop) : state_(std::make_unique<State>(loop)) {}
StopSignal::~StopSignal() = default;

net::Task<> StopSignal::asked() {
  while (!state_->asked) co_await state_->event.wait();
}

net::Task<bool> StopSignal::asked_within(std::int64_t wait_ms) {
  if (!state_->asked) co_await state_->event.wait(net::in_ms(wait_ms));
  co_return state_->asked;
}

}  // namespace quern::app
