// quern partition …, quern item …: a user's own work.
//
// Each request can be made again without harm, as app/door.h demands: partitions and items are put
// by name, and what would do more the second time carries the version it is meant for.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>

#include "app/command.h"

namespace quern::app {

struct PartitionPut {
  std::string partition;
  boost::json::object fields;
  std::optional<std::int64_t> if_version;
};
struct PartitionNamed {
  std::string partition;
  std::string item;  // of requeue: empty for all
  std::optional<std::int64_t> if_version;
};
struct ItemPut {
  std::string partition;
  std::string item;
  std::string file;   // empty: no bytes; "-": standard input
  std::string lines;  // instead of an item: a file of JSON lines
  std::optional<std::int64_t> gate;
  std::optional<std::int64_t> priority;
  double delay_seconds = 0;
  std::string unique_key;
  std::string limit_key;
  std::optional<std::int64_t> if_version;
};
struct ItemNamed {
  std::string partition;
  std::string item;
  bool data = false;  // its bytes instead of what is known of it
  std::optional<std::int64_t> if_version;
};
struct ItemQuery {
  std::string partition;
  std::string status;
  std::optional<std::int64_t> gate;
  std::optional<std::int64_t> older_than_seconds;
};

net::Task<Result<int>> put_partition(Command command, PartitionPut put);
net::Task<Result<int>> get_partition(Command command, std::string partition);
net::Task<Result<int>> list_partitions(Command command, std::string status);
net::Task<Result<int>> seal_partition(Command command, PartitionNamed named);
net::Task<Result<int>> advance_partition(Command command, PartitionNamed named);
net::Task<Result<int>> requeue_partition(Command command, PartitionNamed named);
net::Task<Result<int>> delete_partition(Command command, PartitionNamed named);
net::Task<Result<int>> list_partition_events(Command command, std::string partition,
                                             std::int64_t after);

net::Task<Result<int>> put_item(Command command, ItemPut put);
net::Task<Result<int>> get_item(Command command, ItemNamed named);
net::Task<Result<int>> list_items(Command command, ItemQuery query);
net::Task<Result<int>> delete_item(Command command, ItemNamed named);

// Shared by the two.
std::string partition_address(const std::string& partition);
net::Request versioned_request(net::Method method, std::string target,
                               std::optional<std::int64_t> if_version);
// For a person: a line for each field.
Result<> print_fields(const Command& command, const boost::json::object& object);

}  // namespace quern::app
