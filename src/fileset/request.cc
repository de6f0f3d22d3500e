#include "fileset/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "web/url.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;
using std::literals::operator""sv;

constexpr std::int64_t kFilesMaxMax = 1'000'000;
constexpr std::int64_t kBytesMaxMax = 1LL << 50;

constexpr std::array kStrategies = {
    "web-file"sv,        "web-fileset"sv,        "web-fileset-bundled"sv,
    "archiveorg-file"sv, "archiveorg-fileset"sv, "archiveorg-fileset-bundled"sv};

Result<> read_text(const json::object& from, std::string_view key, std::string& into) {
  const json::value* value = from.if_contains(key);
  if (value == nullptr || value->is_null()) return {};
  if (!value->is_string()) return Error{Errc::Invalid, fmt::format("'{}' must be a text", key)};
  into = value->get_string();
  return {};
}

Result<> read_bool(const json::object& from, std::string_view key, bool& into) {
  const json::value* value = from.if_contains(key);
  if (value == nullptr || value->is_null()) return {};
  if (!value->is_bool()) {
    return Error{Errc::Invalid, fmt::format("'{}' must be true or false", key)};
  }
  into = value->get_bool();
  return {};
}

Result<> read_number(const json::object& from, std::string_view key, std::int64_t max,
                     std::int64_t& into) {
  const json::value* value = from.if_contains(key);
  if (value == nullptr || value->is_null()) return {};
  boost::system::error_code failed;
  const auto number = value->to_number<std::int64_t>(failed);
  if (failed || number < 1 || number > max) {
    return Error{Errc::Invalid, fmt::format("'{}' must be a number from 1 to {}", key, max)};
  }
  into = number;
  return {};
}

json::string text_without_nul(const json::string& text) {
  json::string clean = text;
  clean.erase(std::remove(clean.begin(), clean.end(), '\0'), clean.end());
  return clean;
}

// Of "https://host:/a": who writes a colon without a port means none.
std::string without_empty_port(std::string text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string::npos) return text;
  const std::size_t begin = scheme + 3;
  const std::size_t end = std::min(text.find_first_of("/?#", begin), text.size());
  if (end > begin && text[end - 1] == ':') text.erase(end - 1, 1);
  return text;
}

}  // namespace

json::value without_nul(json::value value) {
  if (json::string* text = value.if_string()) {
    *text = text_without_nul(*text);
  } else if (json::array* list = value.if_array()) {
    for (json::value& one : *list) one = without_nul(std::move(one));
  } else if (const json::object* object = value.if_object()) {
    json::object clean;
    for (const auto& [key, member] : *object) {
      clean[text_without_nul(json::string(key))] = without_nul(member);
    }
    value = std::move(clean);
  }
  return value;
}

bool is_strategy(std::string_view name) {
  return std::ranges::find(kStrategies, name) != kStrategies.end();
}

Result<std::string> clean_base_url(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  const Result<web::Url> url = web::Url::parse(without_empty_port(std::string(text)));
  if (!url.ok() || !url->is_web() || url->host().empty()) {
    return Error{Errc::Invalid, "'base_url' must be an address such as https://example.org/data"};
  }
  return url->href();
}

Result<Request> parse_request(const json::value& value) {
  if (!value.is_object()) return Error{Errc::Invalid, "a request must be a JSON object"};
  Request request;
  request.raw = without_nul(value).get_object();
  TRY(read_text(request.raw, "ingest_type", request.ingest_type));
  TRY(read_text(request.raw, "base_url", request.base_url));
  TRY(read_text(request.raw, "link_source", request.link_source));
  TRY(read_text(request.raw, "link_source_id", request.link_source_id));
  TRY(read_text(request.raw, "ingest_request_source", request.ingest_request_source));
  TRY(read_text(request.raw, "release_stage", request.release_stage));
  TRY(read_bool(request.raw, "force_recrawl", request.force_recrawl));
  if (request.ingest_type.empty()) return Error{Errc::Invalid, "'ingest_type' is missing"};
  if (request.base_url.empty()) return Error{Errc::Invalid, "'base_url' is missing"};
  if (request.base_url.size() > kBaseUrlBytesMax) {
    return Error{Errc::Invalid, fmt::format("'base_url' has more than {} bytes", kBaseUrlBytesMax)};
  }
  TRY_ASSIGN(request.clean_url, clean_base_url(request.base_url));
  return request;
}

Result<Request> parse_request_text(std::string_view text) {
  if (text.size() > kRequestBytesMax) {
    return Error{Errc::Invalid, fmt::format("a request has at most {} bytes", kRequestBytesMax)};
  }
  boost::system::error_code failed;
  const json::value value = json::parse(text, failed);
  if (failed) return Error{Errc::Invalid, "that is no JSON: " + failed.message()};
  return parse_request(value);
}

json::object request_of(std::string_view url) {
  return {{"base_url", url}, {"ingest_type", kDataset}};
}

json::object to_json(const RequestOptions& options) {
  return {{"strict", options.strict},      {"ingest", options.ingest},
          {"bundle", options.bundle},      {"force_recrawl", options.force_recrawl},
          {"strategy", options.strategy},  {"max_files", options.files_max},
          {"max_bytes", options.bytes_max}};
}

Result<RequestOptions> parse_options(const json::object& object, const RequestOptions& defaults) {
  constexpr std::array kKnown = {"strict"sv,   "ingest"sv,    "bundle"sv,   "force_recrawl"sv,
                                 "strategy"sv, "max_files"sv, "max_bytes"sv};
  for (const auto& [key, value] : object) {
    if (std::ranges::find(kKnown, std::string_view(key)) == kKnown.end()) {
      return Error{Errc::Invalid, fmt::format("there is no option '{}'", std::string_view(key))};
    }
  }
  RequestOptions options = defaults;
  TRY(read_bool(object, "strict", options.strict));
  TRY(read_bool(object, "ingest", options.ingest));
  TRY(read_bool(object, "bundle", options.bundle));
  TRY(read_bool(object, "force_recrawl", options.force_recrawl));
  TRY(read_text(object, "strategy", options.strategy));
  TRY(read_number(object, "max_files", kFilesMaxMax, options.files_max));
  TRY(read_number(object, "max_bytes", kBytesMaxMax, options.bytes_max));
  if (!options.strategy.empty() && !is_strategy(options.strategy)) {
    return Error{Errc::Invalid,
                 fmt::format("there is no strategy '{}': it is web-file, web-fileset, "
                             "web-fileset-bundled, or the same with archiveorg-",
                             options.strategy)};
  }
  return options;
}

}  // namespace quern::fileset
