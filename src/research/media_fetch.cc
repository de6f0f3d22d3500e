#include "research/media_fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "io/file.h"
#include "net/async.h"

namespace quern::research {
namespace {

using web::Fetched;
using web::FetchProblem;

constexpr std::size_t kHeaderBytesMax = 1000;

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string header(const Fetched& fetched, std::string_view name) {
  return valid_utf8(web::find_header(fetched.headers, name).substr(0, kHeaderBytesMax));
}

Media failed(std::string problem, std::string message, bool passing = false) {
  Media media;
  media.problem = std::move(problem);
  media.message = std::move(message);
  media.passing = passing;
  return media;
}

Media no_answer(const Fetched& fetched) {
  switch (fetched.problem) {
    case FetchProblem::Address:
      return failed("address", "its address is not public: allow its host with --allow-private");
    case FetchProblem::TooLarge:
      return failed("too-large", "it is larger than we take: " + fetched.message);
    case FetchProblem::Protocol:
    case FetchProblem::Coding:
      return failed("broken", "its server broke off: " + fetched.message, true);
    default:
      break;
  }
  return failed("unreachable", "its server cannot be reached: " + fetched.message,
                web::is_passing(fetched.problem) || fetched.problem == FetchProblem::Canceled);
}

std::int64_t asked_wait_ms(const Fetched& fetched) {
  const std::string_view text = web::find_header(fetched.headers, "Retry-After");
  std::int64_t seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return std::clamp<std::int64_t>(seconds, 0, kAskedWaitMsMax / 1000) * 1000;
}

Media by_status(const Fetched& fetched) {
  const int status = fetched.status;
  if (status == 404 || status == 410) {
    return failed("not-found", fmt::format("its server says that it is not there ({})", status));
  }
  if (status == 401 || status == 403) {
    return failed("forbidden", fmt::format("its server does not give it to us ({})", status));
  }
  const bool passing = status >= 500 || status == 429 || status == 408 || status == 425;
  Media media =
      failed(passing ? "server" : "status",
             fmt::format("its server answers with {} {}", status, fetched.reason), passing);
  if (passing) media.wait_ms = asked_wait_ms(fetched);
  return media;
}

}  // namespace

Result<std::unique_ptr<MediaFetcher>> MediaFetcher::open(net::Loop& loop,
                                                         MediaFetcherOptions options) {
  std::unique_ptr<MediaFetcher> media(new MediaFetcher(loop, std::move(options)));
  const MediaFetcherOptions& wanted = media->options_;
  TRY(io::make_folders_durably(wanted.spool));
  TRY_ASSIGN(media->allowed_, web::AllowedHosts::parse(wanted.allow_private));
  web::FetcherOptions fetching;
  fetching.user_agent = wanted.user_agent;
  fetching.spool = wanted.spool;
  fetching.connect_to = wanted.connect_to;
  fetching.ca_file = wanted.ca_file;
  TRY_ASSIGN(media->fetcher_, web::Fetcher::open(std::move(fetching)));
  return media;
}

MediaFetcher::~MediaFetcher() {
  close();
}

void MediaFetcher::close() {
  closed_ = true;
  if (fetcher_) fetcher_->cancel_all();
}

net::Task<> MediaFetcher::wait_for_turn(std::string host) {
  const net::Instant now = net::in_ms(0);
  if (free_at_.size() > kHostsKept) {
    std::erase_if(free_at_, [now](const auto& entry) { return entry.second <= now; });
  }
  net::Instant& free_at = free_at_[host];
  const net::Instant turn = std::max(now, free_at);
  free_at = turn + std::chrono::milliseconds(options_.gap_ms);
  if (turn > now) co_await loop_.sleep_until(turn);
}

net::Task<Fetched> MediaFetcher::ask(web::Url url, const MediaOrder& order) {
  web::FetchOrder fetch(std::move(url));
  fetch.allowed = allowed_;
  fetch.body_bytes_max = order.bytes_max;
  fetch.total_ms = order.total_ms;
  if (!order.etag.empty()) fetch.headers.emplace_back("If-None-Match", order.etag);
  if (!order.last_modified.empty()) {
    fetch.headers.emplace_back("If-Modified-Since", order.last_modified);
  }
  auto begin = [this, &fetch](net::Callback<Fetched> done) {
    fetcher_->fetch(std::move(fetch), [done](Fetched fetched) { done(std::move(fetched)); });
  };
  co_return co_await net::await_callback<Fetched>(loop_, begin);
}

net::Task<Media> MediaFetcher::fetch(MediaOrder order) {
  Result<web::Url> parsed = web::Url::parse(order.url);
  if (!parsed.ok() || !parsed->is_web()) {
    co_return failed("address", fmt::format("'{}' is no address of the web", order.url));
  }
  web::Url url = *std::move(parsed);
  for (int hops = 0; hops <= kHopsMax; ++hops) {
    std::string host = url.host();
    co_await wait_for_turn(std::move(host));
    if (closed_) co_return failed("unreachable", "the server is stopping", true);
    web::Url to = url;
    Fetched fetched = co_await ask(std::move(to), order);
    if (fetched.problem != FetchProblem::None) co_return no_answer(fetched);
    const std::string_view location = web::find_header(fetched.headers, "Location");
    if (is_redirect(fetched.status) && !location.empty()) {
      Result<web::Url> next = web::Url::parse(location, url);
      if (!next.ok() || !next->is_web()) {
        co_return failed("broken", "its server leads to something that is no address of the web");
      }
      url = *std::move(next);
      continue;
    }
    const bool asked = !order.etag.empty() || !order.last_modified.empty();
    const bool same = fetched.status == 304 && asked;
    if (!same && fetched.status != 200) co_return by_status(fetched);
    Media media;
    media.same = same;
    media.url = url.href();
    media.content_type = header(fetched, "Content-Type");
    media.etag = header(fetched, "ETag");
    media.last_modified = header(fetched, "Last-Modified");
    media.body = std::move(fetched.body);
    co_return media;
  }
  co_return failed("redirect-loop",
                   fmt::format("its server leads on and on: {} redirects are too many", kHopsMax));
}

}  // namespace quern::research
