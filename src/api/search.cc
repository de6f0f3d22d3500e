// /api/v1/search, /search/{collection}, /api/v1/suggest: questions to everything that was ingested.
// /api/v1/packs, segments, searchers: what answers them, and how it is packed.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/json.hpp>
#include <charconv>

#include "api/await.h"
#include "api/queue_json.h"
#include "api/request.h"
#include "api/service.h"
#include "fileset/request_row.h"
#include "search/segment.h"
#include "search/service.h"
#include "step/worker_protocol.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using search::GroupHit;
using search::SearchAnswer;
using search::SearchOrder;
using store::Tx;

constexpr std::size_t kHitsDefault = 10;
constexpr std::int64_t kFreshMsMax = 60'000;
constexpr std::size_t kSearchedDatasetsMax = 20'000;  // that filters look at; the newest
constexpr char kMaskType[] = "application/octet-stream";
constexpr char kPackType[] = "application/zstd";

// A place as text: bits of the score, day, tie, file, and whether any word was enough.
std::string cursor_text(const search::Place& place, bool any_word) {
  return fmt::format("{:016x}.{}.{}.{}.{}", std::bit_cast<std::uint64_t>(place.score), place.day,
                     place.tie, place.file, any_word ? 1 : 0);
}

Result<> read_cursor(std::string_view text, SearchOrder& order) {
  const Error wrong{Errc::Invalid, "after: this is no cursor of a search"};
  std::int64_t numbers[4];
  std::uint64_t bits = 0;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  const auto score = std::from_chars(at, end, bits, 16);
  if (score.ec != std::errc{}) return wrong;
  at = score.ptr;
  for (std::int64_t& number : numbers) {
    if (at == end || *at != '.') return wrong;
    const auto read = std::from_chars(at + 1, end, number);
    if (read.ec != std::errc{}) return wrong;
    at = read.ptr;
  }
  const bool fits = numbers[0] >= INT32_MIN && numbers[0] <= INT32_MAX && numbers[1] >= 0 &&
                    numbers[1] <= UINT32_MAX && numbers[3] >= 0 && numbers[3] <= 1;
  if (at != end || !fits) return wrong;
  order.after = search::Place{std::bit_cast<double>(bits), static_cast<std::int32_t>(numbers[0]),
                              static_cast<std::uint32_t>(numbers[1]), numbers[2]};
  order.any_word = numbers[3] == 1;
  return {};
}

struct SearchRequest {
  SearchOrder order;
  std::int64_t fresh_ms = 0;  // how long to wait for what was ingested a moment ago
};

Result<SearchRequest> parse_request(const net::Target& target, const std::string& collection) {
  Parameters parameters(target);
  SearchRequest request;
  SearchOrder& order = request.order;
  order.text = parameters.text("q");
  const std::string named = parameters.text("collection");
  for (const std::string& name : {collection, named}) {
    if (name.empty()) continue;
    TRY(tree::validate_collection_name(name));
    order.collections.push_back(name);
  }
  order.limit = static_cast<std::size_t>(
      parameters.number("limit", 1, search::kHitsMax).value_or(kHitsDefault));
  const std::string sort = parameters.text("sort");
  if (!sort.empty()) {
    const std::optional<search::Sort> known = search::parse_sort(sort);
    if (!known) {
      parameters.refuse({Errc::Invalid, fmt::format("sort is relevance, newest or oldest, not "
                                                    "'{}'",
                                                    sort)});
    }
    order.sort = known.value_or(search::Sort::Relevance);
  }
  if (const std::string after = parameters.text("after"); !after.empty()) {
    const Result<> read = read_cursor(after, order);
    if (!read.ok()) parameters.refuse(read.error());
  }
  order.facets = parameters.number("facets", 0, 1).value_or(0) == 1;
  request.fresh_ms = parameters.number("fresh", 0, kFreshMsMax).value_or(0);
  TRY(parameters.finish());
  return request;
}

json::value or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

json::object hit_json(const GroupHit& one) {
  const search::Hit& hit = one.hit;
  return {{"document", hit.file},
          {"collection", one.collection},
          {"title", or_null(hit.title)},
          {"filename", hit.filename},
          {"url", or_null(hit.url)},
          {"page", hit.page > 0 ? json::value(hit.page) : json::value(nullptr)},
          {"score", one.place.score},
          {"snippet", hit.snippet},
          {"type", hit.type},
          {"date", or_null(search::day_text(hit.day))}};
}

