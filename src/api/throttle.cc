#include "api/throttle.h"

#include "net/event.h"

namespace quern::api {

struct Throttle::Core {
  net::Loop& loop;
  Say say;  // none: it is over
  std::int64_t pause_ms;
  std::map<std::string, std::optional<boost::json::object>> waiting;

  static net::Task<> pause(std::shared_ptr<Core> self, std::string of);
};

net::Task<> Throttle::Core::pause(std::shared_ptr<Core> self, std::string of) {
  while (true) {
    co_await self->loop.sleep_until(net::in_ms(self->pause_ms));
    if (!self->say) co_return;
    const auto found = self->waiting.find(of);
    if (!found->second) {
      self->waiting.erase(found);
      co_return;
    }
    const boost::json::object data = *std::exchange(found->second, std::nullopt);
    self->say(data);
  }
}

Throttle::Throttle(net::Loop& loop, Say say, std::int64_t pause_ms)
    : core_(std::make_shared<Core>(Core{loop, std::move(say), pause_ms, {}})) {}

Throttle::~Throttle() {
  core_->say = nullptr;
}

void Throttle::say(const std::string& of, boost::json::object data) {
  if (const auto found = core_->waiting.find(of); found != core_->waiting.end()) {
    found->second = std::move(data);
    return;
  }
  if (core_->waiting.size() >= kThrottledMax) return;
  core_->waiting.emplace(of, std::nullopt);
  core_->loop.spawn("api.throttle", Core::pause(core_, of));
  core_->say(data);
}

std::size_t Throttle::size() const {
  return core_->waiting.size();
}

}  // namespace quern::api
