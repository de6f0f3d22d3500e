// /api/v1/files/{file}/matches: where the words of a query stand in a document.
#include <boost/json.hpp>

#include "api/await.h"
#include "api/file_text.h"
#include "api/job_json.h"
#include "api/request.h"
#include "api/service.h"
#include "search/text_matches.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;

json::object to_json(const search::TextMatches& found) {
  json::array words;
  for (const std::string& word : found.words) words.emplace_back(word);
  json::array pages;
  for (const search::PageMatches& page : found.pages) {
    pages.push_back({{"page", page.page}, {"count", page.count}});
  }
  return {{"words", std::move(words)},
          {"total", found.total},
          {"cut", found.cut},
          {"pages", std::move(pages)}};
}

// Nobody says where the one page of a page ends.
tree::PageEnds ends_of(const tree::File& file, WholeText& whole) {
  const bool single = file.page.has_value() || file.pages == 1;
  if (!whole.page_ends.empty() || !single) return std::move(whole.page_ends);
  return {static_cast<std::uint32_t>(whole.text.size())};
}

net::Task<Result<>> find_in_file(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const std::string query = parameters.text("q");
  CO_TRY(parameters.finish());
  CO_TRY_ASSIGN(const tree::FileId id, parse_id<tree::FileId>("file", call.values[0]));
  auto load = [id](store::Tx& tx) { return tree::load_file(tx, id); };
  CO_TRY_ASSIGN(const tree::File file, co_await read(parts->loop, parts->readers, std::move(load)));
  CO_TRY_ASSIGN(WholeText whole, co_await load_whole_text(parts, id));
  whole.page_ends = ends_of(file, whole);
  auto find = [query, whole = std::move(whole)]() -> Result<search::TextMatches> {
    return search::find_matches(search::parse_query(query), whole.text, whole.page_ends);
  };
  CO_TRY_ASSIGN(const search::TextMatches found,
                co_await offload(parts->loop, parts->pool, std::move(find)));
  const std::string body = json::serialize(to_json(found));
  co_return co_await call.exchange.respond(net::json_response(200, body));
}

}  // namespace

void add_match_routes(Router& router, PartsPtr parts) {
  router.add({net::Method::Get, "/api/v1/files/{file}/matches",
              "Where the words of a query stand in its text, page by page (q).",
              [parts](Call call) { return find_in_file(parts, std::move(call)); }});
}

}  // namespace quern::api