// The most frequent values first.
template <class Key>
json::array facet_json(const std::map<Key, std::int64_t>& counts) {
  std::vector<std::pair<Key, std::int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (sorted.size() > search::kFacetValuesMax) sorted.resize(search::kFacetValuesMax);
  json::array values;
  for (const auto& [value, count] : sorted) {
    values.push_back(json::object{{"value", value}, {"count", count}});
  }
  return values;
}

json::object answer_json(const SearchAnswer& answer, const SearchOrder& order, bool pending) {
  const search::GroupAnswer& found = answer.found;
  json::array hits;
  for (const GroupHit& hit : found.hits) hits.push_back(hit_json(hit));
  json::object body{{"total", found.total},
                    {"total_is", found.exact ? "exact" : "at_least"},
                    {"hits", std::move(hits)}};
  if (found.hits.size() == order.limit && order.limit > 0) {
    body["next"] = cursor_text(found.hits.back().place, answer.any_word);
  }
  if (order.facets) {
    body["facets"] = {{"type", facet_json(found.types)},
                      {"collection", facet_json(found.collections)},
                      {"year", facet_json(found.years)}};
  }
  json::array notes(answer.query.notes.begin(), answer.query.notes.end());
  if (answer.query.cut) {
    notes.push_back(json::value(
        fmt::format("the query was longer than {} bytes; only its beginning was searched",
                    search::kQueryBytesMax)));
  }
  if (answer.any_word) notes.push_back("no document has all of these words; these have some");
  if (pending) notes.push_back("some documents are not packed yet, and not found");
  body["cut"] = answer.query.cut;
  body["any_word"] = answer.any_word;
  body["notes"] = std::move(notes);
  return body;
}

Result<> expect_collections(Tx& tx, const std::vector<std::string>& names) {
  for (const std::string& name : names) TRY(tree::load_ledger(tx, name));
  return {};
}

template <class T>
bool is_meant(const search::Filter<T>& filter, const T& value) {
  const auto has = [&value](const std::vector<T>& values) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  return (filter.any.empty() || has(filter.any)) && !has(filter.none);
}

// What filters of datasets mean: the jobs whose documents they let through. Where all are negated,
// whatever is no dataset passes, too.
void choose_jobs(const search::Query& query, const std::vector<fileset::SearchedDataset>& datasets,
                 SearchOrder& order) {
  const bool only = !query.datasets.any.empty() || !query.in_ia.any.empty();
  if (only) order.only_jobs.emplace();
  for (const fileset::SearchedDataset& dataset : datasets) {
    const std::string in_ia = dataset.in_ia ? "true" : "false";
    const bool meant = is_meant(query.datasets, dataset.status) && is_meant(query.in_ia, in_ia);
    if (only && meant) order.only_jobs->push_back(dataset.job.value);
    if (!only && !meant) order.not_jobs.push_back(dataset.job.value);
  }
}

net::Task<Result<>> search_in(PartsPtr parts, Call call, std::string collection) {
  CO_TRY_ASSIGN(SearchRequest request, parse_request(call.target, collection));
  SearchOrder& order = request.order;
  if (!order.collections.empty()) {
    auto look = [names = order.collections](Tx& tx) { return expect_collections(tx, names); };
    CO_TRY(co_await read(parts->loop, parts->readers, std::move(look)));
  }
  bool pending = false;
  if (request.fresh_ms > 0) {
    CO_TRY_ASSIGN(const bool packed, co_await parts->search->pack_changes(
                                         order.collections, net::in_ms(request.fresh_ms)));
    pending = !packed;
    order.age = search::Catalog::Age::Newest;
  }
  const search::Query query = search::parse_query(order.text);
  bool too_many = false;
  if (query.asks_for_datasets()) {
    auto list = [](Tx& tx) { return fileset::list_searched(tx, kSearchedDatasetsMax); };
    CO_TRY_ASSIGN(const std::vector<fileset::SearchedDataset> datasets,
                  co_await read(parts->loop, parts->readers, std::move(list)));
    choose_jobs(query, datasets, order);
    too_many = datasets.size() == kSearchedDatasetsMax;
  }
  CO_TRY_ASSIGN(SearchAnswer answer, co_await parts->search->finder().search(order));
  if (too_many) {
    answer.query.notes.push_back(
        fmt::format("only the newest {} datasets were looked at", kSearchedDatasetsMax));
  }
  const std::string text = json::serialize(answer_json(answer, order, pending));
  co_return co_await call.exchange.respond(net::json_response(200, text));
}

