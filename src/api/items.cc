// /api/v1/partitions/{partition}/items: the work of a partition, one item at a time. Many at once
// are in item_lines.cc.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "api/item_lines.h"
#include "api/partition_call.h"
#include "api/queue_json.h"
#include "api/request.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using queue::Item;
using queue::NewItem;
using queue::Partition;
using queue::PartitionId;
using store::Tx;

constexpr std::int64_t kOlderThanSecondsMax = 100LL * 366 * 86'400;

// -- looking --

struct Seen {
  Partition partition;
  std::vector<Item> items;
};

Result<Seen> load_list(Tx& tx, const std::string& partition, queue::ItemFilter filter,
                       std::optional<std::int64_t> older_than) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  if (older_than) filter.updated_before_us = now_us - *older_than * 1'000'000;
  Seen seen;
  TRY_ASSIGN(seen.partition, queue::load_partition(tx, partition));
  TRY_ASSIGN(seen.items, queue::list_items(tx, seen.partition.id, filter));
  return seen;
}

net::Task<Result<>> list(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  queue::ItemFilter filter;
  const std::string status = parameters.text("status");
  filter.status = queue::parse_status(status);
  if (!status.empty() && !filter.status) {
    parameters.refuse({Errc::Invalid, "status is available, running, failed or complete"});
  }
  filter.gate = parameters.number("gate", 0, queue::kGateMax);
  const auto older_than = parameters.number("older_than", 0, kOlderThanSecondsMax);
  filter.after = parameters.text("after");
  filter.limit = parameters.limit(queue::kListMax);
  CO_TRY(parameters.finish());
  auto load = [name = call.values[0], filter, older_than](Tx& tx) {
    return load_list(tx, name, filter, older_than);
  };
  CO_TRY_ASSIGN(const Seen seen, co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  for (const Item& item : seen.items) items.push_back(to_json(item, seen.partition));
  std::optional<json::value> next;
  if (seen.items.size() == filter.limit) next = json::value(seen.items.back().name);
  co_return co_await call.exchange.respond(page_response(std::move(items), std::move(next)));
}

net::Task<Result<Seen>> load_one(PartsPtr parts, std::string partition, std::string item) {
  auto load = [partition, item](Tx& tx) -> Result<Seen> {
    Seen seen;
    TRY_ASSIGN(seen.partition, queue::load_partition(tx, partition));
    TRY_ASSIGN(Item found, queue::load_item(tx, seen.partition.id, item));
    seen.items.push_back(std::move(found));
    return seen;
  };
  co_return co_await read(parts->loop, parts->readers, std::move(load));
}

net::Task<Result<>> show(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(const Seen seen, co_await load_one(parts, call.values[0], call.values[1]));
  const Item& item = seen.items[0];
  const json::object body = to_json(item, seen.partition);
  co_return co_await call.exchange.respond(versioned(200, body, item.version));
}

net::Task<Result<>> show_data(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(Seen seen, co_await load_one(parts, call.values[0], call.values[1]));
  net::Response response = net::empty_response(200);
  response.headers.set("Content-Type", "application/octet-stream");
  // Somebody's bytes: a browser must not take them for a page of ours.
  response.headers.set("X-Content-Type-Options", "nosniff");
  response.headers.set("ETag", fmt::format("\"{}\"", seen.items[0].version));
  response.body = std::move(seen.items[0].data);
  co_return co_await call.exchange.respond(std::move(response));
}

// -- changing --

struct Named {
  std::string partition;
  NewItem item;
};

Result<Named> parse_put(const Call& call) {
  Named named{call.values[0], {}};
  Parameters parameters(call.target);
  named.item.name = call.values[1];
  named.item.gate = parameters.number("gate", 0, queue::kGateMax).value_or(0);
  named.item.priority =
      parameters.number("priority", -kItemPriorityMax, kItemPriorityMax).value_or(0);
  named.item.delay_us = parameters.number("delay_ms", 0, kItemDelayMsMax).value_or(0) * 1000;
  named.item.unique_key = parameters.text("unique_key");
  named.item.limit_key = parameters.text("limit_key");
  TRY(parameters.finish());
  TRY(queue::validate_partition_name(named.partition));
  TRY(queue::validate(named.item));
  return named;
}

net::Task<Result<std::string>> read_bytes(net::Exchange& exchange) {
  Result<std::string> bytes = co_await exchange.read_all(queue::kItemBytesMax);
  if (bytes.ok() || bytes.error().kind() != Errc::TooLarge) co_return bytes;
  co_return Error{Errc::TooLarge, fmt::format("an item has at most {} bytes (queue.item_bytes_max)",
                                              queue::kItemBytesMax)};
}

struct Written {
  std::string_view how;
  int status = 200;
  std::int64_t version = 0;
};

net::Task<Result<>> answer(Call call, Named named, Written written) {
  const json::object body{{"partition", named.partition},
                          {"item", named.item.name},
                          {"version", written.version},
                          {"put", written.how}};
  co_return co_await call.exchange.respond(versioned(written.status, body, written.version));
}

net::Task<Result<queue::PutResult>> put_one(PartsPtr parts, Named named) {
  std::vector<NewItem> items;
  items.push_back(std::move(named.item));
  CO_TRY_ASSIGN(const queue::PutItems::Reply reply,
                co_await put_items(parts, std::move(named.partition), std::move(items)));
  co_return reply[0];
}

net::Task<Result<Written>> add(PartsPtr parts, Named named) {
  CO_TRY_ASSIGN(const queue::PutResult done, co_await put_one(parts, named));
  if (done.put == queue::Put::Taken) {
    co_return Error{Errc::Conflict,
                    fmt::format("unique key '{}' belongs to another item", named.item.unique_key)};
  }
  Written written{"added", 201, 1};
  if (done.put == queue::Put::Same) {
    // It may have been processed since, so its version is looked up.
    CO_TRY_ASSIGN(const Seen seen, co_await load_one(parts, named.partition, named.item.name));
    written = Written{"same", 200, seen.items[0].version};
  }
  co_return written;
}

// Behind the partition's lock, so that what is looked at stays. Another version, or none, is Stale;
// an item that is running, or may not go there, is a Conflict.
Result<Item> expect_item(Tx& tx, PartitionId partition, const std::string& name,
                         std::int64_t version) {
  Result<Item> item = queue::load_item(tx, partition, name);
  if (!item.ok() && item.error().kind() == Errc::Missing) {
    return Error{Errc::Stale, item.error().message()};
  }
  if (!item.ok() || item->version == version) return item;
  return Error{Errc::Stale,
               fmt::format("item '{}' is at version {}, not {}", name, item->version, version)};
}

net::Task<Result<Written>> replace(PartsPtr parts, Named named, std::int64_t version) {
  if (!named.item.unique_key.empty() || !named.item.limit_key.empty()) {
    co_return Error{Errc::Invalid, "unique_key and limit_key cannot be changed"};
  }
  const Result<PartitionId> id = co_await find_existing(parts, named.partition);
  if (!id.ok() && id.error().kind() == Errc::Missing) {
    co_return Error{Errc::Stale, id.error().message()};
  }
  if (!id.ok()) co_return id.error();
  queue::ReplaceItem change_to{std::move(named.item), version};
  auto apply = [at = *id, change_to = std::move(change_to)](Tx& tx) -> Result<Item> {
    TRY(expect_item(tx, at, change_to.item.name, change_to.if_version));
    return queue::replace_item(tx, at, change_to);
  };
  CO_TRY_ASSIGN(const Item item, co_await change(parts, *id, std::move(apply)));
  parts->poke(*id);
  const Written written{"replaced", 200, item.version};
  co_return written;
}

net::Task<Result<>> put(PartsPtr parts, Call call) {
  const net::Headers& headers = call.exchange.request().headers;
  CO_TRY_ASSIGN(Named named, parse_put(call));
  CO_TRY_ASSIGN(const std::optional<std::int64_t> version, if_match(headers));
  if (headers.find("If-None-Match") != nullptr) {
    co_return Error{Errc::Invalid, "an item that exists is never changed without If-Match"};
  }
  CO_TRY_ASSIGN(named.item.data, co_await read_bytes(call.exchange));
  if (version) {
    CO_TRY_ASSIGN(const Written written, co_await replace(parts, named, *version));
    co_return co_await answer(call, named, written);
  }
  CO_TRY_ASSIGN(const Written written, co_await add(parts, named));
  co_return co_await answer(call, named, written);
}

net::Task<Result<>> remove(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY(queue::validate_partition_name(call.values[0]));
  CO_TRY_ASSIGN(const auto version, if_match(call.exchange.request().headers));
  CO_TRY_ASSIGN(const PartitionId id, co_await find_existing(parts, call.values[0]));
  auto apply = [id, version, name = call.values[1]](Tx& tx) -> Result<> {
    if (version) TRY(expect_item(tx, id, name, *version));
    return queue::delete_item(tx, id, name, version);
  };
  CO_TRY(co_await change(parts, id, std::move(apply)));
  parts->poke(id);
  co_return co_await call.exchange.respond(net::empty_response(204));
}

}  // namespace

