#include "fileset/outside.h"

#include <algorithm>

namespace quern::fileset {

net::Task<bool> rest(net::Loop& loop, const Outside& outside, std::int64_t ms) {
  const net::Instant until = net::in_ms(ms);
  while (outside.is_open() && net::in_ms(0) < until) {
    co_await loop.sleep_until(std::min(until, net::in_ms(kStopLookMs)));
  }
  co_return outside.is_open();
}

net::Task<Answer> MarkedOutside::ask(Ask ask) {
  ask.stop = stop_;
  co_return co_await outside_.ask(std::move(ask));
}

net::Task<Downloaded> MarkedOutside::download(DownloadOrder order) {
  order.stop = stop_;
  co_return co_await outside_.download(std::move(order));
}

}  // namespace quern::fileset
