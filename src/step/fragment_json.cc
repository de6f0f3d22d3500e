// What the JSON of fragments says. The names are in fragment.cc.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <limits>

#include "base/utf8.h"
#include "model/steps.h"
#include "step/clean_text.h"
#include "step/fragment.h"

namespace quern::step {
namespace {

namespace json = boost::json;

// Deeper than anybody's metadata; far from what a stack holds.
constexpr std::size_t kDepthMax = 64;
constexpr double kCostMax = 1e15;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The number of an escape like \u00e9 at the front; -1 where there is none.
int escaped_unit(std::string_view text) {
  if (!text.starts_with("\\u") || text.size() < 6) return -1;
  int unit = 0;
  for (const char c : text.substr(2, 4)) {
    if (hex_digit(c) < 0) return -1;
    unit = unit * 16 + hex_digit(c);
  }
  return unit;
}

bool is_first_half(int unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}
bool is_second_half(int unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

// Appends the escape at the front, mended; returns its bytes. NUL goes: no store holds it.
// Half a pair becomes U+FFFD: that is how Python writes file names that are no UTF-8.
std::size_t append_escape(std::string_view text, std::string& out) {
  const int unit = escaped_unit(text);
  if (unit == 0) return 6;
  if (is_first_half(unit) && is_second_half(escaped_unit(text.substr(6)))) {
    out.append(text.substr(0, 12));
    return 12;
  }
  if (is_first_half(unit) || is_second_half(unit)) {
    out.append("\\ufffd");
    return 6;
  }
  const std::size_t bytes = std::min<std::size_t>(text.size(), 2);
  out.append(text.substr(0, bytes));
  return bytes;
}

// What parsers refuse though its meaning is plain: bytes that are no UTF-8, halves of surrogate
// pairs, and raw control characters (between values a blank is as good, within names it is better).
std::string mended(std::string_view bytes) {
  const std::string valid = valid_utf8(bytes);
  std::string_view rest = valid;
  std::string out;
  out.reserve(valid.size());
  while (!rest.empty()) {
    const auto special = [](char c) { return c == '\\' || static_cast<unsigned char>(c) < 0x20; };
    const auto end = std::find_if(rest.begin(), rest.end(), special);
    out.append(rest.begin(), end);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.begin()));
    if (rest.empty()) break;
    if (rest.front() == '\\') {
      rest.remove_prefix(append_escape(rest, out));
    } else {
      out += ' ';
      rest.remove_prefix(1);
    }
  }
  return out;
}

// A number beyond all doubles is read as infinity, and would be written as a word that is no JSON.
void drop_infinities(json::value& value) {
  if (value.is_double() && !std::isfinite(value.get_double())) value = nullptr;
  if (json::array* array = value.if_array()) {
    for (json::value& item : *array) drop_infinities(item);
  }
  if (json::object* object = value.if_object()) {
    for (json::key_value_pair& pair : *object) drop_infinities(pair.value());
  }
}

Result<json::value> parse_json(std::string_view bytes) {
  json::parse_options options;
  options.max_depth = kDepthMax;
  json::error_code error;
  json::value value = json::parse(mended(bytes), error, {}, options);
  if (error) return Error{Errc::Invalid, "the JSON is malformed: " + error.message()};
  return value;
}

Result<json::object> parse_object(std::string_view bytes) {
  TRY_ASSIGN(json::value value, parse_json(bytes));
  if (!value.is_object()) return Error{Errc::Invalid, "the JSON is no object"};
  return std::move(value.get_object());
}

Error missing(std::string_view name) {
  return Error{Errc::Invalid, fmt::format("'{}' is missing", name)};
}

Error wrong_type(std::string_view name, std::string_view expected) {
  return Error{Errc::Invalid, fmt::format("'{}' must be {}", name, expected)};
}

Result<> read(const json::object& object, std::string_view name, std::string& into,
              std::size_t bytes_max) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return missing(name);
  if (!value->is_string()) return wrong_type(name, "a text");
  into = cut_at_character(value->get_string(), bytes_max);
  return {};
}

Result<> read(const json::object& object, std::string_view name, bool& into) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return missing(name);
  if (!value->is_bool()) return wrong_type(name, "true or false");
  into = value->get_bool();
  return {};
}

