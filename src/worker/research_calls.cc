#include "worker/research_calls.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>

#include "base/log.h"
#include "io/system_error.h"
#include "net/target.h"
#include "worker/base64.h"
#include "worker/input.h"
#include "worker/scratch_file.h"

namespace quern::worker {
namespace {

constexpr std::size_t kItemBytesMax = 16 * 1024 * 1024;
constexpr std::size_t kAnswerBytesMax = 64 * 1024;
constexpr std::size_t kFetchBufferBytes = 256 * 1024;
constexpr std::size_t kRefusalShownMax = 500;
constexpr std::int64_t kKeepMsMax = 10'000;

net::ClientOptions client_options(const BrokerOptions& options) {
  net::ClientOptions client;
  client.stall_ms = options.stall_ms;
  client.first_byte_ms = options.stall_ms;
  client.idle_max = 1;
  client.authorization = options.server.authorization;
  if (!options.token.empty()) client.authorization = basic_authorization("worker", options.token);
  return client;
}

// It may take it another time.
bool is_for_later(int status) {
  return status >= 500 || status == 401 || status == 403 || status == 408 || status == 429;
}

Error canceled() {
  return Error{Errc::Canceled, "the researcher stops"};
}

}  // namespace

ResearchCalls::ResearchCalls(net::Loop& loop, const BrokerOptions& options, net::Event& changed)
    : options_(options), changed_(changed), lines_(loop, options.server, client_options(options)) {}

std::string ResearchCalls::target(std::string_view path) const {
  return lines_.server().target + std::string(path);
}

void ResearchCalls::stop() {
  stopping_ = true;
  lines_.cut(Purpose::Poll);
}

void ResearchCalls::cut() {
  stopping_ = cut_ = true;
  lines_.cut_all();
}

net::Task<> ResearchCalls::pause() {
  pause_ms_ = std::clamp(pause_ms_ * 2, options_.backoff_min_ms, options_.backoff_max_ms);
  const net::Instant until = net::in_ms(pause_ms_);
  while (!cut_ && net::in_ms(0) < until) co_await changed_.wait(until);
}

net::Task<Result<std::optional<ResearchItem>>> ResearchCalls::ask_for_work() {
  const boost::json::object about{{"researcher", options_.worker_name}, {"wait_ms", kAskWaitMs}};
  net::Request request = net::post_request(target("/research/work"), boost::json::serialize(about),
                                           "application/json");
  request.first_byte_ms = options_.poll_ms;
  // What was handed to a connection that turns out dead comes back by itself.
  request.repeat = net::Repeat::Always;
  Line& line = lines_.of_server(Purpose::Poll);
  CO_TRY_ASSIGN(const net::Response answer, co_await line.fetch(std::move(request), kItemBytesMax));
  if (answer.status == 204) co_return std::optional<ResearchItem>();
  if (answer.status != 200) {
    co_return Error{Errc::Unavailable, fmt::format("the server answered {}: {}", answer.status,
                                                   answer.body.substr(0, kRefusalShownMax))};
  }
  CO_TRY_ASSIGN(ResearchItem item, parse_research_item(answer.body));
  co_return std::optional<ResearchItem>(std::move(item));
}

net::Task<Result<io::Descriptor>> ResearchCalls::fetch(std::string target, std::uint64_t bytes) {
  const bool small = bytes <= kInputInMemoryMax;
  auto made = small ? make_memory_file("") : make_unnamed_file(options_.temp_folder);
  CO_TRY_ASSIGN(const io::Descriptor file, std::move(made));
  CO_TRY(set_size(file, bytes));
  for (int tries = 0; tries < kFetchTriesMax;) {
    CO_TRY_ASSIGN(const End end, co_await fetch_once(target, bytes, file.get()));
    if (end == End::Done) {
      calm();
      co_return reopen_read_only(file);
    }
    if (end == End::Broke) ++tries;
    if (stopping_) co_return canceled();
    co_await pause();
  }
  co_return Error{Errc::Corrupt, "its bytes did not come whole"};
}

net::Task<Result<ResearchCalls::End>> ResearchCalls::fetch_once(std::string target,
                                                                std::uint64_t bytes, int file) {
  net::Request request = net::get_request(std::move(target));
  net::Sent sent = co_await lines_.of_server(Purpose::Blob).send(std::move(request));
  if (!sent.answer) co_return End::Away;
  const int status = sent.answer->status();
  if (status == 404) co_return Error{Errc::Missing, "the server has it no more"};
  if (is_for_later(status)) co_return End::Away;
  if (status != 200) co_return Error{Errc::Corrupt, fmt::format("it was answered {}", status)};
  std::string buffer(kFetchBufferBytes, '\0');
  std::uint64_t got = 0;
  for (;;) {
    const Result<std::size_t> n = co_await sent.answer->read(buffer);
    if (!n) co_return End::Broke;
    if (*n == 0) break;
    if (got + *n > bytes) co_return End::Broke;
    if (::pwrite(file, buffer.data(), *n, static_cast<off_t>(got)) != static_cast<ssize_t>(*n)) {
      co_return io::system_error(errno, "keep a file that was fetched");
    }
    got += *n;
  }
  co_return got == bytes ? End::Done : End::Broke;
}

net::Task<Result<std::string>> ResearchCalls::fetch_small(std::string target,
                                                          std::size_t bytes_max) {
  for (;;) {
    net::Request request = net::get_request(target);
    const auto answer =
        co_await lines_.of_server(Purpose::Blob).fetch(std::move(request), bytes_max);
    if (answer && answer->status == 200) {
      calm();
      co_return answer->body;
    }
    if (answer && !is_for_later(answer->status)) {
      co_return Error{Errc::Missing, fmt::format("it was answered {}", answer->status)};
    }
    if (!answer && answer.error().kind() == Errc::TooLarge) co_return answer.error();
    if (stopping_) co_return canceled();
    co_await pause();
  }
}

net::Task<Result<>> ResearchCalls::tell(std::string json) {
  for (int refused = 0; refused < kTellTriesMax;) {
    net::Request request = net::post_request(target("/research/results"), json, "application/json");
    // The same result twice is one.
    request.repeat = net::Repeat::Always;
    const auto answer =
        co_await lines_.of_server(Purpose::Fragments).fetch(std::move(request), kAnswerBytesMax);
    if (answer && answer->status < 300) {
      calm();
      co_return Result<>{};
    }
    if (cut_) co_return canceled();
    if (answer && !is_for_later(answer->status)) {
      ++refused;
      log_warn("research.refused",
               {{"status", answer->status}, {"answer", answer->body.substr(0, kRefusalShownMax)}});
    } else if (!answer) {
      log_warn("research.away", {{"error", answer.error().message()}});
    }
    co_await pause();
  }
  co_return Error{Errc::Invalid, "the server does not take this result"};
}

net::Task<> ResearchCalls::keep_lease(std::string json) {
  net::Request request =
      net::post_request(target("/research/results"), std::move(json), "application/json");
  request.first_byte_ms = kKeepMsMax;
  request.repeat = net::Repeat::Always;
  const auto answer =
      co_await lines_.of_server(Purpose::Heartbeat).fetch(std::move(request), kAnswerBytesMax);
  if (!answer) log_debug("research.keep", {{"error", answer.error().message()}});
}

net::Task<> ResearchCalls::put_fingerprint(const ResearchItem& item, const MadeFingerprint& made) {
  std::string address = target(fmt::format("/research/fingerprints/{}", item.episode.id));
  net::append_query(address, "version", std::to_string(item.fingerprint_version));
  net::append_query(address, "sha256", item.episode.sha256);
  net::Request request =
      net::post_request(std::move(address), made.bytes, "application/octet-stream");
  request.method = net::Method::Put;
  request.headers.set("Quern-Waveform", base64_encoded(made.waveform));
  const auto answer =
      co_await lines_.of_server(Purpose::Fragments).fetch(std::move(request), kAnswerBytesMax);
  if (answer && answer->status < 300) co_return;
  log_warn(
      "research.fingerprint_not_kept",
      {{"episode", item.episode.id},
       {"error", answer ? answer->body.substr(0, kRefusalShownMax) : answer.error().message()}});
}

}  // namespace quern::worker
