#include "api/queue_json.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "io/clock.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using queue::Status;

constexpr std::string_view kPartitionFields =
    "handler, auto_close, manual_checkpoint, max_retries, priority, concurrency, backoff_ms, "
    "backoff_max_ms, retain_seconds, sealed, refuse_when_closed, status";
constexpr std::string_view kItemFields =
    "item, gate, priority, delay_ms, unique_key, limit_key, and data or text";
constexpr std::int64_t kSecondsMax = 100LL * 366 * 86'400;

Error wrong_type(std::string_view field, std::string_view expected) {
  return Error{Errc::Invalid, fmt::format("field '{}' must be {}", field, expected)};
}

Result<> read(std::string_view field, const json::value& given, std::string& into) {
  if (!given.is_string()) return wrong_type(field, "a text");
  into = given.get_string();
  return {};
}

Result<> read(std::string_view field, const json::value& given, bool& into) {
  if (!given.is_bool()) return wrong_type(field, "true or false");
  into = given.get_bool();
  return {};
}

Result<> read(std::string_view field, const json::value& given, std::int64_t& into) {
  if (!given.is_int64()) return wrong_type(field, "a whole number");
  into = given.get_int64();
  return {};
}

Result<> read_retain(const json::value& given, std::int64_t& retain_ms) {
  std::int64_t seconds = -1;  // null: for ever
  if (!given.is_null()) TRY(read("retain_seconds", given, seconds));
  if (seconds < -1 || seconds > kSecondsMax) {
    return wrong_type("retain_seconds",
                      fmt::format("from 0 to {}, or null to keep items for ever", kSecondsMax));
  }
  retain_ms = seconds == -1 ? -1 : seconds * 1000;
  return {};
}

Result<> read_status(const json::value& given) {
  if (given.is_string() && given.get_string() == "available") return {};
  return wrong_type("status",
                    "'available', which opens the partition again; the others are Quern's");
}

Result<> apply_field(std::string_view name, const json::value& given, queue::PutPartition& put) {
  queue::PartitionConfig& config = put.config;
  if (name == "handler") return read(name, given, config.handler);
  if (name == "auto_close") return read(name, given, config.auto_close);
  if (name == "manual_checkpoint") return read(name, given, config.manual_checkpoint);
  if (name == "refuse_when_closed") return read(name, given, config.refuse_when_closed);
  if (name == "max_retries") return read(name, given, config.max_retries);
  if (name == "priority") return read(name, given, config.priority);
  if (name == "concurrency") return read(name, given, config.concurrency);
  if (name == "backoff_ms") return read(name, given, config.backoff_ms);
  if (name == "backoff_max_ms") return read(name, given, config.backoff_ms_max);
  if (name == "retain_seconds") return read_retain(given, config.retain_ms);
  if (name == "sealed") return read(name, given, put.sealed.emplace());
  if (name == "status") return read_status(given);
  return Error{Errc::Invalid,
               fmt::format("field '{}' is unknown; there are {}", name, kPartitionFields)};
}

// [{"message", "at", "times"}] as it is stored, with times that people can read.
json::array errors_json(const std::string& errors) {
  boost::system::error_code failed;
  const json::value stored = json::parse(errors.empty() ? "[]" : errors, failed);
  json::array list;
  if (failed || !stored.is_array()) return list;
  for (const json::value& error : stored.get_array()) {
    json::value shown = error;
    json::object* object = shown.if_object();
    json::value* at = object == nullptr ? nullptr : object->if_contains("at");
    if (at != nullptr && at->is_int64()) *at = time_json(at->get_int64());
    list.push_back(std::move(shown));
  }
  return list;
}

json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value() : json::value(text);
}

void add_owner(json::object& object, const queue::Partition& partition) {
  const bool owned = partition.owner.has_value() && !partition.owner_name.empty();
  object["owner"] = owned ? json::value(partition.owner_name) : json::value();
  object["until"] = owned ? time_json(partition.owner_until_us) : json::value();
}

Result<> apply_item_field(std::string_view name, const json::value& given, queue::NewItem& item) {
  if (name == "item") return read(name, given, item.name);
  if (name == "gate") return read(name, given, item.gate);
  if (name == "priority") return read(name, given, item.priority);
  if (name == "unique_key") return read(name, given, item.unique_key);
  if (name == "limit_key") return read(name, given, item.limit_key);
  if (name == "text") return read(name, given, item.data);
  if (name == "data") return {};
  if (name != "delay_ms") {
    return Error{Errc::Invalid,
                 fmt::format("field '{}' is unknown; there are {}", name, kItemFields)};
  }
  std::int64_t delay_ms = 0;
  TRY(read(name, given, delay_ms));
  if (delay_ms < 0 || delay_ms > kSecondsMax * 1000) {
    return wrong_type(name, fmt::format("from 0 to {}", kSecondsMax * 1000));
  }
  item.delay_us = delay_ms * 1000;
  return {};
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

}  // namespace

