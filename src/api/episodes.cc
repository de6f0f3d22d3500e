// /api/v1/episodes and /api/v1/clips: what is researched, as curators gave it. And /api/v1/feeds,
// /api/v1/curations: where it comes from.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <map>

#include "api/await.h"
#include "api/curated_json.h"
#include "api/job_json.h"
#include "api/request.h"
#include "api/service.h"
#include "research/curator.h"
#include "research/feed.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using research::Curated;
using research::CuratedId;
using research::Kind;
using store::Tx;

constexpr std::size_t kOrderBytesMax = 4 * 1024 * 1024;
constexpr std::size_t kFindingsShown = 1000;
constexpr std::size_t kCuratedOfJobMax = 1000;

Result<CuratedId> parse_curated(Kind kind, const std::string& text) {
  CuratedId id = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (failed == std::errc{} && end == text.data() + text.size() && id > 0) return id;
  return Error{Errc::Invalid, fmt::format("'{}' is no number of a {}", text, to_string(kind))};
}

// -- what is asked for --

Result<std::string> text_in(const json::object& from, const char* key) {
  const json::value* value = from.if_contains(key);
  if (value == nullptr || value->is_null()) return std::string();
  if (!value->is_string()) return Error{Errc::Invalid, fmt::format("'{}' must be a text", key)};
  return std::string(value->get_string());
}

Result<> expect_known(const json::object& from, std::initializer_list<std::string_view> known,
                      std::string_view where) {
  for (const auto& member : from) {
    const std::string_view name = member.key();
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return Error{Errc::Invalid, fmt::format("'{}' is no field of {}", name, where)};
  }
  return {};
}

Result<std::optional<std::int64_t>> priority_in(const json::object& body) {
  const json::value* value = body.if_contains("priority");
  if (value == nullptr || value->is_null()) return std::optional<std::int64_t>();
  if (!value->is_int64()) return Error{Errc::Invalid, "'priority' must be a whole number"};
  return std::optional(value->get_int64());
}

Result<std::string> aired_in(const json::object& from) {
  TRY_ASSIGN(const std::string text, text_in(from, "date_aired"));
  if (text.empty()) return text;
  const std::string date = research::rfc3339_of(text);
  if (!date.empty()) return date;
  return Error{Errc::Invalid, "'date_aired' must be a date such as 2026-03-27 or one with a time"};
}

Result<std::string> address_of(const std::string& text) {
  const Result<web::Url> url = web::Url::parse(text);
  if (!url.ok() || !url->is_web()) {
    return Error{Errc::Invalid, fmt::format("'{}' is no address of the web", text)};
  }
  std::string href = url->href();
  href.resize(std::min(href.find('#'), href.size()));
  if (href.size() > web::kUrlBytesMax) {
    return over_limit("address", static_cast<std::int64_t>(href.size()), web::kUrlBytesMax,
                      "web.url_bytes_max");
  }
  return href;
}

// {"feed":…}, {"url":…} or {"file":…}, with title, description and date_aired.
Result<> add_source(const json::value& value, research::CurateRequest& request) {
  const json::object* from = value.if_object();
  if (from == nullptr) return Error{Errc::Invalid, "a source must be an object"};
  TRY(expect_known(*from, {"feed", "url", "file", "title", "description", "date_aired"},
                   "a source"));
  research::Source source;
  TRY_ASSIGN(source.title, text_in(*from, "title"));
  TRY_ASSIGN(source.description, text_in(*from, "description"));
  TRY_ASSIGN(source.aired, aired_in(*from));
  if (const json::value* file = from->if_contains("file")) {
    if (!file->is_int64()) return Error{Errc::Invalid, "'file' must be the number of a file"};
    request.files.push_back({{file->get_int64()}, source.title, source.description, source.aired});
    return {};
  }
  TRY_ASSIGN(const std::string feed, text_in(*from, "feed"));
  TRY_ASSIGN(const std::string url, text_in(*from, "url"));
  if (feed.empty() == url.empty()) {
    return Error{Errc::Invalid, "a source has either a 'feed', a 'url' or a 'file'"};
  }
  source.what = feed.empty() ? research::SourceKind::Address : research::SourceKind::Feed;
  TRY_ASSIGN(source.url, address_of(feed.empty() ? url : feed));
  request.sources.push_back(std::move(source));
  return {};
}