net::Task<Result<>> search_all(PartsPtr parts, Call call) {
  return search_in(parts, std::move(call), "");
}

net::Task<Result<>> search_one(PartsPtr parts, Call call) {
  std::string collection = call.values[0];
  return search_in(parts, std::move(call), std::move(collection));
}

net::Task<Result<>> suggest(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const std::string text = parameters.text("q");
  const std::string collection = parameters.text("collection");
  const auto limit =
      static_cast<std::size_t>(parameters.number("limit", 1, search::kSuggestionsMax).value_or(10));
  CO_TRY(parameters.finish());
  std::vector<std::string> collections;
  if (!collection.empty()) collections.push_back(collection);
  const std::string_view typed =
      std::string_view(text).substr(0, std::min(text.size(), search::kQueryBytesMax));
  CO_TRY_ASSIGN(
      const std::vector<search::Suggestion> found,
      co_await parts->search->finder().suggest(std::string(typed), std::move(collections), limit));
  json::array words;
  for (const search::Suggestion& one : found) {
    words.push_back(json::object{{"word", one.word}, {"documents", one.documents}});
  }
  const std::string body = json::serialize(json::object{{"suggestions", std::move(words)}});
  co_return co_await call.exchange.respond(net::json_response(200, body));
}

// -- packs --

json::object pack_json(const search::PackList& pack) {
  json::array segments;
  std::int64_t documents = 0;
  std::int64_t bytes = 0;
  for (const search::Segment& one : pack.segments) {
    documents += one.shown();
    bytes += one.bytes;
    segments.push_back(json::object{{"digest", one.digest},
                                    {"documents", one.documents},
                                    {"masked", one.masked},
                                    {"mask_version", one.mask_version},
                                    {"bytes", one.bytes}});
  }
  return {{"collection", pack.name},
          {"version", pack.version},
          {"documents", documents},
          {"bytes", bytes},
          {"segments", std::move(segments)}};
}

