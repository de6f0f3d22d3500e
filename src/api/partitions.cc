// /api/v1/partitions: the units of ownership, their events, and what people do to them.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "api/partition_call.h"
#include "api/queue_json.h"
#include "api/request.h"
#include "queue/http_processor.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using queue::Partition;
using queue::PartitionId;
using store::Tx;

// -- looking --

net::Task<Result<>> list(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  queue::PartitionFilter filter;
  const std::string status = parameters.text("status");
  filter.status = queue::parse_status(status);
  if (!status.empty() && !filter.status) {
    parameters.refuse({Errc::Invalid, "status is available, failed or complete"});
  }
  filter.after = parameters.text("after");
  filter.limit = parameters.limit(queue::kListMax);
  CO_TRY(parameters.finish());
  auto load = [filter](Tx& tx) { return queue::list_partitions(tx, filter); };
  CO_TRY_ASSIGN(const std::vector<Partition> partitions,
                co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  for (const Partition& partition : partitions) items.push_back(to_json(partition));
  std::optional<json::value> next;
  if (partitions.size() == filter.limit) next = json::value(partitions.back().name);
  co_return co_await call.exchange.respond(page_response(std::move(items), std::move(next)));
}

net::Task<Result<>> show(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  auto load = [name = call.values[0]](Tx& tx) { return queue::load_partition(tx, name); };
  CO_TRY_ASSIGN(const Partition partition,
                co_await read(parts->loop, parts->readers, std::move(load)));
  const json::object body = to_json(partition);
  co_return co_await call.exchange.respond(versioned(200, body, partition.version));
}

net::Task<Result<>> list_events(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const std::int64_t after = parameters.number("after").value_or(0);
  const std::size_t limit = parameters.limit(queue::kListMax);
  CO_TRY(parameters.finish());
  const std::string name = call.values[0];
  auto load = [name, after, limit](Tx& tx) -> Result<std::vector<queue::Event>> {
    TRY_ASSIGN(const Partition partition, queue::load_partition(tx, name));
    return queue::list_events(tx, partition.id, after, limit);
  };
  CO_TRY_ASSIGN(const std::vector<queue::Event> events,
                co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  for (const queue::Event& event : events) items.push_back(to_json(event, name));
  std::optional<json::value> next;
  if (events.size() == limit) next = json::value(events.back().number);
  co_return co_await call.exchange.respond(page_response(std::move(items), std::move(next)));
}

// -- changing --

// A changed partition, with its ETag. Its row was read under the lock, without its owner's name.
net::Task<Result<>> answer(PartsPtr parts, Call call, int status, Partition partition) {
  if (partition.owner) {
    auto load = [name = partition.name](Tx& tx) { return queue::load_partition(tx, name); };
    const Result<Partition> now = co_await read(parts->loop, parts->readers, std::move(load));
    if (now.ok() && now->owner == partition.owner) {
      partition.owner_name = now->owner_name;
      partition.owner_until_us = now->owner_until_us;
    }
  }
  const json::object body = to_json(partition);
  co_return co_await call.exchange.respond(versioned(status, body, partition.version));
}

struct Stored {
  Partition partition;
  bool created = false;
};

Error without_handler() {
  return Error{Errc::Invalid,
               R"(a new partition needs a handler, such as {"handler":"http://127.0.0.1:9000/"})"};
}

// What is given goes over what is stored; a partition that nobody declared has nothing stored.
Result<Stored> put_fields(Tx& tx, PartitionId id, const json::object& fields,
                          const Condition& condition) {
  const Partition* stored = queue::LockedPartitions::of(tx).find(id);
  if (stored == nullptr) return Error{Errc::Missing, "the partition is gone"};
  const bool created = !stored->declared;
  queue::PutPartition put;
  if (!created) put.config = stored->config;
  put.if_version = condition.version;
  TRY(apply_fields(fields, put));
  if (put.config.handler.empty()) return without_handler();
  TRY(queue::validate_handler(put.config.handler));
  TRY(queue::validate(put.config));
  Result<Partition> done = queue::put_partition(tx, id, put);
  if (done.ok()) {
    TRY_ASSIGN(done->updated_us, tx.now_us());  // its row gets it at the end of the batch
    return Stored{*std::move(done), created};
  }
  if (done.error().kind() != Errc::Conflict) return done.error();
  return Error{Errc::Stale, done.error().message()};
}

// With a version there must be one already; nothing is made for a change that will be refused.
net::Task<Result<PartitionId>> find_for_put(PartsPtr parts, std::string name, Condition condition) {
  if (condition.version.value_or(0) == 0) co_return co_await ensure_named(parts, name);
  const Result<PartitionId> found = co_await find_existing(parts, name);
  if (found.ok() || found.error().kind() != Errc::Missing) co_return found;
  co_return Error{Errc::Stale, found.error().message()};
}

// What can be refused without a look at what is stored.
Result<> check_fields(const json::object& fields) {
  queue::PutPartition put;
  TRY(apply_fields(fields, put));
  if (fields.contains("handler")) TRY(queue::validate_handler(put.config.handler));
  return queue::validate(put.config);
}

net::Task<Result<>> expect_declared(PartsPtr parts, std::string name) {
  auto load = [name](Tx& tx) { return queue::load_partition(tx, name); };
  const Result<Partition> stored = co_await read(parts->loop, parts->readers, std::move(load));
  const bool missing = !stored.ok() && stored.error().kind() == Errc::Missing;
  if (missing || (stored.ok() && !stored->declared)) co_return without_handler();
  co_return Result<>{};
}

net::Task<Result<>> put(PartsPtr parts, Call call) {
  const std::string name = call.values[0];
  CO_TRY(Parameters(call.target).finish());
  CO_TRY(queue::validate_partition_name(name));
  CO_TRY_ASSIGN(const Condition condition, put_condition(call.exchange.request().headers));
  CO_TRY_ASSIGN(const std::string body, co_await call.exchange.read_all(kJsonBodyBytesMax));
  CO_TRY_ASSIGN(const json::object fields, parse_object(body));
  CO_TRY(check_fields(fields));
  // Only where a look is needed: nothing is made of a request that lacks it.
  if (!fields.contains("handler")) CO_TRY(co_await expect_declared(parts, name));
  Result<Stored> stored = Error{Errc::Missing, ""};
  for (int tries = 0; tries < kPartitionTriesMax; ++tries) {
    CO_TRY_ASSIGN(const PartitionId id, co_await find_for_put(parts, name, condition));
    auto store = [id, fields, condition](Tx& tx) { return put_fields(tx, id, fields, condition); };
    stored = co_await change(parts, id, std::move(store));
    if (stored.ok() || stored.error().kind() != Errc::Missing) break;
  }
  if (!stored.ok()) co_return stored.error();
  parts->poke(stored->partition.id);
  co_return co_await answer(parts, call, stored->created ? 201 : 200, stored->partition);
}

using Change = Result<Partition> (*)(Tx&, PartitionId);

net::Task<Result<>> change_one(PartsPtr parts, Call call, Change function) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(const auto version, if_match(call.exchange.request().headers));
  CO_TRY_ASSIGN(const PartitionId id, co_await find_existing(parts, call.values[0]));
  auto apply = [id, version, function](Tx& tx) -> Result<Partition> {
    TRY(expect_partition(tx, id, version));
    TRY_ASSIGN(Partition changed, function(tx, id));
    TRY_ASSIGN(changed.updated_us, tx.now_us());
    return changed;
  };
  CO_TRY_ASSIGN(const Partition partition, co_await change(parts, id, std::move(apply)));
  parts->poke(id);
  co_return co_await answer(parts, call, 200, partition);
}

net::Task<Result<>> seal(PartsPtr parts, Call call) {
  CO_TRY(queue::validate_partition_name(call.values[0]));
  co_return co_await change_one(parts, call, queue::seal_partition);
}

net::Task<Result<>> advance(PartsPtr parts, Call call) {
  co_return co_await change_one(parts, call, queue::advance_partition);
}

Result<std::string> parse_requeue(const std::string& body) {
  TRY_ASSIGN(const json::object fields, parse_object(body));
  std::string item;
  for (const auto& [name, given] : fields) {
    if (name != "item" || !given.is_string() || given.get_string().empty()) {
      return Error{Errc::Invalid,
                   fmt::format("field '{}' is unknown or of the wrong type; there is item (a name)",
                               std::string_view(name))};
    }
    item = given.get_string();
  }
  return item;
}

struct RequeuedPage {
  std::int64_t requeued = 0;
  std::int64_t failed_before = 0;
};

Result<RequeuedPage> requeue_page(Tx& tx, PartitionId id, std::optional<std::int64_t> version,
                                  const std::string& item) {
  TRY_ASSIGN(const Partition partition, expect_partition(tx, id, version));
  TRY_ASSIGN(const std::int64_t requeued, queue::requeue_items(tx, id, item));
  return RequeuedPage{requeued, partition.failed_items};
}

net::Task<Result<>> requeue(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(std::optional<std::int64_t> version, if_match(call.exchange.request().headers));
  CO_TRY_ASSIGN(const std::string body, co_await call.exchange.read_all(kJsonBodyBytesMax));
  CO_TRY_ASSIGN(const std::string item, parse_requeue(body));
  CO_TRY_ASSIGN(const PartitionId id, co_await find_existing(parts, call.values[0]));
  std::int64_t requeued = 0;
  std::optional<std::int64_t>
      failed;  // when we began: those that fail again meanwhile are not ours
  RequeuedPage page;
  do {
    auto some = [id, version, item](Tx& tx) { return requeue_page(tx, id, version, item); };
    CO_TRY_ASSIGN(page, co_await change(parts, id, std::move(some)));
    version.reset();  // the first page was for this version, and has changed it
    if (!failed) failed = page.failed_before;
    requeued += page.requeued;
    parts->poke(id);
  } while (page.requeued == static_cast<std::int64_t>(queue::kListMax) && requeued < *failed);
  const json::object result{{"requeued", requeued}};
  co_return co_await call.exchange.respond(net::json_response(200, json::serialize(result)));
}

net::Task<Result<>> remove(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY(queue::validate_partition_name(call.values[0]));
  CO_TRY_ASSIGN(std::optional<std::int64_t> version, if_match(call.exchange.request().headers));
  CO_TRY_ASSIGN(const PartitionId id, co_await find_existing(parts, call.values[0]));
  bool gone = false;
  while (!gone) {
    auto some = [id, version](Tx& tx) -> Result<bool> {
      if (version) TRY(expect_partition(tx, id, version));
      return queue::delete_some(tx, id);
    };
    CO_TRY_ASSIGN(gone, co_await change(parts, id, std::move(some)));
    version.reset();
  }
  co_return co_await call.exchange.respond(net::empty_response(204));
}

}  // namespace

void add_partition_routes(Router& router, PartsPtr parts) {
  const auto bound = [&parts](net::Task<Result<>> (*handler)(PartsPtr, Call)) -> RouteHandler {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  using net::Method;
  const std::string one = "/api/v1/partitions/{partition}";
  router.add({Method::Get, "/api/v1/partitions",
              "Partitions by name, a page at a time (status, after, limit).", bound(list)});
  router.add({Method::Get, one, "One partition; its version is the ETag.", bound(show)});
  router.add({Method::Put, one,
              "Makes or changes a partition (handler, auto_close, manual_checkpoint, max_retries, "
              "priority, …). If-Match: its version; If-None-Match: * only makes.",
              bound(put)});
  router.add({Method::Delete, one, "Deletes a partition with all its items.", bound(remove)});
  router.add({Method::Post, one + "/seal", "No item can be put any more.", bound(seal)});
  router.add(
      {Method::Post, one + "/advance", "Opens the next gate that has items.", bound(advance)});
  router.add({Method::Post, one + "/requeue",
              "Failed items, or one of them (item), are tried again.", bound(requeue)});
  router.add({Method::Get, one + "/events", "What happened, in order (after=NUMBER, limit).",
              bound(list_events)});
}

}  // namespace quern::api