std::optional<double> number(const json::value* value) {
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

// {"nProcessed","nTotal"}.
std::optional<double> counted(const json::value& value) {
  const json::object* counts = value.if_object();
  if (counts == nullptr) return std::nullopt;
  const auto processed = number(counts->if_contains("nProcessed"));
  const auto total = number(counts->if_contains("nTotal"));
  if (!processed || !total) return std::nullopt;
  return *total > 0 ? *processed / *total : 0.0;
}

std::int64_t cost_number(const json::object& object, std::string_view name) {
  const double value = number(object.if_contains(name)).value_or(0);
  return static_cast<std::int64_t>(std::clamp(value, 0.0, kCostMax));
}

Cost cost_of(const json::object& object) {
  return {cost_number(object, "wallMs"), cost_number(object, "cpuMs"),
          cost_number(object, "peakKiB")};
}

std::string text_or_empty(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

Failure failure_of(const json::object& object) {
  Failure failure;
  failure.kind = model::worker_error_kind(text_or_empty(object, "kind"));
  failure.message = parse_message(text_or_empty(object, "message"), kNoticeBytesMax);
  if (failure.message.empty()) failure.message = model::to_string(failure.kind);
  const json::value* again = object.if_contains("again");
  failure.again = again != nullptr && again->is_bool() && again->get_bool();
  return failure;
}

Result<std::int64_t> file_of(const json::value& value) {
  const json::object* object = value.if_object();
  const json::value* file = object != nullptr ? object->if_contains("file") : nullptr;
  if (file == nullptr || !file->is_int64()) return wrong_type("file", "a whole number");
  return file->get_int64();
}

// The array of this name; where it is absent, an empty one.
Result<const json::array*> files_in(const json::object& object, std::string_view name) {
  static const json::array none;
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return &none;
  if (!value->is_array()) return wrong_type(name, "an array");
  if (value->get_array().size() > kTypesFilesMax) {
    return Error{Errc::Invalid, fmt::format("'{}' names too many files", name)};
  }
  return &value->get_array();
}

// None where they are no ascending numbers, or too many.
tree::PageEnds page_ends_of(const json::object& object) {
  const json::value* value = object.if_contains("pageEnds");
  if (value == nullptr || !value->is_array()) return {};
  const json::array& list = value->get_array();
  if (list.size() > tree::kPageEndsMax) return {};
  tree::PageEnds ends;
  for (const json::value& end : list) {
    json::error_code error;
    ends.push_back(end.to_number<std::uint32_t>(error));
    if (error || !end.is_int64()) return {};
  }
  return tree::are_page_ends(ends, UINT32_MAX) ? ends : tree::PageEnds();
}

// The texts of the list, bounded; empty where there is no such list.
std::string headings_of(const json::object& object) {
  const json::value* value = object.if_contains("headings");
  if (value == nullptr || !value->is_array()) return {};
  json::array headings;
  for (const json::value& heading : value->get_array()) {
    if (headings.size() == kHeadingsMax) break;
    if (!heading.is_string()) continue;
    const std::string_view text = heading.get_string();
    headings.emplace_back(cut_at_character(text, kHeadingBytesMax));
  }
  return headings.empty() ? std::string() : json::serialize(headings);
}

std::optional<std::int64_t> main_bytes_of(const json::object& object) {
  const json::value* value = object.if_contains("mainBytes");
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return std::nullopt;
  return value->get_int64();
}

}  // namespace

Result<ChildHead> parse_child(std::string_view bytes) {
  TRY_ASSIGN(json::object object, parse_object(bytes));
  ChildHead child;
  TRY(read(object, "filename", child.filename, kFilenameBytesMax));
  TRY(read(object, "contentType", child.content_type, model::kTypeBytesMax));
  TRY(read(object, "languageCode", child.language, kLanguageBytesMax));
  TRY(read(object, "wantOcr", child.want_ocr));
  TRY(read(object, "wantSplitByPage", child.want_split));
  json::value* metadata = object.if_contains("metadata");
  if (metadata == nullptr) return missing("metadata");
  if (!metadata->is_object()) return wrong_type("metadata", "an object");
  drop_infinities(*metadata);
  child.metadata = json::serialize(*metadata);
  child.page_ends = page_ends_of(object);
  child.main_bytes = main_bytes_of(object);
  child.headings = headings_of(object);
  return child;
}

std::optional<double> parse_progress(std::string_view bytes) {
  const Result<json::value> value = parse_json(bytes);
  if (!value.ok()) return std::nullopt;
  std::optional<double> part = number(&*value);
  if (const json::object* object = value->if_object()) {
    const json::value* counts = object->if_contains("children");
    if (counts == nullptr) counts = object->if_contains("bytes");
    if (counts != nullptr) part = counted(*counts);
  }
  if (!part || std::isnan(*part)) return std::nullopt;
  return std::clamp(*part, 0.0, 1.0);
}

Failure parse_failure(std::string_view bytes) {
  const Result<json::object> object = parse_object(bytes);
  if (object.ok()) return failure_of(*object);
  Failure failure;
  failure.message = parse_message(bytes, kNoticeBytesMax);
  if (failure.message.empty()) failure.message = model::to_string(failure.kind);
  return failure;
}

std::optional<Cost> parse_cost(std::string_view bytes) {
  const Result<json::object> object = parse_object(bytes);
  if (!object.ok()) return std::nullopt;
  return cost_of(*object);
}

Result<DetectedTypes> parse_types(std::string_view bytes) {
  TRY_ASSIGN(const json::object object, parse_object(bytes));
  DetectedTypes detected;
  TRY_ASSIGN(const json::array* types, files_in(object, "types"));
  for (const json::value& value : *types) {
    TRY_ASSIGN(const std::int64_t file, file_of(value));
    std::string type;
    TRY(read(value.get_object(), "type", type, model::kTypeBytesMax));
    detected.types.push_back({file, model::canonical_type(type)});
  }
  TRY_ASSIGN(const json::array* failed, files_in(object, "failed"));
  for (const json::value& value : *failed) {
    TRY_ASSIGN(const std::int64_t file, file_of(value));
    detected.failed.push_back({file, failure_of(value.get_object())});
  }
  const json::value* cost = object.if_contains("cost");
  if (cost != nullptr && cost->is_object()) detected.cost = cost_of(cost->get_object());
  return detected;
}

Result<std::string> parse_links(std::string_view bytes) {
  TRY_ASSIGN(json::object object, parse_object(bytes));
  const json::value* links = object.if_contains("links");
  if (links == nullptr || !links->is_array()) return wrong_type("links", "an array");
  return json::serialize(object);
}

}  // namespace quern::step
