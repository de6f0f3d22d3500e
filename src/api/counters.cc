// /api/v1/counters: the demonstration feature over HTTP.
//
// Lambdas are named before they are awaited with: g++ 12 destroys some temporaries of a co_await
// expression twice.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "api/await.h"
#include "api/service.h"
#include "counter/counter.h"
#include "io/file.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;

constexpr std::size_t kPageMax = 200;

json::object to_json(const counter::Counter& counter) {
  json::object object{
      {"counter", counter.name}, {"value", counter.value}, {"entries", counter.entries}};
  if (counter.snapshot_value) object["snapshot"] = *counter.snapshot_value;
  return object;
}

counter::Stores stores_of(const Parts& parts) {
  return {parts.writer, parts.readers, parts.snapshots};
}

Result<counter::AddToCounter> parse_addition(std::string name, const std::string& body,
                                             const std::string* header_key) {
  counter::AddToCounter add{std::move(name), header_key == nullptr ? "" : *header_key, 1};
  boost::system::error_code failed;
  const json::value value = json::parse(body.empty() ? "{}" : body, failed);
  const json::object* object = failed ? nullptr : value.if_object();
  if (object == nullptr) {
    return Error{Errc::Invalid, R"(the body must be a JSON object such as {"amount":1,"key":"a"})"};
  }
  for (const auto& [field, given] : *object) {
    if (field == "amount" && given.is_int64()) {
      add.amount = given.get_int64();
    } else if (field == "key" && given.is_string()) {
      add.key = given.get_string();
    } else {
      return Error{Errc::Invalid,
                   fmt::format("field '{}' is unknown or of the wrong type; there are "
                               "amount (a whole number) and key (a text)",
                               std::string_view(field))};
    }
  }
  TRY(counter::validate(add));
  return add;
}

net::Task<Result<>> add(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const std::string body, co_await call.exchange.read_all(kJsonBodyBytesMax));
  const std::string* key = call.exchange.request().headers.find("Idempotency-Key");
  CO_TRY_ASSIGN(counter::AddToCounter addition, parse_addition(call.values[0], body, key));
  store::Lane& lane = parts->writer.lane(counter::lane_of(addition.name));
  CO_TRY_ASSIGN(const counter::Added added, co_await write(parts->loop, lane, std::move(addition)));
  const json::object answer{
      {"counter", call.values[0]}, {"value", added.value}, {"repeated", added.repeated}};
  co_return co_await call.exchange.respond(net::json_response(200, json::serialize(answer)));
}

net::Task<Result<>> list(PartsPtr parts, Call call) {
  const std::string* after = call.target.find("after");
  const std::string from = after == nullptr ? "" : *after;
  auto load_page = [from](store::Tx& tx) { return counter::list_counters(tx, from, kPageMax); };
  CO_TRY_ASSIGN(const std::vector<counter::Counter> counters,
                co_await read(parts->loop, parts->readers, std::move(load_page)));
  json::array items;
  for (const counter::Counter& counter : counters) items.push_back(to_json(counter));
  json::object page{{"items", std::move(items)}};
  if (counters.size() == kPageMax) page["next"] = counters.back().name;
  co_return co_await call.exchange.respond(net::json_response(200, json::serialize(page)));
}

net::Task<Result<counter::Counter>> load(PartsPtr parts, std::string name) {
  auto load_one = [name](store::Tx& tx) { return counter::load_counter(tx, name); };
  co_return co_await read(parts->loop, parts->readers, std::move(load_one));
}

net::Task<Result<>> show(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const counter::Counter counter, co_await load(parts, call.values[0]));
  const std::string text = json::serialize(to_json(counter));
  co_return co_await call.exchange.respond(net::json_response(200, text));
}

net::Task<Result<>> take_snapshot(PartsPtr parts, Call call) {
  const std::string name = call.values[0];
  auto take = [parts, name] { return counter::take_snapshot(stores_of(*parts), name); };
  CO_TRY_ASSIGN(const counter::Counter counter,
                co_await offload(parts->loop, parts->pool, std::move(take)));
  const std::string text = json::serialize(to_json(counter));
  co_return co_await call.exchange.respond(net::json_response(200, text));
}

class FileSource final : public net::ContentSource {
 public:
  FileSource(PartsPtr parts, io::FileReader file)
      : parts_(std::move(parts)), file_(std::move(file)) {}

  net::Task<Result<std::size_t>> read_at(std::uint64_t offset, std::span<char> output) override {
    const io::FileReader* file = &file_;
    auto read = [file, offset, output] {
      return file->read_at(static_cast<std::int64_t>(offset), output);
    };
    co_return co_await offload(parts_->loop, parts_->pool, std::move(read));
  }

 private:
  PartsPtr parts_;
  io::FileReader file_;
};

net::Task<Result<>> get_snapshot(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const counter::Counter counter, co_await load(parts, call.values[0]));
  if (!counter.snapshot_file) co_return Error{Errc::Missing, "no snapshot was taken yet"};
  const std::filesystem::path path = parts->snapshots / *counter.snapshot_file;
  auto open = [path] { return io::FileReader::open(path); };
  CO_TRY_ASSIGN(io::FileReader file, co_await offload(parts->loop, parts->pool, std::move(open)));
  net::Content content;
  content.size = static_cast<std::uint64_t>(file.size_bytes());
  content.content_type = "application/json";
  content.etag = fmt::format("\"{}\"", *counter.snapshot_file);
  FileSource source(parts, std::move(file));
  co_return co_await call.exchange.respond_content(source, std::move(content));
}

}  // namespace

void add_counter_routes(Router& router, PartsPtr parts) {
  const auto bound = [&parts](net::Task<Result<>> (*handler)(PartsPtr, Call)) -> RouteHandler {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  using net::Method;
  router.add({Method::Get, "/api/v1/counters", "Counters by name, a page at a time (after=NAME).",
              bound(list)});
  router.add({Method::Get, "/api/v1/counters/{name}", "One counter.", bound(show)});
  router.add({Method::Post, "/api/v1/counters/{name}",
              "Adds to a counter, once per key (amount, key; or the header Idempotency-Key).",
              bound(add)});
  router.add({Method::Get, "/api/v1/counters/{name}/snapshot", "The file of the last snapshot.",
              bound(get_snapshot)});
  router.add({Method::Post, "/api/v1/counters/{name}/snapshot",
              "Writes the counter's value to a file of its own.", bound(take_snapshot)});
}

}  // namespace quern::api
