#include "fileset/download.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crash.h"
#include "fileset/decode_part.h"
#include "fileset/status.h"
#include "queue/await.h"

namespace quern::fileset {
namespace {

using Verdict = Judged::Verdict;

constexpr std::int64_t kPageBytesMax = 64 * 1024;  // of an error

// Whether the same question may be answered better in a moment.
bool may_pass(int status, bool behind_redirect) {
  const bool busy = status == 202 || status == 408 || status == 425 || status == 429;
  // A signed address that has expired on the way: the next try gets a new one.
  const bool expired = behind_redirect && (status == 400 || status == 401 || status == 403);
  return busy || expired || status >= 500;
}

bool has_digest(const DownloadOrder& order) {
  return !order.md5.empty() || !order.sha1.empty() || !order.sha256.empty();
}

class Download {
 public:
  Download(DownloadParts parts, DownloadOrder order)
      : parts_(std::move(parts)), order_(std::move(order)), deadline_(net::in_ms(order_.total_ms)) {
    if (order_.bytes_max <= 0) order_.bytes_max = kFileBytesMax;
  }
  // Also with a loop that goes while bytes still come.
  ~Download() {
    if (sink_) sink_->stop();
  }
  Download(const Download&) = delete;
  Download& operator=(const Download&) = delete;

  net::Task<Downloaded> run();

 private:
  net::Task<> attempt();
  net::Task<> take(HopAnswer answer);
  net::Task<> take_bytes(const HopAnswer& answer);
  net::Task<> take_odd(const Judged& judged);
  net::Task<> begin_again(std::string why);
  void take_status(const HopAnswer& answer);
  net::Task<> verify();
  net::Task<Result<>> decode();
  net::Task<> close_part();
  HopOrder next_order();
  bool may_resume(const PartNote& note) const;
  void again(std::string message, bool passing = true);
  void end(std::string status, std::string message, bool passing);
  void describe();

