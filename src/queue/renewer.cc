#include "queue/renewer.h"

#include <algorithm>
#include <chrono>

namespace quern::queue {
namespace {

constexpr std::int64_t kRenewalsPerLease = 4;
constexpr std::int64_t kRenewMsMin = 20;

}  // namespace

Renewer::Renewer(store::Writer& writer, OwnerId owner, std::int64_t lease_ms, Renewed renewed)
    : writer_(writer), owner_(owner), lease_ms_(lease_ms), renewed_(std::move(renewed)) {
  thread_ = std::thread([this] { run(); });
}

Renewer::~Renewer() {
  {
    const std::scoped_lock lock(shared_->mutex);
    shared_->stopping = true;
  }
  shared_->changed.notify_all();
  thread_.join();
}

void Renewer::run() {
  const std::chrono::milliseconds pause(std::max(lease_ms_ / kRenewalsPerLease, kRenewMsMin));
  std::unique_lock lock(shared_->mutex);
  while (!shared_->stopping) {
    shared_->changed.wait_for(lock, pause, [this] { return shared_->stopping; });
    // One at a time: while the database is away the last one waits in the lane.
    if (shared_->stopping || shared_->waiting) continue;
    shared_->waiting = true;
    lock.unlock();
    renew();
    lock.lock();
  }
}

void Renewer::renew() {
  auto shared = shared_;
  auto answered = [shared, renewed = renewed_](const Result<std::int64_t>& until) {
    {
      const std::scoped_lock lock(shared->mutex);
      shared->waiting = false;
      if (shared->stopping) return;
    }
    renewed(until);
  };
  auto operation = store::make_operation(RenewOwner{owner_, lease_ms_ * 1000}, answered);
  if (writer_.control().try_push(operation) != store::Lane::Push::Taken) {
    answered(Error{Errc::Busy, "the writer took no renewal"});
  }
}

}  // namespace quern::queue