Result<research::CurateRequest> parse_request(Kind kind, const std::string& text) {
  TRY_ASSIGN(const json::object body, parse_object(text));
  TRY(expect_known(body, {"collection", "priority", "metadata", "sources"}, "this request"));
  research::CurateRequest request;
  request.kind = kind;
  TRY_ASSIGN(request.collection, text_in(body, "collection"));
  if (request.collection.empty()) request.collection = kDefaultCollection;
  TRY(tree::validate_collection_name(request.collection));
  TRY_ASSIGN(request.priority, priority_in(body));
  if (const json::value* metadata = body.if_contains("metadata")) {
    if (!metadata->is_object()) return Error{Errc::Invalid, "'metadata' must be an object"};
    request.metadata = metadata->get_object();
  }
  const json::value* sources = body.if_contains("sources");
  const json::array* list = sources == nullptr ? nullptr : sources->if_array();
  if (list == nullptr || list->empty()) {
    return Error{Errc::Invalid, "'sources' must be a list of feeds, addresses and files"};
  }
  if (list->size() > research::kSourcesMax) {
    return over_limit("sources", static_cast<std::int64_t>(list->size()),
                      static_cast<std::int64_t>(research::kSourcesMax), "research.sources_max");
  }
  for (const json::value& source : *list) TRY(add_source(source, request));
  return request;
}

std::string_view to_text(research::CuratedChange change) {
  switch (change) {
    case research::CuratedChange::New:
      return "new";
    case research::CuratedChange::Updated:
      return "updated";
    case research::CuratedChange::Same:
      return "same";
  }
  return "same";
}

// A caller of one collection names files of that collection only.
net::Task<Result<>> expect_files_within(PartsPtr parts, const Caller& caller,
                                        std::vector<research::FileSource> files) {
  if (!caller.collection) co_return Result<>();
  auto look = [files = std::move(files), own = *caller.collection](Tx& tx) -> Result<bool> {
    for (const research::FileSource& source : files) {
      TRY_ASSIGN(const tree::File file, tree::load_file(tx, source.file));
      TRY_ASSIGN(const tree::Job job, tree::load_job(tx, file.job));
      if (job.collection_name != own) return false;
    }
    return true;
  };
  const Result<bool> within = co_await read(parts->loop, parts->readers, std::move(look));
  if (!within.ok() && within.error().kind() != Errc::Missing) co_return within.error();
  if (!within.ok() || !*within) co_return expect_within(caller, "");
  co_return Result<>();
}

net::Task<Result<>> create(PartsPtr parts, Kind kind, Call call) {
  call.exchange.limit_body(kOrderBytesMax);
  CO_TRY_ASSIGN(const std::string text, co_await call.exchange.read_all(kOrderBytesMax));
  CO_TRY_ASSIGN(research::CurateRequest request, parse_request(kind, text));
  CO_TRY(expect_within(call.caller, request.collection));
  std::vector<research::FileSource> files = request.files;
  CO_TRY(co_await expect_files_within(parts, call.caller, std::move(files)));
  CO_TRY_ASSIGN(const research::CurateReply reply,
                co_await parts->curator->begin(std::move(request)));
  json::object answer{{"job", nullptr}};
  if (reply.job) answer["job"] = reply.job->id.value;
  json::array& list = answer[std::string(research::job_kind_of(kind))].emplace_array();
  for (const research::CurateOutcome& outcome : reply.files) {
    list.push_back(
        json::object{{"id", outcome.id}, {"change", std::string(to_text(outcome.change))}});
  }
  co_return co_await call.exchange.respond(net::json_response(202, json::serialize(answer)));
}

// -- what is there --

struct Wanted {
  research::CuratedFilter filter;
  std::optional<tree::JobId> job;
  std::string sha256;
};

