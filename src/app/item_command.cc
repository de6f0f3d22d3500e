// quern item …
#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>

#include "api/await.h"
#include "api/item_lines.h"
#include "app/ask.h"
#include "app/input.h"
#include "app/output.h"
#include "app/queue_command.h"
#include "net/target.h"

namespace quern::app {
namespace {

namespace json = boost::json;

std::string items_address(const std::string& partition) {
  return partition_address(partition) + "/items";
}

std::string item_address(const std::string& partition, const std::string& item) {
  std::string target = items_address(partition);
  net::append_segment(target, item);
  return target;
}

void append_number(std::string& target, std::string_view name, std::optional<std::int64_t> value) {
  if (value) net::append_query(target, name, std::to_string(*value));
}

std::string put_address(const ItemPut& put) {
  std::string target = item_address(put.partition, put.item);
  append_number(target, "gate", put.gate);
  append_number(target, "priority", put.priority);
  const std::int64_t delay_ms = std::llround(put.delay_seconds * 1000);
  if (delay_ms != 0) append_number(target, "delay_ms", delay_ms);
  if (!put.unique_key.empty()) net::append_query(target, "unique_key", put.unique_key);
  if (!put.limit_key.empty()) net::append_query(target, "limit_key", put.limit_key);
  return target;
}

net::Task<Result<int>> run_put(Command command, Door& door, ItemPut put, std::string bytes) {
  net::Request request = versioned_request(net::Method::Put, put_address(put), put.if_version);
  request.headers.set("Content-Type", "application/octet-stream");
  request.body = std::move(bytes);
  CO_TRY_ASSIGN(const json::value answer, co_await call(door, std::move(request)));
  const json::object& item = answer.as_object();
  if (command.format == OutputFormat::Json) {
    CO_TRY(print_line(json::serialize(item)));
  } else {
    CO_TRY(print_line(fmt::format("{} {}, version {}", put.item, item.at("put").as_string().c_str(),
                                  item.at("version").as_int64())));
  }
  co_return kExitDone;
}

struct Totals {
  std::int64_t lines = 0;
  std::int64_t added = 0;
  std::int64_t same = 0;
  std::int64_t taken = 0;

  std::int64_t put() const { return added + same + taken; }
  void add(const json::object& answer) {
    added += answer.at("added").as_int64();
    same += answer.at("same").as_int64();
    taken += answer.at("taken").as_int64();
  }
};

// A request for each piece: one that is lost with its owner is made again, and puts the same items.
net::Task<Result<int>> run_lines(Command command, Door& door, std::string partition,
                                 LineInput input) {
  io::Pool pool({.threads = 1});  // a slow pipe must not stop those whom we serve
  Totals totals;
  while (true) {
    auto read = [&input] { return input.next(api::kItemGroupMax, api::kItemGroupBytesMax); };
    CO_TRY_ASSIGN(LineInput::Piece piece, co_await api::offload(command.loop, pool, read));
    if (piece.text.empty()) break;
    std::string target = items_address(partition);
    append_number(target, "first_line", totals.lines + 1);
    append_number(target, "put_before", totals.put());
    net::Request request =
        net::post_request(std::move(target), std::move(piece.text), "application/jsonl");
    CO_TRY_ASSIGN(const json::value answer, co_await call(door, std::move(request)));
    totals.lines += piece.lines;
    totals.add(answer.as_object());
  }
  const json::object result{
      {"added", totals.added}, {"same", totals.same}, {"taken", totals.taken}};
  CO_TRY(print_line(command.format == OutputFormat::Json
                        ? json::serialize(result)
                        : fmt::format("{} added, {} were there, {} with a taken key", totals.added,
                                      totals.same, totals.taken)));
  co_return kExitDone;
}

net::Task<Result<int>> run_get(Command command, Door& door, ItemNamed named) {
  std::string target = item_address(named.partition, named.item);
  if (!named.data) {
    CO_TRY_ASSIGN(const json::value item, co_await call(door, net::get_request(target)));
    CO_TRY(print_fields(command, item.as_object()));
    co_return kExitDone;
  }
  CO_TRY_ASSIGN(const net::Response answer, co_await door.call(net::get_request(target + "/data")));
  if (answer.status != 200) co_return parse_answer(answer).error();
  CO_TRY(print_bytes(answer.body));
  co_return kExitDone;
}

Result<> print_item(const Command& command, const json::object& item) {
  if (command.format == OutputFormat::Json) return print_line(json::serialize(item));
  const json::array& errors = item.at("error_messages").as_array();
  std::string last;
  if (!errors.empty()) last = errors.back().as_object().at("message").as_string();
  return print_line(
      fmt::format("{:<32} {:<10} gate {:<6} {:>9} bytes {:>4} calls {:>3} retries   {}",
                  item.at("item").as_string().c_str(), item.at("status").as_string().c_str(),
                  item.at("gate").as_int64(), item.at("bytes").as_int64(),
                  item.at("calls").as_int64(), item.at("retry_count").as_int64(), last));
}

net::Task<Result<int>> run_list(Command command, Door& door, ItemQuery query) {
  std::string target = items_address(query.partition);
  if (!query.status.empty()) net::append_query(target, "status", query.status);
  append_number(target, "gate", query.gate);
  append_number(target, "older_than", query.older_than_seconds);
  const Each print = [command](const json::object& item) { return print_item(command, item); };
  co_return co_await walk_pages(door, std::move(target), print);
}

net::Task<Result<int>> run_delete(Command command, Door& door, ItemNamed named) {
  net::Request request = versioned_request(
      net::Method::Delete, item_address(named.partition, named.item), named.if_version);
  CO_TRY(co_await call(door, std::move(request)));
  const json::object answer{
      {"partition", named.partition}, {"item", named.item}, {"deleted", true}};
  CO_TRY(print_line(command.format == OutputFormat::Json ? json::serialize(answer)
                                                         : named.item + " deleted"));
  co_return kExitDone;
}

net::Task<Result<int>> put_lines(Command command, ItemPut put) {
  CO_TRY_ASSIGN(LineInput input, LineInput::open(put.lines));
  co_return co_await with_door(command, run_lines, put.partition, std::move(input));
}

}  // namespace

net::Task<Result<int>> put_item(Command command, ItemPut put) {
  if (put.lines.empty() == put.item.empty()) {
    co_return Error{Errc::Invalid, "name either an ITEM or --lines FILE"};
  }
  if (!put.lines.empty()) co_return co_await put_lines(command, std::move(put));
  std::string bytes;
  if (!put.file.empty()) {
    CO_TRY_ASSIGN(bytes, read_input(put.file, queue::kItemBytesMax));
  }
  co_return co_await with_door(command, run_put, std::move(put), std::move(bytes));
}
net::Task<Result<int>> get_item(Command command, ItemNamed named) {
  return with_door(command, run_get, std::move(named));
}
net::Task<Result<int>> list_items(Command command, ItemQuery query) {
  return with_door(command, run_list, std::move(query));
}
net::Task<Result<int>> delete_item(Command command, ItemNamed named) {
  return with_door(command, run_delete, std::move(named));
}

}  // namespace quern::app