  DownloadParts parts_;
  DownloadOrder order_;
  net::Instant deadline_;
  std::shared_ptr<DownloadPart> part_;
  std::shared_ptr<DownloadSink> sink_;
  Downloaded result_;
  bool ended_ = false;
  bool complete_ = false;
  bool found_ = false;   // bytes of an earlier call are among those here
  bool redone_ = false;  // the one whole new download was begun
  bool broken_ = false;  // the disk does not take what it is given
  std::int64_t best_ = 0;
  int failures_ = 0;  // in a row, without progress
  int odd_ = 0;       // in a row
};

net::Task<Downloaded> Download::run() {
  auto open = [path = order_.part, url = order_.url] { return DownloadPart::open(path, url); };
  auto opened = co_await queue::offload(parts_.loop, parts_.pool, std::move(open));
  if (!opened.ok()) {
    end("error-platform-download", opened.error().message(), true);
    co_return result_;
  }
  part_ = *std::move(opened);
  best_ = part_->size();
  found_ = best_ > 0;
  const PartNote note = part_->note();
  complete_ = note.complete || (found_ && note.total == best_);
  result_.tries = 0;
  while (!ended_) {
    if (complete_) {
      co_await verify();
    } else {
      co_await attempt();
    }
  }
  co_await close_part();
  co_return std::move(result_);
}

bool Download::may_resume(const PartNote& note) const {
  return has_digest(order_) || !if_range_of(note.etag, note.last_modified).empty();
}

HopOrder Download::next_order() {
  const PartNote note = part_->note();
  Expected expected;
  expected.have = may_resume(note) ? part_->size() : 0;
  expected.total = note.total;
  expected.size = order_.size;
  expected.etag = note.etag;
  expected.last_modified = note.last_modified;
  expected.encoding = note.encoding;
  expected.bytes_max = order_.bytes_max;

  HopOrder order;
  order.url = order_.url;
  order.headers = order_.headers;
  order.headers.emplace_back("Accept-Encoding", "identity");
  if (expected.have > 0) {
    order.headers.emplace_back("Range", fmt::format("bytes={}-", expected.have));
    const std::string mark = if_range_of(note.etag, note.last_modified);
    if (!mark.empty()) order.headers.emplace_back("If-Range", mark);
  }
  order.bytes_max = kPageBytesMax;
  order.idle_ms = order_.idle_ms;
  order.deadline = deadline_;
  order.stop = order_.stop;
  sink_ = std::make_shared<DownloadSink>(
      SinkParts{part_, parts_.fetcher, parts_.writers, parts_.pool, parts_.sync_bytes},
      std::move(expected));
  order.sink = sink_;
  order.at = [sink = sink_](const std::string& url) { sink->set_url(url); };
  return order;
}

net::Task<> Download::attempt() {
  if (failures_ > 0) {
    const std::int64_t wait = backoff_ms(parts_.backoff_ms, failures_);
    const bool open = co_await parts_.hops.pause(wait, order_.stop);
    if (!open && !web::is_set(order_.stop)) {
      co_return end("error-platform-download", "the server is stopping", true);
    }
  }
  if (web::is_set(order_.stop)) co_return end("canceled", "", false);
  if (net::in_ms(0) >= deadline_ || result_.tries >= parts_.attempts_max) {
    co_return end("error-platform-download",
                  fmt::format("it took longer than it may; {} bytes are kept: {}", part_->size(),
                              result_.message),
                  true);
  }
  ++result_.tries;
  HopOrder order = next_order();
  HopAnswer answer = co_await parts_.hops.go(std::move(order));
  auto finish = [sink = sink_](net::Callback<Result<>> callback) { sink->finish(callback); };
  const Result<> written = co_await net::await_callback<Result<>>(parts_.loop, finish);
  result_.wire_bytes += sink_->taken();
  result_.http_status = answer.fetched.status;
  if (!written.ok()) {
    broken_ = true;
    const bool full = written.error().kind() == Errc::Full;
    co_return end(
        "error-platform-download",
        (full ? "the disk is full; make room and ask again: " : "") + written.error().message(),
        true);
  }
  if (part_->size() > best_) {
    best_ = part_->size();
    failures_ = 0;
  }
  const bool broke_off = answer.fetched.problem != web::FetchProblem::None;
  if (broke_off && web::is_set(order_.stop)) co_return end("canceled", "", false);
  co_await take(std::move(answer));
}

net::Task<> Download::take(HopAnswer answer) {
  const Judged judged = sink_->judged();
  if (judged.verdict != Verdict::Odd) odd_ = 0;
  switch (judged.verdict) {
    case Verdict::Append:
    case Verdict::Begin:
      co_return co_await take_bytes(answer);
    case Verdict::Complete:
      complete_ = true;
      co_return;
    case Verdict::Changed: {
      std::string why = judged.why;
      co_return co_await begin_again(std::move(why));
    }
    case Verdict::Odd:
      co_return co_await take_odd(judged);
    case Verdict::TooLarge:
      co_return end("too-large-size", judged.why, false);
    case Verdict::NotBytes:
      co_return take_status(answer);
  }
}

net::Task<> Download::take_bytes(const HopAnswer& answer) {
  const PartNote note = part_->note();
  if (sink_->is_too_large()) {
    co_return end("too-large-size", fmt::format("it has more than {} bytes", order_.bytes_max),
                  false);
  }
  if (sink_->is_too_long()) {
    co_return end("mismatch-size", "the server sends more bytes than the file has", false);
  }
  if (answer.fetched.problem != web::FetchProblem::None) {
    co_return again(answer.fetched.message);
  }
  const std::int64_t size = part_->size();
  const std::int64_t wanted =
      note.total.value_or(note.encoding.empty() ? order_.size.value_or(size) : size);
  complete_ = size >= wanted;
  if (!complete_) again(fmt::format("only {} of {} bytes came", size, wanted));
}

// An error's page in the place of the file may be gone with the next answer. Where it is not: a
// file that has another size for good does not match; a part whose rest cannot be had in order is
// begun again, once.
net::Task<> Download::take_odd(const Judged& judged) {
  if (++odd_ < kOddAnswersMax) co_return again(judged.why);
  const bool empty = part_->size() == 0;
  if (judged.other_size && (empty || judged.other_tag)) {
    co_return end("mismatch-size", judged.why, false);
  }
  if (judged.other_size || empty || redone_) {
    co_return end("error-platform-download", judged.why, true);
  }
  redone_ = true;
  odd_ = 0;
  std::string why = judged.why;
  co_await begin_again(std::move(why));
}

net::Task<> Download::begin_again(std::string why) {
  auto restart = [part = part_] { return part->restart({}); };
  const Result<> restarted = co_await queue::offload(parts_.loop, parts_.pool, std::move(restart));
  if (!restarted.ok()) {
    broken_ = true;
    co_return end("error-platform-download", restarted.error().message(), true);
  }
  again(std::move(why));
}

void Download::take_status(const HopAnswer& answer) {
  const web::Fetched& fetched = answer.fetched;
  if (fetched.status == 0) {
    const bool passing = web::is_passing(fetched.problem);
    if (answer.give_up || !passing) {
      return end("error-platform-download", fetched.message, passing);
    }
    return again(fetched.message);
  }
  const bool redirected = answer.url != order_.url;
  // An allowance that is used up is told with 403, too.
  const bool passes = may_pass(fetched.status, redirected) || answer.wait_ms > 0;
  const std::string message =
      fmt::format("{} answers {} {}", answer.url, fetched.status, fetched.reason);
  if (answer.wait_ms > parts_.hops.wait_ms_max()) {
    return end(
        "error-platform-download",
        fmt::format("{}, and wants to be left alone for {} s", message, answer.wait_ms / 1000),
        true);
  }
  if (!passes) return end("error-platform-download", message, false);
  again(message, fetched.status >= 500 || fetched.status < 400 || fetched.status == 408 ||
                     fetched.status == 425 || fetched.status == 429 || answer.wait_ms > 0);
}

// Notes a try that has not brought the end, and ends where there were too many.
void Download::again(std::string message, bool passing) {
  result_.message = std::move(message);
  if (++failures_ < std::max(order_.tries, 1)) return;
  end("error-platform-download",
      fmt::format("{} tries, the last: {}", result_.tries, result_.message), passing);
}

net::Task<> Download::verify() {
  auto sync = [part = part_]() -> Result<Digests> {
    TRY(part->sync_and_note(DownloadPart::State::Complete));
    return part->digests();
  };
  auto synced = co_await queue::offload(parts_.loop, parts_.pool, std::move(sync));
  if (!synced.ok()) {
    broken_ = true;
    co_return end("error-platform-download", synced.error().message(), true);
  }
  Digests digests = *std::move(synced);
  std::string mismatch = mismatch_of(order_, part_->size(), digests);
  if (!mismatch.empty() && !part_->note().encoding.empty()) {
    const Result<> decoded = co_await decode();
    if (decoded.ok()) {
      digests = part_->digests();
      mismatch.clear();
    }
  }
  if (mismatch.empty()) {
    crash_point("fileset.part.verified");
    end("verified-local", "", false);
    result_.size = part_->size();
    result_.md5 = std::move(digests.md5);
    result_.sha1 = std::move(digests.sha1);
    result_.sha256 = std::move(digests.sha256);
    co_return describe();
  }
  if ((part_->note().answers > 1 || found_) && !redone_) {
    redone_ = true;
    found_ = false;
    complete_ = false;
    best_ = 0;
    failures_ = 0;
    std::string why = mismatch;
    co_return co_await begin_again(std::move(why));
  }
  result_.size = part_->size();
  end(mismatch,
      fmt::format("what came is not what the manifest says: {} bytes, md5 {}", part_->size(),
                  digests.md5),
      false);
}

// Sent coded although nobody had asked for it: its content may be what the manifest means.
net::Task<Result<>> Download::decode() {
  auto work = [part = part_, order = order_]() -> Result<> {
    const PartNote note = part->note();
    TRY_ASSIGN(DecodedPart decoded,
               decode_part(order.part, note.encoding, order.size.value_or(order.bytes_max)));
    const std::string mismatch = mismatch_of(order, decoded.file.bytes_written(), decoded.digests);
    if (!mismatch.empty()) return Error{Errc::Corrupt, mismatch};
    return part->replace(std::move(decoded.file), std::move(decoded.digests));
  };
  co_return co_await queue::offload(parts_.loop, parts_.pool, std::move(work));
}

void Download::end(std::string status, std::string message, bool passing) {
  ended_ = true;
  result_.status = std::move(status);
  result_.message = std::move(message);
  result_.passing = passing;
}

// What is known of the answer that the bytes came with.
void Download::describe() {
  PartNote note = part_->note();
  result_.http_status = 200;
  result_.terminal_url = std::move(note.terminal_url);
  result_.headers = std::move(note.headers);
  result_.request_head = std::move(note.request_head);
  result_.address = std::move(note.address);
  result_.began_us = note.began_us;
}

// What does not match is gone; what may be gone on with another day is synced.
net::Task<> Download::close_part() {
  const bool verified = result_.status == "verified-local";
  const bool keep = leaves_part(result_.status) && part_->size() > 0;
  auto close = [part = part_, path = order_.part, verified, keep, broken = broken_]() -> Result<> {
    Result<> synced;
    if (keep && !broken) synced = part->sync_and_note(DownloadPart::State::Growing);
    part->close();
    return verified || keep ? synced : remove_part(path);
  };
  const Result<> closed = co_await queue::offload(parts_.loop, parts_.pool, std::move(close));
  if (!closed.ok()) result_.message += "; and its part: " + closed.error().message();
}

}  // namespace

net::Task<Downloaded> download_file(DownloadParts parts, DownloadOrder order) {
  Download download(std::move(parts), std::move(order));
  co_return co_await download.run();
}

std::int64_t backoff_ms(std::int64_t first_ms, int failures) {
  const int doublings = std::clamp(failures - 1, 0, 16);
  return std::min(first_ms << doublings, kBackoffMsMax);
}

std::string mismatch_of(const DownloadOrder& order, std::int64_t size, const Digests& digests) {
  if (order.size && *order.size != size) return "mismatch-size";
  if (!order.sha1.empty() && order.sha1 != digests.sha1) return "mismatch-sha1";
  if (!order.sha256.empty() && order.sha256 != digests.sha256) return "mismatch-sha256";
  if (!order.md5.empty() && order.md5 != digests.md5) return "mismatch-md5";
  return {};
}

}  // namespace quern::fileset