Result<std::vector<Curated>> load_list(Tx& tx, const Wanted& wanted) {
  const Kind kind = wanted.filter.kind;
  std::vector<CuratedId> ids;
  if (wanted.job) {
    TRY_ASSIGN(ids, research::list_curated_by(tx, *wanted.job, kCuratedOfJobMax));
  } else if (!wanted.sha256.empty()) {
    const std::string collection =
        wanted.filter.collection.empty() ? kDefaultCollection : wanted.filter.collection;
    TRY_ASSIGN(const auto id, research::find_by_sha256(tx, kind, collection, wanted.sha256));
    if (id) ids.push_back(*id);
  } else {
    return research::list_curated(tx, wanted.filter);
  }
  std::vector<Curated> list;
  for (const CuratedId id : ids) {
    Result<Curated> one = research::load_curated(tx, kind, id);
    if (one.ok()) list.push_back(*std::move(one));
  }
  return list;
}

struct Listed {
  std::vector<Curated> curated;
  std::map<CuratedId, std::int64_t> found;  // of episodes: in how many pairs
};

Result<Listed> load_listed(Tx& tx, const Wanted& wanted) {
  Listed listed;
  TRY_ASSIGN(listed.curated, load_list(tx, wanted));
  if (wanted.filter.kind != Kind::Episode || listed.curated.empty()) return listed;
  const auto by_id = [](const Curated& a, const Curated& b) { return a.id < b.id; };
  const auto [first, last] =
      std::minmax_element(listed.curated.begin(), listed.curated.end(), by_id);
  TRY_ASSIGN(listed.found, research::count_found(tx, first->id, last->id));
  return listed;
}

json::object listed_json(const Curated& one, const Listed& listed) {
  json::object item = to_json(one);
  if (one.kind != Kind::Episode) return item;
  const auto found = listed.found.find(one.id);
  item["found"] = found == listed.found.end() ? 0 : found->second;
  return item;
}

net::Task<Result<>> list(PartsPtr parts, Kind kind, Call call) {
  Parameters parameters(call.target);
  Wanted wanted;
  wanted.filter.kind = kind;
  wanted.filter.collection = parameters.text("collection");
  wanted.filter.after = parameters.number("after").value_or(0);
  wanted.filter.limit = parameters.limit(research::kCuratedListedMax);
  if (const auto job = parameters.number("job", 1)) wanted.job = tree::JobId{*job};
  wanted.sha256 = parameters.text("sha256");
  CO_TRY(parameters.finish());
  auto load = [wanted](Tx& tx) { return load_listed(tx, wanted); };
  CO_TRY_ASSIGN(const Listed listed, co_await read(parts->loop, parts->readers, std::move(load)));
  const std::vector<Curated>& all = listed.curated;
  json::array items;
  for (const Curated& one : all) items.push_back(listed_json(one, listed));
  std::optional<json::value> next;
  const bool paged = !wanted.job && wanted.sha256.empty();
  if (paged && all.size() == wanted.filter.limit) next = all.back().id;
  co_return co_await call.exchange.respond(page_response(std::move(items), std::move(next)));
}

// Whoever may not see it does not learn that it is not there.
net::Task<Result<Curated>> load_own(PartsPtr parts, Kind kind, const Call& call) {
  CO_TRY_ASSIGN(const CuratedId id, parse_curated(kind, call.values[0]));
  auto load = [kind, id](Tx& tx) { return research::load_curated(tx, kind, id); };
  Result<Curated> found = co_await read(parts->loop, parts->readers, std::move(load));
  const bool missing = !found.ok() && found.error().kind() == Errc::Missing;
  if (found.ok() || missing) {
    const std::string collection = missing ? std::string() : found->collection;
    CO_TRY(expect_within(call.caller, collection));
  }
  co_return found;
}

struct Shown {
  std::vector<research::ResultRow> results;
  std::int64_t researched = 0;
};

net::Task<Result<>> show(PartsPtr parts, Kind kind, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(const Curated curated, co_await load_own(parts, kind, call));
  research::ResultFilter filter;
  (kind == Kind::Episode ? filter.episode : filter.clip) = curated.id;
  filter.found_only = true;
  filter.collection = call.caller.collection.value_or("");
  filter.limit = kFindingsShown;
  auto load = [filter, kind, id = curated.id](Tx& tx) -> Result<Shown> {
    Shown shown;
    TRY_ASSIGN(shown.results, research::list_results(tx, filter));
    TRY_ASSIGN(shown.researched, research::count_researched(tx, kind, id));
    return shown;
  };
  CO_TRY_ASSIGN(const Shown shown, co_await read(parts->loop, parts->readers, std::move(load)));
  json::object answer = to_json(curated);
  answer["researched"] = shown.researched;
  json::array& findings = answer["findings"].emplace_array();
  for (const auto& result : shown.results) findings.push_back(finding_json(result, kind));
  co_return co_await call.exchange.respond(net::json_response(200, json::serialize(answer)));
}

