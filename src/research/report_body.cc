// What a researcher sends to /research/results, read strictly.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "base/utf8.h"
#include "research/result.h"

namespace quern::research {
namespace {

namespace json = boost::json;

constexpr std::size_t kDepthMax = 8;
constexpr std::size_t kHashBytesMax = 256;
constexpr std::size_t kErrorBytesMax = 4000;
constexpr std::size_t kUuidBytes = 36;

Error wrong(std::string_view key, std::string_view what) {
  return {Errc::Invalid, fmt::format("{}: it must be {}", key, what)};
}

bool is_uuid(std::string_view text) {
  if (text.size() != kUuidBytes) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool is_digit = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (is_dash ? text[i] != '-' : !is_digit) return false;
  }
  return true;
}

// What is null is as if it were not there.
const json::value* find(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<std::int64_t> whole_of(const json::value& value) {
  if (value.is_int64() && value.get_int64() >= 0) return value.get_int64();
  return std::nullopt;
}

Result<std::int64_t> number_at(const json::object& object, std::string_view key) {
  const json::value* value = find(object, key);
  if (value == nullptr) return 0;
  const auto number = whole_of(*value);
  if (!number) return wrong(key, "a whole number, 0 or more");
  return *number;
}

Result<std::string> text_at(const json::object& object, std::string_view key,
                            std::size_t bytes_max) {
  const json::value* value = find(object, key);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return wrong(key, "a text");
  const std::string_view text = value->get_string();
  const bool is_good =
      text.size() <= bytes_max && is_valid_utf8(text) && text.find('\0') == std::string_view::npos;
  if (!is_good) return wrong(key, fmt::format("a text in UTF-8 of at most {} bytes", bytes_max));
  return std::string(text);
}

Result<const json::array*> list_at(const json::object& object, std::string_view key) {
  const json::value* value = find(object, key);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) return wrong(key, "a list of numbers");
  if (value->get_array().size() > kOffsetsMax) {
    return wrong(key, fmt::format("a list of at most {} numbers", kOffsetsMax));
  }
  return &value->get_array();
}

Result<std::vector<Finding>> findings_of(const json::object& object) {
  TRY_ASSIGN(const json::array* offsets, list_at(object, "offsets_ns"));
  TRY_ASSIGN(const json::array* scores, list_at(object, "scores"));
  std::vector<Finding> found;
  if (offsets == nullptr) {
    if (scores != nullptr && !scores->empty()) {
      return wrong("scores", "as long as offsets_ns, or left out");
    }
    return found;
  }
  if (scores != nullptr && scores->size() != offsets->size()) {
    return wrong("scores", "as long as offsets_ns, or left out");
  }
  for (std::size_t i = 0; i < offsets->size(); ++i) {
    const auto offset = whole_of((*offsets)[i]);
    if (!offset) return wrong("offsets_ns", "a list of whole numbers, 0 or more");
    double score = 1;
    if (scores != nullptr) {
      const json::value& value = (*scores)[i];
      if (!value.is_number()) return wrong("scores", "a list of numbers from 0 to 1");
      score = value.to_number<double>();
      if (!(score >= 0 && score <= 1)) return wrong("scores", "a list of numbers from 0 to 1");
    }
    found.push_back({*offset, score});
  }
  std::ranges::sort(found, {}, [](const Finding& finding) {
    return std::pair(finding.offset_ns, -finding.score);
  });
  // Told twice, it is there once, with the better score.
  const auto twice = std::ranges::unique(found, {}, &Finding::offset_ns);
  found.erase(twice.begin(), twice.end());
  return found;
}

Result<> read_pair(const json::object& object, Report& report) {
  TRY_ASSIGN(report.lease_id, text_at(object, "lease_id", kHashBytesMax));
  if (!report.lease_id.empty() && !is_uuid(report.lease_id)) {
    return wrong("lease_id", "the id that came with the work, a UUID in small letters, or empty");
  }
  TRY_ASSIGN(report.episode, number_at(object, "episode"));
  if (report.episode == 0) return wrong("episode", "the id of the episode that came with the work");
  TRY_ASSIGN(const std::int64_t clip, number_at(object, "clip"));
  if (const json::value* final = find(object, "final")) {
    if (!final->is_bool()) return wrong("final", "true or false");
    report.final = final->get_bool();
  }
  if (clip != 0) report.clip = clip;
  // Without a clip it ends its lease, or only keeps it alive.
  if (clip == 0 && !report.final && report.lease_id.empty()) {
    return wrong("clip", "the id of a clip that came with the work, where there is no lease_id");
  }
  TRY_ASSIGN(report.clip_number, number_at(object, "number"));
  TRY_ASSIGN(report.algorithm, number_at(object, "algorithm"));
  return {};
}

Result<Report> read_report(const json::object& object) {
  Report report;
  TRY(read_pair(object, report));
  TRY_ASSIGN(report.found, findings_of(object));
  TRY_ASSIGN(report.episode_duration_ns, number_at(object, "episode_duration_ns"));
  TRY_ASSIGN(report.clip_duration_ns, number_at(object, "clip_duration_ns"));
  TRY_ASSIGN(report.episode_hash, text_at(object, "episode_hash", kHashBytesMax));
  TRY_ASSIGN(report.clip_hash, text_at(object, "clip_hash", kHashBytesMax));
  TRY_ASSIGN(report.error, text_at(object, "error", kErrorBytesMax));
  if (!report.error.empty() && !report.found.empty()) {
    return wrong("error", "empty where offsets_ns is not");
  }
  if (!report.clip && (!report.found.empty() || !report.error.empty())) {
    return wrong("clip", "the id of the clip that offsets_ns or error is about");
  }
  return report;
}

}  // namespace

Result<Report> parse_report(std::string_view body) {
  if (body.size() > kResultBytesMax) {
    return over_limit("a result", std::ssize(body), kResultBytesMax, "research.result_bytes_max");
  }
  json::parse_options options;
  options.max_depth = kDepthMax;
  boost::system::error_code failed;
  const json::value value = json::parse(body, failed, {}, options);
  if (failed) return Error{Errc::Invalid, "the body is no JSON: " + failed.message()};
  if (!value.is_object()) return Error{Errc::Invalid, "the body must be a JSON object"};
  return read_report(value.get_object());
}

}  // namespace quern::research
