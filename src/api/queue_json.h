// JSON of partitions, items and events: what answers show and what bodies say. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "queue/event.h"
#include "queue/item.h"
#include "queue/partition.h"

namespace quern::api {

inline constexpr std::size_t kItemJsonDepthMax = 256;

// RFC 3339 with microseconds; null for never.
boost::json::value time_json(std::int64_t at_us);

boost::json::object to_json(const queue::Partition& partition);
// Owner and until are the partition's, while the item is running.
boost::json::object to_json(const queue::Item& item, const queue::Partition& of);
boost::json::object to_json(const queue::Event& event, const std::string& partition);

// Puts what the fields say over what stands there. Invalid, by name, where one is unknown or has
// the wrong type.
Result<> apply_fields(const boost::json::object& fields, queue::PutPartition& put);

// A line of JSON lines: {"item", "gate", "priority", "delay_ms", "unique_key", "limit_key"} and
// "data", whose compact text becomes the bytes, or "text", whose bytes are taken as they are.
Result<queue::NewItem> parse_item_line(std::string_view line);

// The text of an object's member as it stands in the JSON, without blanks. The JSON is valid, and
// the name has no escapes; of several members of that name the last counts.
std::string compact_member(std::string_view json, std::string_view name);

}  // namespace quern::api