net::Task<Result<>> waveform(PartsPtr parts, Kind kind, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(const Curated curated, co_await load_own(parts, kind, call));
  auto load = [curated](Tx& tx) { return research::load_waveform(tx, curated); };
  CO_TRY_ASSIGN(const std::optional<std::string> bytes,
                co_await read(parts->loop, parts->readers, std::move(load)));
  if (!bytes) {
    co_return Error{Errc::Missing, fmt::format("no researcher has looked at this {} yet: its "
                                               "waveform comes with the first look",
                                               to_string(kind))};
  }
  json::array points;
  points.reserve(bytes->size());
  for (const char c : *bytes) points.push_back(static_cast<unsigned char>(c));
  const json::object answer{{"points", std::move(points)}, {"duration_ns", curated.duration_ns}};
  co_return co_await call.exchange.respond(net::json_response(200, json::serialize(answer)));
}

net::Task<Result<>> change(PartsPtr parts, Kind kind, Call call) {
  CO_TRY_ASSIGN(const std::string text, co_await call.exchange.read_all(kJsonBodyBytesMax));
  CO_TRY_ASSIGN(const json::object body, parse_object(text));
  CO_TRY(expect_known(body, {"priority"}, "what can be changed: there is only 'priority'"));
  CO_TRY_ASSIGN(const std::optional<std::int64_t> priority, priority_in(body));
  if (!priority) co_return Error{Errc::Invalid, "'priority' is missing"};
  CO_TRY_ASSIGN(const Curated before, co_await load_own(parts, kind, call));
  auto set = store::Alone{[kind, id = before.id, priority = *priority](Tx& tx) -> Result<Curated> {
    TRY(research::set_priority(tx, kind, id, priority));
    return research::load_curated(tx, kind, id);
  }};
  CO_TRY_ASSIGN(const Curated after, co_await write(parts->loop, parts->writer.lane({}), set));
  const std::string answer = json::serialize(to_json(after));
  co_return co_await call.exchange.respond(net::json_response(200, answer));
}

net::Task<Result<>> remove(PartsPtr parts, Kind kind, Call call) {
  CO_TRY_ASSIGN(const Curated before, co_await load_own(parts, kind, call));
  auto take = store::Alone{[kind, id = before.id](Tx& tx) -> Result<bool> {
    TRY(research::remove_curated(tx, kind, id));
    return true;
  }};
  CO_TRY(co_await write(parts->loop, parts->writer.lane({}), take));
  net::Response answer;
  answer.status = 204;
  co_return co_await call.exchange.respond(std::move(answer));
}

// -- where they come from --

net::Task<Result<>> list_feeds(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  research::FeedFilter filter;
  const std::string kind = parameters.text("kind");
  if (kind == "episode") filter.kind = Kind::Episode;
  if (kind == "clip") filter.kind = Kind::Clip;
  if (!kind.empty() && !filter.kind) {
    parameters.refuse(Error{Errc::Invalid, "'kind' is episode or clip"});
  }
  filter.collection = parameters.text("collection");
  filter.after = {parameters.number("after").value_or(0)};
  filter.limit = parameters.limit(research::kFeedsListedMax);
  CO_TRY(parameters.finish());
  auto load = [filter](Tx& tx) { return research::list_feeds(tx, filter); };
  CO_TRY_ASSIGN(const std::vector<research::FeedRow> feeds,
                co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  for (const research::FeedRow& feed : feeds) items.push_back(to_json(feed));
  std::optional<json::value> next;
  if (feeds.size() == filter.limit) next = feeds.back().id.value;
  co_return co_await call.exchange.respond(page_response(std::move(items), std::move(next)));
}

net::Task<Result<>> remove_feed(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const auto id, parse_id<research::FeedId>("feed", call.values[0]));
  auto take = [id, caller = call.caller](Tx& tx) -> Result<bool> {
    const Result<research::FeedRow> feed = research::load_feed(tx, id);
    TRY(expect_within(caller, feed.ok() ? feed->collection : ""));
    TRY(research::remove_feed(tx, id));
    return true;
  };
  CO_TRY(co_await write(parts->loop, parts->writer.lane({}), std::move(take)));
  net::Response answer;
  answer.status = 204;
  co_return co_await call.exchange.respond(std::move(answer));
}

