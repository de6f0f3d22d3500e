// read_reply: what a handler's answer means.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>

#include "base/utf8.h"
#include "io/clock.h"
#include "net/head_parser.h"
#include "queue/http_processor.h"
#include "queue/outcome.h"

namespace quern::queue {
namespace {

namespace json = boost::json;

constexpr std::size_t kDepthMax = 128;
constexpr std::size_t kQuotedBytesMax = 200;

// "HTTP 503 Service Unavailable".
std::string status_text(int status) {
  const std::string_view phrase = net::reason_phrase(status);
  return phrase.empty() ? fmt::format("HTTP {}", status)
                        : fmt::format("HTTP {} {}", status, phrase);
}

// The beginning of a body that is a text, for people to see; empty where it is none.
std::string quoted_body(const std::string& body) {
  std::string_view text = std::string_view(body).substr(0, kQuotedBytesMax);
  const std::size_t valid = valid_utf8_prefix(text);
  // A character may be cut at the end; what is broken elsewhere is no text.
  if (valid + 4 <= text.size() || (valid < text.size() && text.size() == body.size())) return {};
  text = text.substr(0, valid);
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  return text.empty() ? std::string() : fmt::format(": {}", text);
}

bool may_be_tried_again(int status) {
  return status == 408 || status == 425 || status == 429 || status >= 500;
}

// Seconds since 1970 of "Sun, 06 Nov 1994 08:49:37 GMT".
std::optional<std::int64_t> parse_date(const std::string& text) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  int day = 0, year = 0, hour = 0, minute = 0, second = 0;
  char month[4] = {};
  const int found = std::sscanf(text.c_str(), "%*3s, %2d %3s %4d %2d:%2d:%2d GMT", &day, month,
                                &year, &hour, &minute, &second);
  const std::size_t at = kMonths.find(month);
  if (found != 6 || at == std::string_view::npos || at % 3 != 0) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(at / 3 + 1)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return std::int64_t{days} * 86'400 + hour * 3600 + minute * 60 + second;
}

// The date counts from the Date of the same answer, so that the clocks need not agree.
std::int64_t retry_after_us(const net::Headers& headers) {
  const std::string* value = headers.find("Retry-After");
  if (value == nullptr) return 0;
  std::int64_t seconds = 0;
  if (const auto given = net::parse_decimal(net::trimmed(*value))) {
    seconds = static_cast<std::int64_t>(std::min<std::uint64_t>(*given, kRetryAfterSecondsMax));
  } else if (const auto at = parse_date(*value)) {
    const std::string* date = headers.find("Date");
    const auto sent = date == nullptr ? std::nullopt : parse_date(*date);
    seconds = *at - sent.value_or(io::system_clock().now_us() / 1'000'000);
  }
  return std::clamp<std::int64_t>(seconds, 0, kRetryAfterSecondsMax) * 1'000'000;
}

// -- the text of a member --
// Data is stored as the handler wrote it, less the blanks: numbers that went through a parser would
// come out as others. The text is known to be a JSON object.

std::size_t end_of_string(std::string_view text, std::size_t begin) {
  std::size_t at = begin + 1;
  while (text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return at + 1;
}

std::string without_blanks(std::string_view text) {
  std::string compact;
  compact.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '"' ? end_of_string(text, at) : at + 1;
    if (std::string_view(" \t\r\n").find(text[at]) == std::string_view::npos) {
      compact.append(text.substr(at, end - at));
    }
    at = end;
  }
  return compact;
}

// Of a text without blanks.
std::size_t end_of_value(std::string_view text, std::size_t begin) {
  int depth = 0;
  for (std::size_t at = begin;;) {
    const char c = text[at];
    if (depth == 0 && (c == ',' || c == '}')) return at;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    at = c == '"' ? end_of_string(text, at) : at + 1;
  }
}

// The last member of this name, as the parser takes it.
std::string text_of_member(const std::string& object, std::string_view name) {
  const std::string text = without_blanks(object);
  std::string found;
  for (std::size_t at = 1; text[at] == '"';) {
    const std::size_t colon = end_of_string(text, at);
    const std::size_t end = end_of_value(text, colon + 1);
    const json::value key = json::parse(std::string_view(text).substr(at, colon - at));
    if (key.get_string() == name) found = text.substr(colon + 1, end - colon - 1);
    at = end + 1;
    if (text[end] == '}') break;
  }
  return found;
}

// -- fields --

std::optional<json::object> parse_object(const std::string& body) {
  json::parse_options options;
  options.max_depth = kDepthMax;
  boost::system::error_code failed;
  json::value value = json::parse(body, failed, {}, options);
  if (failed || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

// A field that is null says nothing, like one that is missing.
const json::value* find_field(const json::object& object, std::string_view name) {
  const json::value* field = object.if_contains(name);
  return field == nullptr || field->is_null() ? nullptr : field;
}

// The first of two names that is there.
std::string_view name_of(const json::object& object, std::string_view name,
                         std::string_view other) {
  return find_field(object, name) == nullptr ? other : name;
}

Outcome wrong_field(std::string_view field, std::string_view must_be) {
  return Outcome::failed(
      fmt::format("the handler's answer is wrong: '{}' must be {}", field, must_be));
}

Outcome final_failure(std::string error) {
  Outcome outcome = Outcome::failed(std::move(error));
  outcome.no_retry = true;
  return outcome;
}

// Cut as it is stored: whoever holds it until then needs no more.
std::string message_of(const json::string& message) {
  const std::string_view text = std::string_view(message).substr(0, kErrorBytesMax);
  return std::string(text.substr(0, valid_utf8_prefix(text)));
}

// Of {"message": "…", "no_retry": true} or "…".
Outcome read_error(const json::value& error) {
  if (error.is_string()) return Outcome::failed(message_of(error.get_string()));
  if (!error.is_object()) return wrong_field("error", "an object or a text");
  const json::object& object = error.get_object();
  const json::value* message = find_field(object, "message");
  const json::value* no_retry = find_field(object, "no_retry");
  if (message != nullptr && !message->is_string()) return wrong_field("error.message", "a text");
  if (no_retry != nullptr && !no_retry->is_bool()) {
    return wrong_field("error.no_retry", "true or false");
  }
  Outcome outcome = Outcome::failed(message == nullptr ? "" : message_of(message->get_string()));
  outcome.no_retry = no_retry != nullptr && no_retry->get_bool();
  return outcome;
}

Outcome read_move(const json::object& object, const std::string& body) {
  Outcome outcome;
  if (const json::value* gate = find_field(object, "gate")) {
    if (!gate->is_int64()) return wrong_field("gate", "a whole number");
    outcome.gate = gate->get_int64();
  }
  const std::string_view done_name = name_of(object, "done", "complete");
  if (const json::value* done = find_field(object, done_name)) {
    if (!done->is_bool()) return wrong_field(done_name, "true or false");
    outcome.done = done->get_bool();
  }
  const std::string_view data_name = name_of(object, "data", "response");
  if (find_field(object, data_name) != nullptr) outcome.data = text_of_member(body, data_name);
  return outcome;
}

Outcome read_body(const net::Response& response) {
  const std::optional<json::object> object = parse_object(response.body);
  const json::value* error = object ? find_field(*object, "error") : nullptr;
  if (error != nullptr) {
    Outcome outcome = read_error(*error);
    if (outcome.error.empty()) {
      outcome.error = status_text(response.status) + " with an error that has no message";
    }
    return outcome;
  }
  if (response.status < 200 || response.status > 299) {
    std::string message = status_text(response.status) + quoted_body(response.body);
    return may_be_tried_again(response.status) ? Outcome::failed(std::move(message))
                                               : final_failure(std::move(message));
  }
  if (object) return read_move(*object, response.body);
  return Outcome::failed(fmt::format("{}, but the body is {}{}", status_text(response.status),
                                     response.body.empty() ? "empty" : "no JSON object",
                                     quoted_body(response.body)));
}

}  // namespace

Outcome read_reply(const net::Response& response) {
  Outcome outcome = read_body(response);
  if (outcome.kind == Outcome::Kind::Failed) outcome.delay_us = retry_after_us(response.headers);
  return outcome;
}

}  // namespace quern::queue
