#include "fileset/hops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "io/clock.h"
#include "net/async.h"

namespace quern::fileset {
namespace {

constexpr std::int64_t kConnectMsMax = 30'000;

// What another origin may see of the headers that somebody asks with.
constexpr std::array<std::string_view, 8> kOpenHeaders = {
    "accept", "accept-language", "accept-encoding", "user-agent",
    "range",  "if-range",        "content-type",    "content-md5"};
// Ours to send, and nobody's to read.
constexpr std::array<std::string_view, 7> kSecretHeaders = {
    "authorization", "cookie",  "proxy-authorization", "x-authorization",
    "x-api-key",     "x-token", "x-dataverse-key"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool is_among(const auto& names, std::string_view name) {
  return std::find(names.begin(), names.end(), lower(name)) != names.end();
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

HopAnswer no_answer(web::FetchProblem problem, std::string message) {
  HopAnswer answer;
  answer.fetched.problem = problem;
  answer.fetched.message = std::move(message);
  answer.give_up = true;
  return answer;
}

// Leaves when it goes, also with a coroutine that is no more.
class Pass {
 public:
  Pass(HostGates& gates, std::string host) : gates_(gates), host_(std::move(host)) {}
  ~Pass() { gates_.leave(host_); }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

 private:
  HostGates& gates_;
  std::string host_;
};

std::int64_t ms_until(net::Instant deadline) {
  if (deadline == net::kNever) return kAskedWaitMsMax;
  const auto left = deadline - net::in_ms(0);
  return std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
}

// As browsers do: what was posted is not posted to another place, but with 307 and 308.
void follow_with(HopOrder& order, int status, bool same_origin) {
  if (status == 303 || (status < 303 && order.method == "POST")) {
    if (order.method != "HEAD") order.method = "GET";
    order.body.clear();
    order.upload.reset();
  }
  if (same_origin) return;
  std::erase_if(order.headers,
                [](const auto& header) { return !is_among(kOpenHeaders, header.first); });
}

}  // namespace

std::string replace_base(const std::map<std::string, std::string>& bases, std::string_view url) {
  const std::pair<const std::string, std::string>* longest = nullptr;
  for (const auto& base : bases) {
    const std::string& from = base.first;
    if (from.empty() || !url.starts_with(from)) continue;
    const bool whole = from.ends_with('/') || url.size() == from.size() ||
                       std::string_view("/?#").find(url[from.size()]) != std::string_view::npos;
    if (whole && (longest == nullptr || from.size() > longest->first.size())) longest = &base;
  }
  if (longest == nullptr) return std::string(url);
  return longest->second + std::string(url.substr(longest->first.size()));
}

std::string without_secrets(std::string_view head) {
  std::string out;
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size() - 1) + 1;
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end);
    if (!is_among(kSecretHeaders, line.substr(0, line.find(':')))) out += line;
  }
  return out;
}

net::Task<HopAnswer> Hops::go(HopOrder order) {
  auto parsed = web::Url::parse(order.url);
  if (!parsed.ok() || !parsed->is_web()) {
    co_return no_answer(web::FetchProblem::Address,
                        fmt::format("\"{}\" is no address of the web", order.url));
  }
  web::Url url = *std::move(parsed);
  for (int hops = 0;; ++hops) {
    if (order.at) order.at(url.href());
    HopAnswer answer = co_await hop(order, url);
    answer.url = url.href();
    const bool leads_on = order.follow && is_redirect(answer.fetched.status) &&
                          !web::find_header(answer.fetched.headers, "Location").empty();
    if (answer.give_up || !leads_on) co_return answer;
    if (hops == kHopsMax) {
      co_return no_answer(web::FetchProblem::TooLarge,
                          fmt::format("{} redirects more than {} times", order.url, kHopsMax));
    }
    auto next = web::Url::parse(web::find_header(answer.fetched.headers, "Location"), url);
    if (!next.ok() || !next->is_web()) {
      co_return no_answer(web::FetchProblem::Address,
                          fmt::format("{} redirects to what is no address of the web", url.href()));
    }
    follow_with(order, answer.fetched.status, next->origin() == url.origin());
    url = *std::move(next);
  }
}

net::Task<HopAnswer> Hops::hop(const HopOrder& order, const web::Url& url) {
  auto place = web::Url::parse(replace_base(options_.bases, url.href()));
  if (!place.ok() || !place->is_web()) {
    co_return no_answer(web::FetchProblem::Address,
                        fmt::format("the place of {} is no address of the web", url.href()));
  }
  const std::string host = web::site_of(*place);
  const HostGates::Entered entered = co_await gates_.enter(host, order.deadline, order.stop);
  if (entered == HostGates::Entered::Closed) {
    const bool stopped = web::is_set(order.stop);
    co_return no_answer(web::FetchProblem::Canceled,
                        stopped ? "nobody wants it any more" : "the server is stopping");
  }
  if (entered != HostGates::Entered::Yes) {
    HopAnswer answer =
        no_answer(web::FetchProblem::Timeout,
                  fmt::format("{} wants to be left alone for {} s more; ask again later", host,
                              gates_.held_ms(host) / 1000));
    if (entered == HostGates::Entered::TimedOut) {
      answer.fetched.message = fmt::format("no turn at {} in the time that there was", host);
    }
    answer.wait_ms = gates_.held_ms(host);
    co_return answer;
  }
  const Pass pass(gates_, host);
  web::FetchOrder fetch(*place);
  fetch.method = order.method;
  fetch.headers = order.headers;
  fetch.body = order.body;
  fetch.upload = order.upload;
  fetch.sink = order.sink;
  fetch.stop = order.stop;
  fetch.body_bytes_max = order.bytes_max;
  fetch.idle_ms = order.idle_ms;
  fetch.total_ms = std::max<std::int64_t>(ms_until(order.deadline), 1);
  fetch.connect_ms = std::min(kConnectMsMax, fetch.total_ms);
  fetch.allowed = options_.allowed;
  auto submit = [this, &fetch](net::Callback<web::Fetched> callback) {
    fetcher_.fetch(std::move(fetch), callback);
  };
  HopAnswer answer;
  answer.fetched = co_await net::await_callback<web::Fetched>(loop_, submit);
  answer.fetched.request_head = without_secrets(answer.fetched.request_head);
  const std::int64_t now_s = io::system_clock().now_us() / 1'000'000;
  answer.wait_ms = asked_wait_ms(answer.fetched.status, answer.fetched.headers, now_s);
  if (answer.wait_ms > 0) gates_.hold(host, answer.wait_ms);
  co_return answer;
}

net::Task<bool> Hops::pause(std::int64_t ms, web::StopMark stop) {
  const net::Instant until = net::in_ms(ms);
  while (!closed_ && !web::is_set(stop) && net::in_ms(0) < until) {
    co_await closing_.wait(stop ? std::min(until, net::in_ms(kStopLookMs)) : until);
  }
  co_return !closed_ && !web::is_set(stop);
}

void Hops::close() {
  closed_ = true;
  gates_.close();
  closing_.notify_all();
}

}  // namespace quern::fileset