struct ShownCuration {
  research::Curation curation;
  std::vector<research::SourceRow> sources;
};

net::Task<Result<>> show_curation(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(const auto id, parse_id<tree::JobId>("job", call.values[0]));
  auto load = [id](Tx& tx) -> Result<ShownCuration> {
    ShownCuration shown;
    TRY_ASSIGN(shown.curation, research::load_curation(tx, id));
    TRY_ASSIGN(shown.sources, research::list_sources(tx, id, research::kSourcesListedMax));
    return shown;
  };
  CO_TRY_ASSIGN(const ShownCuration shown,
                co_await read(parts->loop, parts->readers, std::move(load)));
  const research::Curation& curation = shown.curation;
  json::object answer{{"job", id.value},
                      {"kind", std::string(to_string(curation.kind))},
                      {"collection", curation.collection_name},
                      {"recheck", curation.recheck},
                      {"ended", curation.ended_us != 0}};
  json::array& sources = answer["sources"].emplace_array();
  for (const research::SourceRow& source : shown.sources) sources.push_back(to_json(source));
  co_return co_await call.exchange.respond(net::json_response(200, json::serialize(answer)));
}

void add_routes_of(Router& router, PartsPtr parts, Kind kind) {
  using net::Method;
  const std::string base = fmt::format("/api/v1/{}", research::job_kind_of(kind));
  const std::string one = fmt::format("{}/{{{}}}", base, to_string(kind));
  const auto what = std::string(research::job_kind_of(kind));
  const auto name = std::string(to_string(kind));
  const auto bound = [&parts, kind](auto handler) {
    return [parts, kind, handler](Call call) { return handler(parts, kind, std::move(call)); };
  };
  router.add({Method::Post, base,
              fmt::format("Curates {}: feeds, addresses and files (sources, collection, priority, "
                          "metadata).",
                          what),
              bound(create), Needs::ByMethod, About::Handler});
  router.add({Method::Get, base,
              fmt::format("{} by id (collection, after, limit; job; sha256).",
                          kind == Kind::Episode ? "Episodes" : "Clips"),
              bound(list), Needs::ByMethod, About::Query});
  router.add({Method::Get, one, fmt::format("One {}, with what was found.", name), bound(show),
              Needs::ByMethod, About::Handler});
  router.add({Method::Get, one + "/waveform",
              fmt::format("How loud the {} is, from its beginning to its end.", name),
              bound(waveform), Needs::ByMethod, About::Handler});
  router.add({Method::Patch, one, fmt::format("Changes the priority of one {}.", name),
              bound(change), Needs::ByMethod, About::Handler});
  router.add({Method::Delete, one,
              fmt::format("Takes one {} out of research; its document stays.", name), bound(remove),
              Needs::ByMethod, About::Handler});
}

}  // namespace

void add_episode_routes(Router& router, PartsPtr parts) {
  using net::Method;
  add_routes_of(router, parts, Kind::Episode);
  add_routes_of(router, parts, Kind::Clip);
  const auto bound = [&parts](auto handler) {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  router.add({Method::Get, "/api/v1/feeds",
              "Feeds that are looked at again (kind, collection, after, limit).", bound(list_feeds),
              Needs::ByMethod, About::Query});
  router.add({Method::Delete, "/api/v1/feeds/{feed}",
              "Looks at a feed no more; what it brought stays.", bound(remove_feed),
              Needs::ByMethod, About::Handler});
  router.add({Method::Get, "/api/v1/curations/{job}",
              "How a curation goes: its sources, and what is wrong with them.",
              bound(show_curation)});
}

}  // namespace quern::api
