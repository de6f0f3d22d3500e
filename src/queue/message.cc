#include "queue/message.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <iterator>

#include "base/utf8.h"
#include "model/name.h"
#include "queue/locked_partitions.h"
#include "queue/timer.h"

namespace quern::queue {
namespace {

namespace json = boost::json;
using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kBodies{"SELECT id, data FROM item WHERE id = $1",
                      "SELECT id, data FROM item WHERE id = ANY ($1)"};

constexpr std::string_view kSearcher = "SEARCHER";
constexpr std::string_view kSearcherPrefix = "SEARCHER-";
constexpr std::string_view kTimerQueue = "TIMER";
constexpr std::array<std::string_view, 5> kQueues = {"INDEX", "CRAWL", "TIMER", "PACK", "ORCH"};

constexpr std::size_t kPathBytesMax = 2048;
constexpr std::size_t kTextBytesMax = 200;

// A value as it is stored, or the rest of the sentence "field 'site' must be …".
struct FieldValue {
  std::optional<json::value> value;
  std::string must_be;
};

bool is_plain_text(std::string_view text, std::size_t bytes_max) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  return !text.empty() && text.size() <= bytes_max && is_valid_utf8(text) &&
         std::none_of(text.begin(), text.end(), is_control);
}

template <std::size_t kBytesMax>
FieldValue read_text(const json::value& given) {
  const json::string* text = given.if_string();
  if (text != nullptr && is_plain_text(*text, kBytesMax)) return {given, ""};
  return {{}, fmt::format("a text of 1 to {} bytes without control characters", kBytesMax)};
}

FieldValue read_flag(const json::value& given) {
  if (given.is_bool()) return {given, ""};
  return {{}, "true or false"};
}

FieldValue read_count(const json::value& given) {
  if (given.is_int64() && given.get_int64() >= 0) return {given, ""};
  return {{}, "a whole number from 0"};
}

FieldValue read_timeout(const json::value& given) {
  if (given.is_number()) {
    boost::system::error_code failed;
    const double seconds = given.to_number<double>(failed);
    if (!failed && seconds > 0 && seconds <= static_cast<double>(kTimeoutSecondsMax)) {
      return {given, ""};
    }
  }
  return {{}, fmt::format("a number of seconds above 0, at most {}", kTimeoutSecondsMax)};
}

FieldValue read_queue(const json::value& given) {
  const json::string* text = given.if_string();
  const Result<std::string> queue =
      text == nullptr ? Error{Errc::Invalid, ""} : canonical_queue(std::string_view(*text));
  // A timer that sets timers would never end.
  if (queue.ok() && *queue != kTimerQueue) return {json::value(*queue), ""};
  return {{}, "INDEX, CRAWL, PACK, ORCH or SEARCHER-id"};
}

FieldValue read_object(const json::value& given) {
  if (given.is_object()) return {given, ""};
  return {{}, "an object: the message to post"};
}

FieldValue read_name(const json::value& given) {
  const json::string* text = given.if_string();
  if (text != nullptr && model::validate_name("a searcher", std::string_view(*text)).ok()) {
    return {given, ""};
  }
  return {{}, "a name of letters, digits, '.', '_' and '-'"};
}

FieldValue read_texts(const json::value& given) {
  const json::array* texts = given.if_array();
  const auto is_text = [](const json::value& one) {
    return read_text<kTextBytesMax>(one).value.has_value();
  };
  if (texts != nullptr && std::all_of(texts->begin(), texts->end(), is_text)) return {given, ""};
  return {{}, "a list of texts"};
}

// The vocabulary. A body holds its fields in this order.
struct Field {
  std::string_view name;
  FieldValue (*read)(const json::value& given);
};
constexpr Field kFields[] = {
    {"site", read_text<kSiteBytesMax>},
    {"path", read_text<kPathBytesMax>},
    {"force", read_flag},
    {"timeout", read_timeout},
    {"callback_queue", read_queue},
    {"callback_msg", read_object},
    {"searcher_id", read_name},
    {"free_space", read_count},
    {"address", read_text<kTextBytesMax>},
    {"held", read_texts},
    {"segment", read_text<kTextBytesMax>},
    {"version", read_count},
    {"digest", read_text<kTextBytesMax>},
};

using FieldSet = unsigned;
consteval FieldSet fields(std::initializer_list<std::string_view> names) {
  FieldSet set = 0;
  for (const std::string_view name : names) {
    FieldSet bit = 0;
    for (std::size_t i = 0; i < std::size(kFields); ++i) {
      if (kFields[i].name == name) bit = 1U << i;
    }
    if (bit == 0) throw "no such field";  // at compile time
    set |= bit;
  }
  return set;
}

struct MessageType {
  std::string_view type;
  std::string_view queue;
  FieldSet required;
  FieldSet optional;
};
constexpr FieldSet kCallback = fields({"timeout", "callback_queue", "callback_msg"});
constexpr FieldSet kVersion = fields({"version", "digest"});
constexpr MessageType kTypes[] = {
    {"index+crawl", "INDEX", fields({"site"}), fields({"path", "force"})},
    {"index", "INDEX", fields({"site"}), fields({"path", "force"})},
    {"crawl", "CRAWL", fields({"site"}), fields({"path", "force"})},
    {"pack_incremental", "PACK", fields({"site"}), fields({"force"})},
    {"pack_full", "PACK", fields({"site"}), fields({"force"})},
    {"start_timer", "TIMER", fields({"site"}) | kCallback, 0},
    {"reset_timer", "TIMER", fields({"site"}), kCallback},
    {"update", "ORCH", fields({"site"}), fields({"segment"}) | kVersion},
    {"register", "ORCH", fields({"searcher_id", "free_space"}), fields({"held", "address"})},
    {"load", kSearcher, fields({"segment"}), fields({"site"}) | kVersion},
    {"drop", kSearcher, fields({"segment"}), fields({"site"}) | kVersion},
};

std::string_view family_of(std::string_view queue) {
  return queue.starts_with(kSearcherPrefix) ? kSearcher : queue;
}

Result<const MessageType*> find_type(std::string_view queue, const json::object& object) {
  const json::value* given = object.if_contains("type");
  const json::string* text = given == nullptr ? nullptr : given->if_string();
  if (text == nullptr) return Error{Errc::Invalid, "a message has a type, which is a text"};
  const std::string_view name = *text;
  const auto* type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                  [&](const MessageType& one) { return one.type == name; });
  if (type == std::end(kTypes)) {
    return Error{Errc::Invalid, fmt::format("there is no type of message '{}'", name)};
  }
  if (type->queue != family_of(queue)) {
    return Error{Errc::Invalid, fmt::format("messages of type '{}' belong to queue {}, not {}",
                                            name, type->queue, queue)};
  }
  return type;
}

