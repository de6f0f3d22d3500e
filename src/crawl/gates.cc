#include "crawl/gates.h"

#include <algorithm>

namespace quern::crawl {

net::Task<bool> Gates::enter(std::string site, std::int64_t token, std::int64_t gap_ms,
                             net::Instant not_before) {
  if (closed_) co_return false;
  if (gates_.size() >= kept_) forget_old();
  Gate& gate = gates_[site];  // stays: it is waited for
  if (!gate.changed) gate.changed = std::make_unique<net::Event>(loop_);
  if (token == kGuest) {
    // Where we have never asked, somebody else may have, a moment ago.
    if (gate.token == kGuest) gate.free_at = std::max(gate.free_at, net::in_ms(gap_ms));
  } else if (gate.token != token) {
    // The first claim of all follows nobody.
    if (token > 1) gate.free_at = std::max(gate.free_at, net::in_ms(gap_ms));
    gate.token = token;
  }
  ++gate.waiting;
  const std::int64_t room = gap_ms > 0 ? 1 : kRequestsWithoutGap;
  while (!closed_) {
    const net::Instant until = std::max(gate.free_at, not_before);
    const bool full = gate.inside >= room;
    if (!full && until <= net::in_ms(0)) break;
    co_await gate.changed->wait(full ? net::kNever : until);
  }
  --gate.waiting;
  if (closed_) co_return false;
  ++gate.inside;
  co_return true;
}

void Gates::leave(const std::string& site, std::int64_t gap_ms) {
  Gate& gate = gates_[site];
  --gate.inside;
  gate.free_at = std::max(gate.free_at, net::in_ms(gap_ms));
  // Whoever is woken enters, now or when it is time, and wakes the next one when it leaves.
  gate.changed->notify_one();
}

void Gates::hold(const std::string& site, std::int64_t gap_ms) {
  Gate& gate = gates_[site];
  gate.free_at = std::max(gate.free_at, net::in_ms(gap_ms));
}

void Gates::close() {
  closed_ = true;
  for (auto& [site, gate] : gates_) {
    if (gate.changed) gate.changed->notify_all();
  }
}

// A gate that is open long since is as good as none.
void Gates::forget_old() {
  const net::Instant now = net::in_ms(0);
  std::erase_if(gates_, [now](const auto& entry) {
    const Gate& gate = entry.second;
    return gate.inside == 0 && gate.waiting == 0 && gate.free_at < now;
  });
}

}  // namespace quern::crawl
