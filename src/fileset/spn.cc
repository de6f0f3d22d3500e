#include "fileset/spn.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "net/target.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;
using std::literals::operator""sv;

constexpr std::size_t kSpnMessageBytesMax = 400;
constexpr std::size_t kJobBytesMax = 200;

// Those whose name says it by itself.
constexpr std::array kPlain = {
    "invalid-url"sv,     "not-found"sv,          "invalid-host-resolution"sv,
    "gateway-timeout"sv, "too-many-redirects"sv, "read-timeout"sv};

SpnAnswer backoff(std::string message) {
  return {"spn2-backoff", std::move(message), true, {}, {}};
}

SpnAnswer broken(std::string message) {
  return {"spn2-error", std::move(message), true, {}, {}};
}

std::optional<json::object> object_in(const std::string& text) {
  boost::system::error_code failed;
  json::value value = json::parse(text, failed);
  if (failed || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return {};
  return std::string(value->get_string());
}

// Only what can be put into an address.
bool is_job(std::string_view job) {
  return !job.empty() && job.size() <= kJobBytesMax && std::ranges::all_of(job, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-';
  });
}

bool is_datetime(std::string_view text) {
  return text.size() == 14 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Nothing is wrong with the answer itself.
std::optional<SpnAnswer> refused(const Answer& answer) {
  if (answer.problem != web::FetchProblem::None) {
    return broken("Save Page Now does not answer: " + answer.message);
  }
  if (answer.status == 429) return backoff("Save Page Now says: too many requests");
  if (answer.status == 200) return std::nullopt;
  SpnAnswer failed = broken(fmt::format("Save Page Now answered {}", answer.status));
  failed.passing = answer.status >= 500;
  return failed;
}

std::string form_of(const std::string& url) {
  std::string form;
  net::append_query(form, "url", url);
  net::append_query(form, "capture_all", "1");
  net::append_query(form, "if_not_archived_within", "14d");
  net::append_query(form, "skip_first_archive", "1");
  net::append_query(form, "js_behavior_timeout", "0");
  net::append_query(form, "force_get", "1");
  return form.substr(1);  // the "?"
}

// What a job that has ended says.
SpnAnswer end_of(const json::object& job) {
  if (text_of(job, "status") != "success") {
    std::string status = text_of(job, "status_ext");
    if (status.empty()) status = "error:unknown";
    return spn_failure(status, text_of(job, "message").substr(0, kSpnMessageBytesMax));
  }
  SpnAnswer answer;
  answer.status = "success";
  answer.url = text_of(job, "original_url");
  answer.datetime = text_of(job, "timestamp");
  if (answer.url.starts_with('/')) {
    answer.status = "spn2-success-partial-url";
    answer.message = "Save Page Now captured a part of an address: " + answer.url;
  } else if (answer.url.empty() || !is_datetime(answer.datetime)) {
    return broken("Save Page Now does not say what it captured");
  }
  if (answer.url.ends_with("/cookieAbsent") || answer.url.ends_with("cookieSet=1")) {
    answer.status = "blocked-cookie";
    answer.message = "the site answers only to who keeps its cookies";
  }
  return answer;
}

}  // namespace

SpnAnswer spn_failure(std::string_view status_ext, std::string message) {
  SpnAnswer answer;
  answer.message = std::move(message);
  std::string_view kind = status_ext;
  if (kind.starts_with("error:")) kind.remove_prefix(6);
  if (kind == "user-session-limit") return backoff(std::move(answer.message));
  if (std::ranges::find(kPlain, kind) != kPlain.end()) {
    answer.status = kind;
    answer.passing = kind.ends_with("-timeout");
  } else if (kind == "no-access" || kind == "forbidden") {
    answer.status = "forbidden";
  } else if (kind == "internal-server-error") {
    answer.status = "remote-server-error";
    answer.passing = true;
  } else {
    answer.status = fmt::format("spn2-error:{}", kind.substr(0, 100));
  }
  if (answer.message.empty()) answer.message = fmt::format("Save Page Now: {}", kind);
  return answer;
}