Result<> refuse_unknown(const MessageType& type, const json::object& object) {
  const FieldSet known = type.required | type.optional;
  for (const auto& [name, given] : object) {
    bool is_known = name == "type";
    for (std::size_t i = 0; i < std::size(kFields); ++i) {
      if (kFields[i].name == name) is_known = (known & (1U << i)) != 0;
    }
    if (!is_known) {
      return Error{Errc::Invalid, fmt::format("a message of type '{}' has no field '{}'", type.type,
                                              std::string_view(name))};
    }
  }
  return {};
}

Result<json::object> read_fields(const MessageType& type, const json::object& object) {
  json::object body{{"type", type.type}};
  for (std::size_t i = 0; i < std::size(kFields); ++i) {
    const Field& field = kFields[i];
    const json::value* given = object.if_contains(field.name);
    if (given == nullptr) {
      if ((type.required & (1U << i)) == 0) continue;
      return Error{Errc::Invalid, fmt::format("a message of type '{}' needs the field '{}'",
                                              type.type, field.name)};
    }
    FieldValue read = field.read(*given);
    if (!read.value) {
      return Error{Errc::Invalid, fmt::format("field '{}' must be {}", field.name, read.must_be)};
    }
    body[field.name] = *std::move(read.value);
  }
  return body;
}

Result<json::object> read_message(std::string_view queue, const json::object& object);

// The callback is a message itself. It goes no deeper, for callbacks set no timers.
Result<> read_callback(const MessageType& type, json::object& body) {
  const json::value* queue = body.if_contains("callback_queue");
  json::value* message = body.if_contains("callback_msg");
  if ((queue == nullptr) != (message == nullptr)) {
    return Error{Errc::Invalid, "callback_queue and callback_msg belong together"};
  }
  if (message == nullptr) return {};
  const std::string_view to = queue->get_string();
  Result<json::object> callback = read_message(to, message->get_object());
  if (!callback.ok()) return std::move(callback).error().with_context("in callback_msg");
  if (type.type == "reset_timer" && callback->at("type") == "pack_full") {
    return Error{Errc::Invalid, "a reset never asks for pack_full; start_timer does"};
  }
  *message = *std::move(callback);
  return {};
}