net::Task<Result<queue::PutItems::Reply>> put_items(PartsPtr parts, std::string partition,
                                                    std::vector<NewItem> items) {
  Result<queue::PutItems::Reply> reply = Error{Errc::Missing, ""};
  for (int tries = 0; tries < kPartitionTriesMax; ++tries) {
    CO_TRY_ASSIGN(const PartitionId id, co_await ensure_named(parts, partition));
    store::Lane& lane = parts->writer.lane(queue::lane_of(id));
    queue::PutItems put{id, items};
    reply = co_await write(parts->loop, lane, std::move(put));
    if (reply.ok()) parts->poke(id);
    if (reply.ok() || reply.error().kind() != Errc::Missing) break;
  }
  co_return reply;
}

void add_item_routes(Router& router, PartsPtr parts) {
  const auto bound = [&parts](net::Task<Result<>> (*handler)(PartsPtr, Call)) -> RouteHandler {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  using net::Method;
  const std::string all = "/api/v1/partitions/{partition}/items";
  const std::string one = all + "/{item}";
  router.add({Method::Get, all,
              "Items by name, a page at a time (status, gate, older_than=SECONDS, after, limit).",
              bound(list)});
  router.add({Method::Post, all, "Puts many items: JSON lines.", bound(put_lines)});
  router.add(
      {Method::Get, one, "One item without its bytes; its version is the ETag.", bound(show)});
  router.add({Method::Put, one,
              "Puts an item, its bytes being the body (gate, priority, delay_ms, unique_key, "
              "limit_key); with If-Match changes one.",
              bound(put)});
  router.add({Method::Delete, one, "Deletes an item that is not running.", bound(remove)});
  router.add({Method::Get, one + "/data", "The bytes of an item.", bound(show_data)});
}

}  // namespace quern::api
