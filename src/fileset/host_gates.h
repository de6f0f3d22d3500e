// HostGates: how many requests a host gets at once, and when it may be asked again.
//
// Guarantee: never more than requests_max at once to one host, whoever asks; none before the
// instant that the host itself named (Retry-After, X-RateLimit-Reset). Nobody waits for such an
// instant longer than wait_ms_max: who would have to is told so at once.
//
// On the loop. Lifetime: outlives those who wait.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "net/event.h"
#include "net/loop.h"
#include "web/fetcher.h"

namespace quern::fileset {

inline constexpr int kHostRequestsMax = 4;
inline constexpr std::int64_t kWaitMsMax = 10 * 60 * 1000;
inline constexpr std::size_t kGatesKept = 10'000;

struct HostGateOptions {
  int requests_max = kHostRequestsMax;
  std::int64_t wait_ms_max = kWaitMsMax;
};

class HostGates {
 public:
  enum class Entered {
    Yes,       // leave() is owed
    TooLong,   // the host wants more patience than we have
    TimedOut,  // the deadline came first
    Closed,    // or nobody wants it any more
  };

  HostGates(net::Loop& loop, HostGateOptions options) : loop_(loop), options_(options) {}

  net::Task<Entered> enter(std::string host, net::Instant deadline, web::StopMark stop = {});
  void leave(const std::string& host);
  // Nobody enters for so long from now on.
  void hold(const std::string& host, std::int64_t ms);
  // How long nobody enters.
  std::int64_t held_ms(const std::string& host) const;
  // Everybody who waits is told, and whoever comes.
  void close();
  std::size_t size() const { return gates_.size(); }

 private:
  struct Gate {
    int busy = 0;
    int waiting = 0;
    net::Instant free_at{};
    std::unique_ptr<net::Event> changed;
  };
  Gate& gate_of(const std::string& host);
  void forget_old();

  net::Loop& loop_;
  HostGateOptions options_;
  bool closed_ = false;
  std::map<std::string, Gate> gates_;  // an entry that is waited for stays
};

// How long an answer asks us to stay away, from now (seconds since 1970): Retry-After as seconds or
// a date; where X-RateLimit-Remaining is 0, X-RateLimit-Reset as seconds or an instant. 0 where it
// does not ask; at most kAskedWaitMsMax.
inline constexpr std::int64_t kAskedWaitMsMax = 24LL * 3600 * 1000;
std::int64_t asked_wait_ms(int status, const web::HeaderList& headers, std::int64_t now_s);

}  // namespace quern::fileset
