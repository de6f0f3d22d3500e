// /api/v1/findings and /api/v1/research: what was found, and how far the search is.
#include <boost/json.hpp>

#include "api/await.h"
#include "api/request.h"
#include "api/research_json.h"
#include "api/service.h"
#include "research/service.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using store::Tx;

bool flag_of(Parameters& parameters, std::string_view name) {
  const std::string text = parameters.text(name);
  if (text.empty() || text == "0" || text == "false") return false;
  if (text == "1" || text == "true") return true;
  parameters.refuse({Errc::Invalid, std::string(name) + " must be true or false"});
  return false;
}

Result<research::ResultFilter> parse_filter(const net::Target& target) {
  Parameters parameters(target);
  research::ResultFilter filter;
  filter.episode = parameters.number("episode", 1);
  filter.clip = parameters.number("clip", 1);
  filter.found_only = flag_of(parameters, "found");
  filter.failed_only = flag_of(parameters, "failed");
  if (filter.failed_only && filter.episode && filter.clip) {
    parameters.refuse({Errc::Invalid, "'failed' is of an episode, of a clip, or of all"});
  }
  filter.collection = parameters.text("collection");
  filter.limit = parameters.limit(research::kResultsListedMax);
  const std::string after = parameters.text("after");
  TRY(parameters.finish());
  TRY_ASSIGN(filter.after, parse_finding_cursor(after));
  return filter;
}

net::Task<Result<>> list(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const research::ResultFilter filter, parse_filter(call.target));
  auto load = [filter](Tx& tx) { return research::list_results(tx, filter); };
  CO_TRY_ASSIGN(const std::vector<research::ResultRow> rows,
                co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  std::size_t offsets = 0;
  for (const research::ResultRow& row : rows) {
    items.push_back(to_json(row));
    offsets += row.found.size();
  }
  // A page with very many offsets may have ended for those, before it was full.
  const bool may_go_on = rows.size() == filter.limit || offsets >= research::kOffsetsMax;
  std::optional<json::value> next;
  if (may_go_on) next = json::value(finding_cursor(rows.back()));
  co_return co_await call.exchange.respond(page_response(std::move(items), std::move(next)));
}

net::Task<Result<>> show(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  const research::Options options = parts->research->options().leases;
  auto load = [options](Tx& tx) { return research::load_status(tx, options); };
  CO_TRY_ASSIGN(const research::ResearchStatus status,
                co_await read(parts->loop, parts->readers, std::move(load)));
  const std::string answer = json::serialize(to_json(status));
  co_return co_await call.exchange.respond(net::json_response(200, answer));
}

// {"retry":"failed"}, of an episode, a clip, or all.
Result<research::ResultFilter> parse_retry(const std::string& body) {
  const Error wrong{
      Errc::Invalid,
      R"(expected {"retry":"failed"}, with an "episode" or a "clip" where it is to be )"
      "one only"};
  TRY_ASSIGN(const json::object object, parse_object(body));
  research::ResultFilter filter;
  bool asked = false;
  for (const auto& member : object) {
    if (member.key() == "retry" && member.value() == "failed") {
      asked = true;
      continue;
    }
    const bool known = member.key() == "episode" || member.key() == "clip";
    boost::system::error_code failed;
    const auto id = member.value().to_number<std::int64_t>(failed);
    if (!known || failed || id <= 0) return wrong;
    (member.key() == "clip" ? filter.clip : filter.episode) = id;
  }
  if (!asked) return wrong;
  return filter;
}

net::Task<Result<>> retry(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const std::string body, co_await call.exchange.read_all(kJsonBodyBytesMax));
  CO_TRY_ASSIGN(const research::ResultFilter filter, parse_retry(body));
  std::int64_t all = 0;
  // Each round opens some; what failed anew meanwhile waits for the next request.
  for (std::int64_t reopened = 1; reopened > 0 && !call.exchange.stopping();) {
    auto reopen = store::Alone{[filter](Tx& tx) { return research::retry_failed(tx, filter); }};
    CO_TRY_ASSIGN(reopened, co_await write(parts->loop, parts->writer.lane({}), std::move(reopen)));
    all += reopened;
  }
  if (all > 0) parts->research->poke();
  const std::string answer = json::serialize(json::object{{"reopened", all}});
  co_return co_await call.exchange.respond(net::json_response(200, answer));
}

}  // namespace

void add_finding_routes(Router& router, PartsPtr parts) {
  using net::Method;
  const auto bound = [&parts](net::Task<Result<>> (*handler)(PartsPtr, Call)) -> RouteHandler {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  router.add({Method::Get, "/api/v1/findings",
              "What was looked for, by episode and clip: where it is, or that it is not there "
              "(episode, clip, found=true, failed=true, collection, after, limit).",
              bound(list), Needs::ByMethod, About::Query});
  router.add({Method::Get, "/api/v1/research", "How far the search for clips in episodes is.",
              bound(show), Needs::ByMethod, About::Nothing});
  router.add({Method::Post, "/api/v1/research",
              "{\"retry\":\"failed\"}: what could not be looked for is open again.", bound(retry),
              Needs::ByMethod, About::Nothing});
}

}  // namespace quern::api