json::value time_json(std::int64_t at_us) {
  if (at_us == queue::kNeverUs) return {};
  std::string text = io::utc_text(at_us);
  text.pop_back();  // its Z
  return json::value(fmt::format("{}.{:06}Z", text, at_us % 1'000'000));
}

json::object to_json(const queue::Partition& partition) {
  const queue::PartitionConfig& config = partition.config;
  json::object object{{"partition", partition.name},
                      {"version", partition.version},
                      {"handler", text_or_null(config.handler)},
                      {"auto_close", config.auto_close},
                      {"manual_checkpoint", config.manual_checkpoint},
                      {"max_retries", config.max_retries},
                      {"priority", config.priority},
                      {"concurrency", config.concurrency},
                      {"backoff_ms", config.backoff_ms},
                      {"backoff_max_ms", config.backoff_ms_max},
                      {"retain_seconds", nullptr},
                      {"refuse_when_closed", config.refuse_when_closed},
                      {"declared", partition.declared},
                      {"gate", partition.gate},
                      {"status", to_string(partition.status)}};
  if (config.retain_ms >= 0) object["retain_seconds"] = config.retain_ms / 1000;
  add_owner(object, partition);
  object["sealed"] = partition.sealed;
  object["items"] = partition.items;
  object["complete"] = partition.complete_items;
  object["failed"] = partition.failed_items;
  object["available"] = partition.open_items();
  object["created"] = time_json(partition.created_us);
  object["updated"] = time_json(partition.updated_us);
  return object;
}

json::object to_json(const queue::Item& item, const queue::Partition& of) {
  json::object object{{"partition", of.name},
                      {"item", item.name},
                      {"version", item.version},
                      {"gate", item.gate},
                      {"status", to_string(item.status)}};
  if (item.status == Status::Running) {
    add_owner(object, of);
  } else {
    object["owner"] = nullptr;
    object["until"] = nullptr;
  }
  object["retry_count"] = item.retry_count;
  object["error_messages"] = errors_json(item.errors);
  object["calls"] = item.calls;
  object["interruptions"] = item.interruptions;
  object["steps"] = item.steps;
  object["priority"] = item.priority;
  const bool waits = item.status == Status::Available || item.status == Status::Delayed;
  object["due"] = waits ? time_json(item.due_us) : json::value();
  object["unique_key"] = text_or_null(item.unique_key);
  object["limit_key"] = text_or_null(item.limit_key);
  object["bytes"] = item.data_bytes;
  object["created"] = time_json(item.created_us);
  object["updated"] = time_json(item.updated_us);
  return object;
}

json::object to_json(const queue::Event& event, const std::string& partition) {
  return {{"id", fmt::format("{}/{}", partition, event.number)},
          {"number", event.number},
          {"kind", event.kind},
          {"item", text_or_null(event.item)},
          {"gate", event.gate},
          {"token", event.token},
          {"at", time_json(event.at_us)}};
}

Result<> apply_fields(const json::object& fields, queue::PutPartition& put) {
  for (const auto& [name, given] : fields) TRY(apply_field(name, given, put));
  return {};
}

Result<queue::NewItem> parse_item_line(std::string_view line) {
  boost::system::error_code failed;
  json::parse_options options;
  options.max_depth = kItemJsonDepthMax;
  const json::value value = json::parse(line, failed, {}, options);
  if (failed) return Error{Errc::Invalid, "it is not JSON: " + failed.message()};
  const json::object* object = value.if_object();
  if (object == nullptr || !object->contains("item")) {
    return Error{Errc::Invalid, R"(it must be an object with at least "item")"};
  }
  if (object->contains("data") && object->contains("text")) {
    return Error{Errc::Invalid, "there are both data and text"};
  }
  queue::NewItem item;
  for (const auto& [name, given] : *object) TRY(apply_item_field(name, given, item));
  // As it was written: a number that went through a double might come out as another one.
  if (const json::value* data = object->if_contains("data")) {
    item.data = compact_member(line, "data");
    if (item.data.empty()) item.data = json::serialize(*data);  // its name was written with escapes
  }
  TRY(queue::validate(item));
  return item;
}

std::string compact_member(std::string_view json, std::string_view name) {
  std::string compact;  // what came since the last separator of the object itself
  std::string found;
  bool inside = false;  // a string
  bool wanted = false;  // what comes is the value of that name
  int depth = 0;
  const std::string quoted = fmt::format("\"{}\"", name);
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (!inside && is_blank(c)) continue;
    if (!inside && depth == 1 && (c == ',' || c == '}' || c == ':')) {
      if (wanted) found = std::exchange(compact, {});
      wanted = c == ':' && compact == quoted;
      compact.clear();
      if (c == '}') --depth;
      continue;
    }
    if (c == '"') inside = !inside;
    if (!inside && (c == '{' || c == '[') && depth++ == 0) continue;
    if (!inside && (c == '}' || c == ']')) --depth;
    compact += c;
    if (inside && c == '\\') compact += json[++i];
  }
  return found;
}

}  // namespace quern::api