web::HeaderList SavePageNow::headers() const {
  return {{"Authorization", fmt::format("LOW {}:{}", options_.access_key, options_.secret_key)},
          {"Accept", "application/json"}};
}

// Whether a capture may begin now.
net::Task<SpnAnswer> SavePageNow::check_room() {
  Ask ask;
  ask.url = options_.save + "/status/user";
  ask.headers = headers();
  ask.tries = 1;
  const Answer answer = co_await outside_.ask(std::move(ask));
  if (auto failed = refused(answer)) co_return *std::move(failed);
  const std::optional<json::object> user = object_in(answer.body);
  const json::value* available = user ? user->if_contains("available") : nullptr;
  boost::system::error_code failed;
  const std::int64_t count = available == nullptr ? 0 : available->to_number<std::int64_t>(failed);
  if (available == nullptr || failed) co_return broken("Save Page Now does not say who may ask");
  if (count <= 1) co_return backoff("no capture may begin now: all sessions are in use");
  SpnAnswer good;
  good.status = "success";
  co_return good;
}

net::Task<SpnAnswer> SavePageNow::begin(std::string url, std::string* job) {
  Ask ask;
  ask.url = options_.save;
  ask.method = "POST";
  ask.headers = headers();
  ask.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
  ask.body = form_of(url);
  ask.tries = 1;  // asking twice would make two captures
  const Answer answer = co_await outside_.ask(std::move(ask));
  if (auto failed = refused(answer)) co_return *std::move(failed);
  const std::optional<json::object> reply = object_in(answer.body);
  if (!reply) co_return broken("Save Page Now answered with no JSON");
  const std::string message = text_of(*reply, "message");
  if (message.find("limit of active sessions") != std::string::npos) co_return backoff(message);
  if (message.find("same snapshot had been made") != std::string::npos) {
    SpnAnswer recent;
    recent.status = "spn2-recent-capture";
    recent.message = message.substr(0, kSpnMessageBytesMax);
    recent.passing = true;
    co_return recent;
  }
  if (text_of(*reply, "status") == "error") co_return end_of(*reply);
  *job = text_of(*reply, "job_id");
  if (!is_job(*job)) co_return broken("Save Page Now named no job");
  SpnAnswer good;
  good.status = "success";
  co_return good;
}

net::Task<SpnAnswer> SavePageNow::wait_for(std::string job) {
  for (int poll = 0; poll < options_.polls_max; ++poll) {
    Ask ask;
    ask.url = fmt::format("{}/status/{}", options_.save, job);
    ask.headers = headers();
    const Answer answer = co_await outside_.ask(std::move(ask));
    if (auto failed = refused(answer)) co_return *std::move(failed);
    const std::optional<json::object> status = object_in(answer.body);
    if (!status) co_return broken("Save Page Now answered with no JSON");
    const std::string original = text_of(*status, "original_job_id");
    if (is_job(original) && original != job) {
      job = original;  // somebody had asked for the same
      continue;
    }
    if (text_of(*status, "status") != "pending") co_return end_of(*status);
    const bool open = co_await rest(loop_, outside_, options_.poll_ms);
    if (!open) co_return broken("it was stopped");
  }
  co_return broken("Save Page Now took too long");
}

net::Task<SpnAnswer> SavePageNow::save(std::string url) {
  if (url.starts_with("ftp://")) {
    SpnAnswer answer;
    answer.status = "spn2-no-ftp";
    answer.message = "Save Page Now does not capture FTP";
    co_return answer;
  }
  SpnAnswer room = co_await check_room();
  if (room.status != "success") co_return room;
  std::string job;
  SpnAnswer begun = co_await begin(std::move(url), &job);
  if (begun.status != "success") co_return begun;
  co_return co_await wait_for(std::move(job));
}

}  // namespace quern::fileset
