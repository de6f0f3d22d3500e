#include "worker/broker.h"

#include <algorithm>

#include "base/log.h"
#include "worker/lane.h"
#include "worker/researcher.h"

namespace quern::worker {
namespace {

constexpr std::int64_t kCutMs = 2'000;

}  // namespace

Broker::Broker(net::Loop& loop, BrokerOptions options)
    : loop_(loop), options_(std::move(options)), changed_(loop) {}
Broker::~Broker() = default;

void Broker::begin() {
  for (const std::string& step : options_.steps) {
    const auto lane = std::make_shared<Lane>(loop_, options_, step, changed_);
    lanes_.push_back(lane);
    loop_.spawn("steps.lane", Lane::run(lane));
    loop_.spawn("steps.heartbeat", Lane::keep_alive(lane));
  }
  if (!options_.research) return;
  researcher_ = std::make_shared<Researcher>(loop_, options_, changed_);
  loop_.spawn("steps.researcher", Researcher::run(researcher_));
}

net::Task<Result<>> Broker::run() {
  begin();
  std::optional<Error> failed;
  while (!stopping_ && !failed) {
    co_await changed_.wait(idle_deadline());
    failed = failure();
    if (net::in_ms(0) >= idle_deadline()) stop();
  }
  stop();
  co_await drain();
  if (failed) co_return *std::move(failed);
  co_return Result<>{};
}

std::optional<Error> Broker::failure() const {
  for (const auto& lane : lanes_) {
    if (lane->failure()) return lane->failure();
  }
  if (researcher_) return researcher_->failure();
  return std::nullopt;
}

bool Broker::ended() const {
  const auto has_ended = [](const std::shared_ptr<Lane>& lane) { return lane->ended(); };
  return std::all_of(lanes_.begin(), lanes_.end(), has_ended) &&
         (!researcher_ || researcher_->ended());
}

net::Instant Broker::idle_deadline() const {
  if (options_.idle_exit_ms == 0) return net::kNever;
  net::Instant last{};
  for (const auto& lane : lanes_) {
    const auto since = lane->idle_since();
    if (!since) return net::kNever;
    last = std::max(last, *since);
  }
  if (researcher_) {
    const auto since = researcher_->idle_since();
    if (!since) return net::kNever;
    last = std::max(last, *since);
  }
  return last + std::chrono::milliseconds(options_.idle_exit_ms);
}

void Broker::stop() {
  stopping_ = true;
  for (const auto& lane : lanes_) lane->stop();
  if (researcher_) researcher_->stop();
  changed_.notify_all();
}

net::Task<> Broker::drain() {
  const net::Instant grace = net::in_ms(options_.grace_ms);
  while (!ended() && net::in_ms(0) < grace) co_await changed_.wait(grace);
  for (const auto& lane : lanes_) lane->cut();
  if (researcher_) researcher_->cut();
  const net::Instant last = net::in_ms(kCutMs);
  while (!ended() && net::in_ms(0) < last) co_await changed_.wait(last);
  lanes_.clear();
  researcher_.reset();
}

}  // namespace quern::worker
