// Gates: when a site may be asked again. On the loop.
//
// Guarantee: between the answer to one request and the next request to the same site lies at least
// the gap, whatever process asks: a site has one owner, and one that has just become it waits a gap
// first, for the former may have asked a moment ago. So the site itself never sees two requests
// closer together. Without a gap at most kRequestsWithoutGap are under way.
//
// A robots.txt may lead to another site, of which another process may be the owner. Whoever follows
// it enters that site's gate as a guest: it keeps the gap to all requests of this process, and
// comes a gap after it knocked; the owner, elsewhere, does not know of it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "crawl/site.h"
#include "net/event.h"
#include "net/loop.h"

namespace quern::crawl {

class Gates {
 public:
  static constexpr std::size_t kKept = 20'000;
  static constexpr std::int64_t kGuest = 0;  // instead of a token

  explicit Gates(net::Loop& loop, std::size_t kept = kKept) : loop_(loop), kept_(kept) {}

  // Waits for its turn at the site of that name. `token`: of the claim under which it asks, or
  // kGuest; `not_before`: the site asked for that. False where the gates are closed: nobody may ask
  // any more. Each enter() that returned true needs its leave().
  net::Task<bool> enter(std::string site, std::int64_t token, std::int64_t gap_ms,
                        net::Instant not_before);
  void leave(const std::string& site, std::int64_t gap_ms);
  // Nobody enters for so long from now on.
  void hold(const std::string& site, std::int64_t gap_ms);
  void close();
  std::size_t size() const { return gates_.size(); }

 private:
  struct Gate {
    std::int64_t token = 0;
    std::int64_t inside = 0;
    net::Instant free_at{};
    std::int64_t waiting = 0;
    std::unique_ptr<net::Event> changed;
  };
  void forget_old();

  net::Loop& loop_;
  const std::size_t kept_;
  bool closed_ = false;
  std::map<std::string, Gate> gates_;
};

}  // namespace quern::crawl
