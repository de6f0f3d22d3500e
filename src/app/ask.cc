#include "app/ask.h"

#include <boost/json.hpp>

#include "net/target.h"

namespace quern::app {
namespace {

namespace json = boost::json;

Errc kind_of(int status) {
  switch (status) {
    case 401:
    case 403:
      return Errc::Denied;
    case 404:
      return Errc::Missing;
    case 409:
      return Errc::Conflict;
    case 412:
      return Errc::Stale;
    case 413:
      return Errc::TooLarge;
    default:
      return status >= 400 && status < 500 ? Errc::Invalid : Errc::Internal;
  }
}

}  // namespace

Result<json::value> parse_answer(const net::Response& answer) {
  const bool done = answer.status >= 200 && answer.status < 300;
  if (done && answer.body.empty()) return json::value();
  boost::system::error_code failed;
  json::value body = json::parse(answer.body, failed);
  if (done && !failed) return body;
  const json::object* problem = failed ? nullptr : body.if_object();
  const json::value* detail = problem == nullptr ? nullptr : problem->if_contains("detail");
  const std::string message = detail != nullptr && detail->is_string()
                                  ? std::string(detail->get_string())
                                  : fmt::format("the server answered {} {}", answer.status,
                                                net::reason_phrase(answer.status));
  return Error{kind_of(answer.status), message};
}

net::Task<Result<json::value>> call(Door& door, net::Request request) {
  CO_TRY_ASSIGN(const net::Response answer, co_await door.call(std::move(request)));
  co_return parse_answer(answer);
}

net::Task<Result<int>> walk_pages(Door& door, std::string address, Each each, std::string after) {
  while (true) {
    std::string target = address;
    if (!after.empty()) net::append_query(target, "after", after);
    CO_TRY_ASSIGN(const json::value answer, co_await call(door, net::get_request(target)));
    const json::object& page = answer.as_object();
    for (const json::value& item : page.at("items").as_array()) CO_TRY(each(item.as_object()));
    const json::value* next = page.if_contains("next");
    if (next == nullptr) co_return kExitDone;
    after = next->is_string() ? std::string(next->get_string()) : json::serialize(*next);
  }
}

}  // namespace quern::app
