#include "fileset/host_gates.h"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "fileset/outside.h"

namespace quern::fileset {
namespace {

// What is beyond is an instant, what is below a number of seconds.
constexpr std::int64_t kInstantMin = 1'000'000'000;

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

std::int64_t retry_after_s(std::string_view value, std::int64_t now_s) {
  if (const auto seconds = number_of(value)) return *seconds;
  std::tm time{};
  const char* const end =
      ::strptime(std::string(value).c_str(), "%a, %d %b %Y %H:%M:%S GMT", &time);
  return end == nullptr ? 0 : ::timegm(&time) - now_s;
}

std::string_view limit_header(const web::HeaderList& headers, std::string_view name) {
  const std::string_view value = web::find_header(headers, "X-RateLimit-" + std::string(name));
  return value.empty() ? web::find_header(headers, "RateLimit-" + std::string(name)) : value;
}

}  // namespace

std::int64_t asked_wait_ms(int status, const web::HeaderList& headers, std::int64_t now_s) {
  std::int64_t seconds = 0;
  const bool may_ask = status == 429 || status == 403 || status >= 500;
  if (may_ask) seconds = retry_after_s(web::find_header(headers, "Retry-After"), now_s);
  const auto remaining = number_of(limit_header(headers, "Remaining"));
  const auto reset = number_of(limit_header(headers, "Reset"));
  if (remaining && *remaining <= 0 && reset) {
    seconds = std::max(seconds, *reset >= kInstantMin ? *reset - now_s : *reset);
  }
  return std::clamp<std::int64_t>(seconds, 0, kAskedWaitMsMax / 1000) * 1000;
}

HostGates::Gate& HostGates::gate_of(const std::string& host) {
  if (gates_.size() > kGatesKept) forget_old();
  Gate& gate = gates_[host];
  if (!gate.changed) gate.changed = std::make_unique<net::Event>(loop_);
  return gate;
}

net::Task<HostGates::Entered> HostGates::enter(std::string host, net::Instant deadline,
                                               web::StopMark stop) {
  Gate& gate = gate_of(host);
  ++gate.waiting;
  Entered entered = Entered::Yes;
  while (true) {
    const net::Instant now = net::in_ms(0);
    const bool full = gate.busy >= options_.requests_max;
    if (closed_ || web::is_set(stop)) {
      entered = Entered::Closed;
    } else if (gate.free_at - now > std::chrono::milliseconds(options_.wait_ms_max)) {
      entered = Entered::TooLong;
    } else if (now >= deadline) {
      entered = Entered::TimedOut;
    } else if (full || now < gate.free_at) {
      net::Instant until = full ? deadline : std::min(deadline, gate.free_at);
      if (stop) until = std::min(until, net::in_ms(kStopLookMs));
      co_await gate.changed->wait(until);
      continue;
    }
    break;
  }
  --gate.waiting;
  if (entered == Entered::Yes) {
    ++gate.busy;
  } else {
    gate.changed->notify_one();  // the place that was perhaps meant for us
  }
  co_return entered;
}

void HostGates::leave(const std::string& host) {
  Gate& gate = gate_of(host);
  CHECK(gate.busy > 0);
  --gate.busy;
  gate.changed->notify_one();
}

void HostGates::hold(const std::string& host, std::int64_t ms) {
  Gate& gate = gate_of(host);
  gate.free_at = std::max(gate.free_at, net::in_ms(ms));
  // Those who wait for an instant of before see the new one.
  gate.changed->notify_all();
}

std::int64_t HostGates::held_ms(const std::string& host) const {
  const auto found = gates_.find(host);
  if (found == gates_.end()) return 0;
  const auto left = found->second.free_at - net::in_ms(0);
  return std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(left).count(),
                                0);
}

void HostGates::close() {
  closed_ = true;
  for (auto& [host, gate] : gates_) gate.changed->notify_all();
}

// A gate that is open is as good as none.
void HostGates::forget_old() {
  const net::Instant now = net::in_ms(0);
  std::erase_if(gates_, [now](const auto& entry) {
    const Gate& gate = entry.second;
    return gate.busy == 0 && gate.waiting == 0 && gate.free_at < now;
  });
}

}  // namespace quern::fileset
