// /api/v1/filesets: datasets, from a landing page to verified and preserved files. And
// /api/v1/topics: what is published of them.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "api/await.h"
#include "api/job_json.h"
#include "api/request.h"
#include "api/service.h"
#include "fileset/outbox.h"
#include "fileset/platform.h"
#include "fileset/service.h"
#include "fileset/show.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using fileset::Shown;
using store::Tx;

constexpr const char* kOptions[] = {"strict",   "ingest",    "bundle",   "force_recrawl",
                                    "strategy", "max_files", "max_bytes"};

Result<std::string> take_text(json::object& from, const char* key) {
  const json::value* value = from.if_contains(key);
  if (value == nullptr || value->is_null()) return std::string();
  if (!value->is_string()) return Error{Errc::Invalid, fmt::format("'{}' must be a text", key)};
  std::string text(value->get_string());
  from.erase(key);
  return text;
}

// {"url"} or {"request"}, beside "collection", "key" and options; or a request itself.
Result<fileset::DatasetOrder> parse_order(const std::string& text, const Parts& parts) {
  TRY_ASSIGN(json::object body, parse_object(text));
  fileset::DatasetOrder order;
  TRY_ASSIGN(order.collection, take_text(body, "collection"));
  if (order.collection.empty()) order.collection = kDefaultCollection;
  TRY(tree::validate_collection_name(order.collection));
  TRY_ASSIGN(order.key, take_text(body, "key"));
  json::object options;
  const bool bare = body.contains("base_url");
  for (const char* key : kOptions) {
    // force_recrawl is a field of requests, too.
    if (!body.contains(key) || bare) continue;
    options[key] = body[key];
    body.erase(key);
  }
  if (json::value* given = body.if_contains("options")) {
    if (!given->is_object()) return Error{Errc::Invalid, "'options' must be an object"};
    options = given->get_object();
    body.erase("options");
  }
  TRY_ASSIGN(order.options, fileset::parse_options(options, parts.filesets->options().defaults));
  TRY_ASSIGN(const std::string url, take_text(body, "url"));
  json::value request = body;
  if (!url.empty()) request = fileset::request_of(fileset::address_of(url));
  if (json::value* given = body.if_contains("request")) request = *given;
  TRY_ASSIGN(order.request, fileset::parse_request(request));
  return order;
}

json::object with_files(const Shown& shown) {
  json::object out = to_json(shown);
  json::array& files = out["files"].emplace_array();
  for (const fileset::FileRow& file : shown.files) files.push_back(file_json(file));
  const std::vector<std::string> says = explain(shown);
  out["says"] = json::array(says.begin(), says.end());
  return out;
}

net::Task<Result<Shown>> load(PartsPtr parts, tree::JobId job) {
  auto load_one = [job](Tx& tx) { return fileset::load_shown(tx, job); };
  co_return co_await read(parts->loop, parts->readers, std::move(load_one));
}

net::Task<Result<>> respond(PartsPtr parts, net::Exchange& exchange, int status, tree::JobId job) {
  CO_TRY_ASSIGN(const Shown shown, co_await load(parts, job));
  const std::string answer = json::serialize(with_files(shown));
  co_return co_await exchange.respond(net::json_response(status, answer));
}

net::Task<Result<>> create(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const std::string text, co_await call.exchange.read_all(kJsonBodyBytesMax));
  CO_TRY_ASSIGN(fileset::DatasetOrder order, parse_order(text, *parts));
  CO_TRY(expect_within(call.caller, order.collection));
  if (order.request.ingest_type != fileset::kDataset) {
    fileset::ResultParts refused{.request = order.request,
                                 .strict = order.options.strict,
                                 .status = "not-implemented",
                                 .message = "only requests of type 'dataset' are taken",
                                 .landed = {},
                                 .item = {},
                                 .strategy = {},
                                 .files = {},
                                 .bundle = {}};
    refused.landed.hops.push_back(order.request.clean_url);
    const json::object answer{
        {"status", refused.status}, {"state", "done"}, {"result", fileset::make_result(refused)}};
    co_return co_await call.exchange.respond(net::json_response(200, json::serialize(answer)));
  }
  CO_TRY_ASSIGN(const tree::Job job, co_await parts->filesets->begin(std::move(order)));
  co_return co_await respond(parts, call.exchange, 202, job.id);
}