Result<json::object> read_message(std::string_view queue, const json::object& object) {
  TRY_ASSIGN(const MessageType* const type, find_type(queue, object));
  TRY(refuse_unknown(*type, object));
  TRY_ASSIGN(json::object body, read_fields(*type, object));
  TRY(read_callback(*type, body));
  return body;
}

PartitionConfig config_of(const std::string& queue) {
  PartitionConfig config;
  config.kind = kind_of_queue(queue);
  config.retain_ms = kMessageRetainMs;
  return config;
}

}  // namespace

Result<std::string> canonical_queue(std::string_view name) {
  if (name == "HEAD") return std::string("INDEX");
  if (std::find(kQueues.begin(), kQueues.end(), name) != kQueues.end()) return std::string(name);
  if (name.starts_with(kSearcherPrefix)) {
    const std::string_view id = name.substr(kSearcherPrefix.size());
    if (model::validate_name("a searcher", id).ok()) return std::string(name);
  }
  return Error{Errc::Missing,
               fmt::format("there is no queue '{}'; there are INDEX (or HEAD), CRAWL, TIMER, PACK, "
                           "ORCH and SEARCHER-id",
                           valid_utf8(name))};
}

std::string partition_of_queue(const std::string& queue) {
  return fmt::format("{}queue:{}", kReservedPrefix, queue);
}

std::string kind_of_queue(const std::string& queue) {
  return fmt::format("queue:{}", family_of(queue));
}

Result<Message> parse_message(const std::string& queue, std::string_view json) {
  if (json.size() > kMessageBytesMax) {
    return over_limit("the message's bytes", static_cast<std::int64_t>(json.size()),
                      static_cast<std::int64_t>(kMessageBytesMax), "queue.message_bytes_max");
  }
  boost::system::error_code failed;
  const json::value value = json::parse(json, failed);
  const json::object* object = failed ? nullptr : value.if_object();
  if (object == nullptr) {
    return Error{Errc::Invalid,
                 R"(a message is a JSON object such as {"type":"index","site":"example.org"})"};
  }
  TRY_ASSIGN(const json::object body, read_message(queue, *object));
  return Message{std::string(body.at("type").get_string()), json::serialize(body)};
}

Result<> validate_message_key(std::string_view key) {
  TRY(validate_item_name(key));
  if (!key.starts_with(kTimerNamePrefix)) return {};
  return Error{Errc::Invalid,
               fmt::format("keys that begin with '{}' are Quern's own", kTimerNamePrefix)};
}

NewItem message_item(const Message& message, const std::string& idempotency_key) {
  NewItem item;
  item.name = idempotency_key;
  item.data = message.body;
  if (item.name.empty()) {
    std::uint64_t bits[2];
    CHECK(::getrandom(bits, sizeof bits, 0) == sizeof bits);
    item.name = fmt::format("{:016x}{:016x}", bits[0], bits[1]);
  }
  return item;
}

Result<PartitionId> ensure_queue(store::Writer& writer, store::Readers& readers,
                                 const std::string& queue) {
  const std::string name = partition_of_queue(queue);
  const auto known = readers.run([&name](Tx& tx) { return load_partition(tx, name); });
  if (known.ok() && known->declared) return known->id;
  if (!known.ok() && known.error().kind() != Errc::Missing) return known.error();
  TRY_ASSIGN(const PartitionId id, ensure_partition(writer, readers, name));
  const PutPartition wanted{config_of(queue), {}, {}};
  return writer.run(lane_of(id), change_partition(id, [&](Tx& tx) -> Result<PartitionId> {
                      const Partition* partition = LockedPartitions::of(tx).find(id);
                      if (partition != nullptr && partition->declared) return id;
                      TRY(put_partition(tx, id, wanted));
                      return id;
                    }));
}

Result<std::vector<Item>> list_messages(Tx& tx, const std::string& queue,
                                        const ItemFilter& filter) {
  TRY_ASSIGN(const auto partition, find_partition(tx, partition_of_queue(queue)));
  if (!partition) return std::vector<Item>();
  ItemFilter bounded = filter;
  bounded.limit = std::min(filter.limit, kMessagesListedMax);
  TRY_ASSIGN(std::vector<Item> items, list_items(tx, *partition, bounded));
  Bulk wanted;
  for (const Item& item : items) wanted.add(item.id);
  TRY_ASSIGN(const Rows bodies, tx.bulk(kBodies, wanted));
  for (const Row row : bodies) {
    const auto item = std::find_if(items.begin(), items.end(),
                                   [&](const Item& one) { return one.id == row.get<ItemId>(0); });
    if (item != items.end()) item->data = row.get<std::string>(1);
  }
  return items;
}

}  // namespace quern::queue
