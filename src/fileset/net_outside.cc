#include "fileset/net_outside.h"

#include <fmt/format.h>

#include <algorithm>

#include "queue/await.h"

namespace quern::fileset {
namespace {

constexpr std::int64_t kAskIdleMs = 60'000;

HopOptions hop_options(const NetOutsideOptions& options) {
  return {options.allowed, options.bases, options.gates};
}

bool may_pass(const HopAnswer& hop) {
  if (hop.give_up) return false;
  const int status = hop.fetched.status;
  if (status == 0) return web::is_passing(hop.fetched.problem);
  // What broke off in the middle of a body.
  const bool broke_off =
      hop.fetched.problem != web::FetchProblem::None && web::is_passing(hop.fetched.problem);
  const bool held = status == 403 && hop.wait_ms > 0;  // an allowance that is used up
  return broke_off || held || status == 429 || status == 500 || status == 502 || status == 503 ||
         status == 504;
}

}  // namespace

NetOutside::NetOutside(NetOutsideParts parts, NetOutsideOptions options)
    : parts_(parts),
      options_(std::move(options)),
      hops_(parts.loop, parts.fetcher, hop_options(options_)),
      // A job of each transfer at a time, and no more.
      writers_(
          std::make_shared<io::Pool>(io::PoolOptions{kWriterThreads, 2 * web::kTransfersMax})) {}

// Sinks of transfers that still end hold the pool, too; nothing of it runs any more then.
NetOutside::~NetOutside() {
  writers_->stop();
}

net::Task<Answer> NetOutside::ask(Ask ask) {
  HopOrder order;
  order.url = ask.url;
  order.method = ask.method;
  order.headers = ask.headers;
  order.body = ask.body;
  order.bytes_max = ask.bytes_max;
  order.idle_ms = std::min(ask.total_ms, kAskIdleMs);
  order.deadline = net::in_ms(ask.total_ms);
  order.follow = ask.follow;
  order.stop = ask.stop;
  if (!ask.file.empty()) {
    auto open = [path = ask.file] { return io::FileReader::open(path); };
    auto opened = co_await queue::offload(parts_.loop, parts_.pool, std::move(open));
    if (!opened.ok()) {
      Answer answer;
      answer.problem = web::FetchProblem::Internal;
      answer.message = opened.error().message();
      answer.url = ask.url;
      co_return answer;
    }
    order.upload = std::make_shared<const io::FileReader>(*std::move(opened));
  }
  for (int tries = 1;; ++tries) {
    HopOrder copy = order;
    HopAnswer hop = co_await hops_.go(std::move(copy));
    const std::int64_t wait_ms = backoff_ms(options_.backoff_ms, tries);
    const bool again = may_pass(hop) && tries < ask.tries &&
                       hop.wait_ms <= options_.gates.wait_ms_max &&
                       net::in_ms(std::max(wait_ms, hop.wait_ms)) < order.deadline;
    if (again) {
      const bool open = co_await hops_.pause(wait_ms, ask.stop);
      if (open) continue;
    }
    Answer answer = co_await answer_of(std::move(hop), ask.bytes_max);
    answer.tries = tries;
    co_return answer;
  }
}

net::Task<Answer> NetOutside::answer_of(HopAnswer hop, std::int64_t bytes_max) {
  Answer answer;
  answer.last = std::move(hop.fetched);
  answer.problem = answer.last.problem;
  answer.message = answer.last.message;
  answer.status = answer.last.status;
  answer.headers = answer.last.headers;
  answer.url = std::move(hop.url);
  answer.request_head = answer.last.request_head;
  answer.address = answer.last.address;
  answer.began_us = answer.last.began_us;
  auto read = [body = answer.last.body, bytes_max] { return body.whole(bytes_max); };
  auto whole = co_await queue::offload(parts_.loop, parts_.pool, std::move(read));
  if (whole.ok()) {
    answer.body = *std::move(whole);
  } else if (answer.problem == web::FetchProblem::None) {
    const bool large = whole.error().kind() == Errc::TooLarge;
    answer.problem = large ? web::FetchProblem::TooLarge : web::FetchProblem::Internal;
    answer.message = whole.error().message();
  }
  co_return answer;
}

net::Task<Downloaded> NetOutside::download(DownloadOrder order) {
  DownloadParts parts{parts_.loop, parts_.fetcher, parts_.pool, writers_, hops_};
  parts.sync_bytes = options_.part_sync_bytes;
  parts.backoff_ms = options_.backoff_ms;
  parts.attempts_max = options_.attempts_max;
  co_return co_await download_file(std::move(parts), std::move(order));
}

}  // namespace quern::fileset