net::Task<Result<>> list(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const std::string collection = parameters.text("collection");
  const std::int64_t before = parameters.number("before").value_or(0);
  const std::size_t limit = parameters.limit(fileset::kRequestsListedMax);
  CO_TRY(parameters.finish());
  auto load_all = [=](Tx& tx) -> Result<std::vector<Shown>> {
    TRY_ASSIGN(const std::vector<tree::JobId> jobs,
               fileset::list_requests(tx, collection, before, limit));
    std::vector<Shown> all;
    for (const tree::JobId job : jobs) {
      TRY_ASSIGN(Shown one, fileset::load_listed(tx, job));
      all.push_back(std::move(one));
    }
    return all;
  };
  CO_TRY_ASSIGN(const std::vector<Shown> all,
                co_await read(parts->loop, parts->readers, std::move(load_all)));
  json::array items;
  for (const Shown& one : all) {
    json::object item = to_json(one);
    item.erase("result");
    items.push_back(std::move(item));
  }
  std::optional<json::value> next;
  if (all.size() == limit) next = all.back().row.job.value;
  co_return co_await call.exchange.respond(page_response(std::move(items), std::move(next)));
}

net::Task<Result<>> show(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(const auto id, parse_id<tree::JobId>("job", call.values[0]));
  co_return co_await respond(parts, call.exchange, 200, id);
}

net::Task<Result<>> retry(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const auto id, parse_id<tree::JobId>("job", call.values[0]));
  CO_TRY_ASSIGN(const tree::Job job, co_await parts->filesets->retry(id));
  co_return co_await respond(parts, call.exchange, 202, job.id);
}

// -- topics --

net::Task<Result<>> list_topics(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  auto load_all = [](Tx& tx) { return fileset::list_topics(tx); };
  CO_TRY_ASSIGN(const std::vector<fileset::Topic> topics,
                co_await read(parts->loop, parts->readers, std::move(load_all)));
  json::array items;
  for (const fileset::Topic& topic : topics) {
    items.push_back(json::object{{"topic", topic.name},
                                 {"partitions", fileset::kTopicPartitions},
                                 {"messages", topic.messages},
                                 {"last", topic.last}});
  }
  co_return co_await call.exchange.respond(page_response(std::move(items), {}));
}

net::Task<Result<>> list_messages(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const std::string topic = call.values[0];
  const std::int64_t after = parameters.number("after").value_or(0);
  const std::int64_t partition =
      parameters.number("partition", 0, fileset::kTopicPartitions - 1).value_or(-1);
  const std::size_t limit = parameters.limit(fileset::kMessagesListed);
  CO_TRY(parameters.finish());
  auto load_some = [=](Tx& tx) {
    return fileset::list_messages(tx, topic, after, partition, limit);
  };
  CO_TRY_ASSIGN(const std::vector<fileset::TopicMessage> messages,
                co_await read(parts->loop, parts->readers, std::move(load_some)));
  json::array items;
  for (const fileset::TopicMessage& message : messages) {
    boost::system::error_code failed;
    items.push_back(json::object{{"id", message.id},
                                 {"partition", message.partition},
                                 {"key", message.key},
                                 {"at_us", message.at_us},
                                 {"body", json::parse(message.body, failed)}});
  }
  std::optional<json::value> next;
  if (messages.size() == limit) next = messages.back().id;
  co_return co_await call.exchange.respond(page_response(std::move(items), std::move(next)));
}

}  // namespace

void add_fileset_routes(Router& router, PartsPtr parts) {
  using net::Method;
  const auto bound = [&parts](auto handler) {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  router.add({Method::Post, "/api/v1/filesets",
              "Asks for a dataset ({\"url\":…} or {\"request\":{…}}), or finds the one that runs.",
              bound(create), Needs::ByMethod, About::Handler});
  router.add({Method::Get, "/api/v1/filesets",
              "Datasets, the newest first (collection, before, limit).", bound(list),
              Needs::ByMethod, About::Query});
  router.add({Method::Get, "/api/v1/filesets/{job}",
              "A dataset: its manifest with the state of each file, and its result.", bound(show)});
  router.add({Method::Post, "/api/v1/filesets/{job}/retry",
              "Does again what failed of a dataset that has ended.", bound(retry)});
  router.add({Method::Get, "/api/v1/topics", "Topics that results are published to.",
              bound(list_topics), Needs::ByMethod, About::Nothing});
  router.add({Method::Get, "/api/v1/topics/{topic}/messages",
              "Messages of a topic behind an id (after, partition, limit).", bound(list_messages),
              Needs::ByMethod, About::Nothing});
}

}  // namespace quern::api