net::Task<Result<>> list_packs(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  auto load = [](Tx& tx) { return search::load_packs(tx); };
  CO_TRY_ASSIGN(const std::vector<search::PackList> packs,
                co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  for (const search::PackList& pack : packs) items.push_back(pack_json(pack));
  co_return co_await call.exchange.respond(page_response(std::move(items), std::nullopt));
}

net::Task<Result<>> list_searchers(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  struct Listed {
    std::vector<search::Registration> all;
    std::int64_t now_us = 0;
  };
  auto load = [](Tx& tx) -> Result<Listed> {
    Listed listed;
    TRY_ASSIGN(listed.all, search::list_registrations(tx));
    TRY_ASSIGN(listed.now_us, tx.now_us());
    return listed;
  };
  CO_TRY_ASSIGN(const Listed listed, co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  for (const search::Registration& one : listed.all) {
    items.push_back(json::object{{"searcher", one.id},
                                 {"address", or_null(one.address)},
                                 {"free_space", one.free_mb},
                                 {"held", json::array(one.held.begin(), one.held.end())},
                                 {"seen", time_json(one.seen_us)},
                                 {"silent", one.is_silent(listed.now_us)}});
  }
  co_return co_await call.exchange.respond(page_response(std::move(items), std::nullopt));
}

// 200 where it is published; 202 where that takes longer than was waited for.
net::Task<Result<>> pack(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const bool full = parameters.number("full", 0, 1).value_or(0) == 1;
  const std::int64_t wait_ms = parameters.number("wait", 0, kFreshMsMax).value_or(0);
  CO_TRY(parameters.finish());
  const std::string name = call.values[0];
  auto look = [name](Tx& tx) { return search::load_pack(tx, name); };
  CO_TRY_ASSIGN(const search::PackList before, co_await read(parts->loop, parts->readers, look));
  const net::Instant deadline = net::in_ms(wait_ms);
  if (full) {
    auto post = [parts, name, version = before.version] {
      return search::post_pack(parts->writer, parts->readers, name, true,
                               fmt::format("full:{}:{}", name, version));
    };
    CO_TRY_ASSIGN(const queue::PartitionId partition,
                  co_await offload(parts->loop, parts->pool, std::move(post)));
    parts->poke(partition);
  }
  std::vector<std::string> collections(1, name);
  CO_TRY_ASSIGN(bool done, co_await parts->search->pack_changes(std::move(collections), deadline));
  search::PackList now = before;
  while (true) {
    CO_TRY_ASSIGN(now, co_await read(parts->loop, parts->readers, look));
    if (full) done = now.version > before.version;
    if (done || net::in_ms(0) >= deadline) break;
    co_await parts->loop.sleep_until(net::in_ms(50));
  }
  // Who searches next finds it.
  if (done) CO_TRY(co_await parts->search->catalog().current(search::Catalog::Age::Newest));
  const std::string body = json::serialize(pack_json(now));
  co_return co_await call.exchange.respond(net::json_response(done ? 200 : 202, body));
}

net::Task<Result<search::Segment>> load_segment(PartsPtr parts, std::string digest) {
  auto load = [digest](Tx& tx) { return search::load_segment(tx, digest); };
  co_return co_await read(parts->loop, parts->readers, std::move(load));
}

net::Task<Result<>> send_segment(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const search::Segment segment, co_await load_segment(parts, call.values[0]));
  step::BlobHead head;
  head.content_type = kPackType;
  co_return co_await step::send_blob(parts->pipeline.parts(), call.exchange, segment.blob,
                                     std::move(head));
}

net::Task<Result<>> send_mask(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const auto version = parameters.number("version");
  CO_TRY(parameters.finish());
  CO_TRY_ASSIGN(const search::Segment segment, co_await load_segment(parts, call.values[0]));
  auto load = [id = segment.id](Tx& tx) { return search::load_mask(tx, id); };
  CO_TRY_ASSIGN(search::StoredMask mask,
                co_await read(parts->loop, parts->readers, std::move(load)));
  if (version && *version != mask.version) {
    co_return Error{Errc::Conflict, fmt::format("the mask is at version {} now", mask.version)};
  }
  net::Response answer;
  answer.headers.set("Content-Type", kMaskType);
  answer.body = std::move(mask.bits);
  co_return co_await call.exchange.respond(std::move(answer));
}

}  // namespace

void add_search_routes(Router& router, PartsPtr parts) {
  const auto bound = [&parts](net::Task<Result<>> (*handler)(PartsPtr, Call)) -> RouteHandler {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  using net::Method;
  router.add({Method::Get, "/api/v1/search",
              "Searches (q, collection, limit, after, sort=relevance|newest|oldest, facets=1, "
              "fresh=MS: waits so long for what was just ingested).",
              bound(search_all), Needs::ByMethod, About::Query});
  router.add({Method::Get, "/search/{collection}", "Searches one collection, as /api/v1/search.",
              bound(search_one)});
  router.add({Method::Get, "/api/v1/suggest",
              "Words that begin like the last one of q (collection, limit).", bound(suggest),
              Needs::ByMethod, About::Query});
  router.add({Method::Post, "/api/v1/collections/{collection}/pack",
              "Packs what has changed, or everything (full=1); waits so long (wait=MS).",
              bound(pack)});
  router.add(
      {Method::Get, "/api/v1/packs", "What is published of each collection.", bound(list_packs)});
  router.add({Method::Get, "/api/v1/searchers", "Searchers, as they last registered.",
              bound(list_searchers)});
  router.add({Method::Get, "/api/v1/segments/{digest}", "A segment's file, compressed (zstd).",
              bound(send_segment), Needs::ReaderOrWorker});
  router.add({Method::Get, "/api/v1/segments/{digest}/mask",
              "The bits of a segment's documents that are gone (version).", bound(send_mask),
              Needs::ReaderOrWorker});
}

}  // namespace quern::api
