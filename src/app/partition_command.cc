// quern partition …
#include <fmt/format.h>

#include <boost/json.hpp>
#include <limits>

#include "app/ask.h"
#include "app/output.h"
#include "app/queue_command.h"
#include "net/target.h"

namespace quern::app {
namespace {

namespace json = boost::json;

constexpr char kPartitions[] = "/api/v1/partitions";

std::string text_of(const json::value& value) {
  if (value.is_null()) return "-";
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

// One line, as lists have it.
Result<> print_partition(const Command& command, const json::object& partition) {
  if (command.format == OutputFormat::Json) return print_line(json::serialize(partition));
  const auto text = [&](const char* field) { return text_of(partition.at(field)); };
  return print_line(fmt::format(
      "{:<32} {:<10} gate {:<6} {:>8} open {:>8} complete {:>6} failed   {}{}", text("partition"),
      text("status"), text("gate"), text("available"), text("complete"), text("failed"),
      text("owner"), partition.at("sealed").as_bool() ? "  sealed" : ""));
}

Result<> print_event(const Command& command, const json::object& event) {
  if (command.format == OutputFormat::Json) return print_line(json::serialize(event));
  const auto text = [&](const char* field) { return text_of(event.at(field)); };
  return print_line(fmt::format("{:>8}  {}  {:<18} gate {:<6} {}", text("number"), text("at"),
                                text("kind"), text("gate"), text("item")));
}

net::Task<Result<int>> run_put(Command command, Door& door, PartitionPut put) {
  net::Request request =
      versioned_request(net::Method::Put, partition_address(put.partition), put.if_version);
  request.headers.set("Content-Type", "application/json");
  request.body = json::serialize(put.fields);
  CO_TRY_ASSIGN(const json::value partition, co_await call(door, std::move(request)));
  CO_TRY(print_partition(command, partition.as_object()));
  co_return kExitDone;
}

net::Task<Result<int>> run_get(Command command, Door& door, std::string partition) {
  net::Request request = net::get_request(partition_address(partition));
  CO_TRY_ASSIGN(const json::value found, co_await call(door, std::move(request)));
  CO_TRY(print_fields(command, found.as_object()));
  co_return kExitDone;
}

net::Task<Result<int>> run_list(Command command, Door& door, std::string status) {
  std::string target = kPartitions;
  if (!status.empty()) net::append_query(target, "status", status);
  const Each print = [command](const json::object& partition) {
    return print_partition(command, partition);
  };
  co_return co_await walk_pages(door, std::move(target), print);
}

net::Task<Result<int>> run_events(Command command, Door& door, std::string partition,
                                  std::int64_t after) {
  const std::string address = partition_address(partition) + "/events";
  const Each print = [command](const json::object& event) { return print_event(command, event); };
  co_return co_await walk_pages(door, address, print, std::to_string(after));
}

net::Task<Result<int>> run_seal(Command command, Door& door, PartitionNamed named) {
  net::Request request = versioned_request(
      net::Method::Post, partition_address(named.partition) + "/seal", named.if_version);
  CO_TRY_ASSIGN(const json::value partition, co_await call(door, std::move(request)));
  CO_TRY(print_partition(command, partition.as_object()));
  co_return kExitDone;
}

// Made again after a lost answer it would open one gate more, so it is for the version seen first.
// Where that has passed on and a later gate is open, the first request got through, or somebody
// else's did.
net::Task<Result<int>> run_advance(Command command, Door& door, PartitionNamed named) {
  const std::string address = partition_address(named.partition);
  std::int64_t gate = std::numeric_limits<std::int64_t>::max();
  if (!named.if_version) {
    CO_TRY_ASSIGN(const json::value seen, co_await call(door, net::get_request(address)));
    named.if_version = seen.as_object().at("version").as_int64();
    gate = seen.as_object().at("gate").as_int64();
  }
  net::Request request =
      versioned_request(net::Method::Post, address + "/advance", named.if_version);
  Result<json::value> partition = co_await call(door, std::move(request));
  if (!partition.ok() && partition.error().kind() == Errc::Stale) {
    CO_TRY_ASSIGN(const json::value now, co_await call(door, net::get_request(address)));
    if (now.as_object().at("gate").as_int64() > gate) partition = now;
  }
  if (!partition.ok()) co_return partition.error();
  CO_TRY(print_partition(command, partition->as_object()));
  co_return kExitDone;
}

net::Task<Result<int>> run_requeue(Command command, Door& door, PartitionNamed named) {
  json::object body;
  if (!named.item.empty()) body["item"] = named.item;
  net::Request request = versioned_request(
      net::Method::Post, partition_address(named.partition) + "/requeue", named.if_version);
  request.headers.set("Content-Type", "application/json");
  request.body = json::serialize(body);
  CO_TRY_ASSIGN(const json::value answer, co_await call(door, std::move(request)));
  const std::int64_t requeued = answer.as_object().at("requeued").as_int64();
  CO_TRY(print_line(command.format == OutputFormat::Json ? json::serialize(answer)
                                                         : fmt::format("{} requeued", requeued)));
  co_return kExitDone;
}

net::Task<Result<int>> run_delete(Command command, Door& door, PartitionNamed named) {
  net::Request request =
      versioned_request(net::Method::Delete, partition_address(named.partition), named.if_version);
  CO_TRY(co_await call(door, std::move(request)));
  const json::object answer{{"partition", named.partition}, {"deleted", true}};
  CO_TRY(print_line(command.format == OutputFormat::Json ? json::serialize(answer)
                                                         : named.partition + " deleted"));
  co_return kExitDone;
}

}  // namespace

std::string partition_address(const std::string& partition) {
  std::string target = kPartitions;
  net::append_segment(target, partition);
  return target;
}

net::Request versioned_request(net::Method method, std::string target,
                               std::optional<std::int64_t> if_version) {
  net::Request request;
  request.method = method;
  request.target = std::move(target);
  if (if_version) request.headers.set("If-Match", fmt::format("\"{}\"", *if_version));
  return request;
}

Result<> print_fields(const Command& command, const json::object& object) {
  if (command.format == OutputFormat::Json) return print_line(json::serialize(object));
  for (const auto& [name, value] : object) {
    if (!value.is_array()) {
      TRY(print_line(fmt::format("{:<20} {}", std::string_view(name), text_of(value))));
      continue;
    }
    for (const json::value& one : value.get_array()) {
      TRY(print_line(fmt::format("{:<20} {}", std::string_view(name), text_of(one))));
    }
  }
  return {};
}

net::Task<Result<int>> put_partition(Command command, PartitionPut put) {
  return with_door(command, run_put, std::move(put));
}
net::Task<Result<int>> get_partition(Command command, std::string partition) {
  return with_door(command, run_get, std::move(partition));
}
net::Task<Result<int>> list_partitions(Command command, std::string status) {
  return with_door(command, run_list, std::move(status));
}
net::Task<Result<int>> seal_partition(Command command, PartitionNamed named) {
  return with_door(command, run_seal, std::move(named));
}
net::Task<Result<int>> advance_partition(Command command, PartitionNamed named) {
  return with_door(command, run_advance, std::move(named));
}
net::Task<Result<int>> requeue_partition(Command command, PartitionNamed named) {
  return with_door(command, run_requeue, std::move(named));
}
net::Task<Result<int>> delete_partition(Command command, PartitionNamed named) {
  return with_door(command, run_delete, std::move(named));
}
net::Task<Result<int>> list_partition_events(Command command, std::string partition,
                                             std::int64_t after) {
  return with_door(command, run_events, std::move(partition), after);
}

}  // namespace quern::app
