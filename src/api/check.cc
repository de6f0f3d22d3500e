// /api/v1/check: every invariant of everything, while others work.
#include <boost/json.hpp>
#include <optional>

#include "api/await.h"
#include "api/service.h"
#include "counter/counter.h"
#include "crawl/check.h"
#include "crawl/service.h"
#include "fileset/check.h"
#include "fileset/service.h"
#include "net/event.h"
#include "queue/check.h"
#include "research/check.h"
#include "search/check.h"
#include "tree/check.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;

// A check reads every blob, which may take hours: whoever asked sees from time to time that it goes
// on.
constexpr std::int64_t kCheckSignMs = 1000;

using Problems = Result<std::vector<std::string>>;

struct Checking {
  explicit Checking(net::Loop& loop) : ended(loop) {}
  std::optional<Problems> problems;
  net::Event ended;
};

Problems check_all(const Parts& parts) {
  TRY_ASSIGN(std::vector<std::string> problems,
             counter::check_counters({parts.writer, parts.readers, parts.snapshots}));
  const auto add = [&problems](const std::vector<std::string>& more) {
    problems.insert(problems.end(), more.begin(), more.end());
  };
  TRY_ASSIGN(const std::vector<std::string> of_queue, queue::check_queue(parts.readers));
  add(of_queue);
  TRY_ASSIGN(const std::vector<std::string> of_tree, tree::check_tree(parts.readers));
  add(of_tree);
  TRY_ASSIGN(const std::vector<std::string> of_search, search::check_search(parts.readers));
  add(of_search);
  TRY_ASSIGN(const std::vector<std::string> of_research, research::check_research(parts.readers));
  add(of_research);
  if (parts.crawl != nullptr) {
    TRY_ASSIGN(const std::vector<std::string> of_crawls,
               crawl::check_crawl(parts.readers, parts.crawl->warcs()));
    add(of_crawls);
  }
  if (parts.filesets != nullptr) {
    TRY_ASSIGN(const std::vector<std::string> of_filesets,
               fileset::check_filesets(parts.readers, parts.filesets->folder()));
    add(of_filesets);
  }
  TRY_ASSIGN(const std::vector<std::string> of_blobs, blob::check_blobs(parts.blobs));
  add(of_blobs);
  return problems;
}

net::Task<> run_check(PartsPtr parts, std::shared_ptr<Checking> checking) {
  auto verify = [parts] { return check_all(*parts); };
  checking->problems = co_await offload(parts->loop, parts->pool, std::move(verify));
  checking->ended.notify_all();
}

std::string check_answer(const std::vector<std::string>& problems) {
  return json::serialize(json::object{{"clean", problems.empty()},
                                      {"problems", json::array(problems.begin(), problems.end())}});
}

// Line ends before the JSON, which means the same.
net::Task<Result<>> answer_slowly(net::Exchange& exchange, std::shared_ptr<Checking> checking) {
  net::ResponseHead head;
  head.headers.add("Content-Type", "application/json");
  CO_TRY(co_await exchange.start(std::move(head), std::nullopt));
  while (!checking->problems) {
    CO_TRY(co_await exchange.write("\n"));
    const net::WaitEnd end = co_await exchange.wait(checking->ended, net::in_ms(kCheckSignMs));
    const bool goes_on = end == net::WaitEnd::TimedOut || end == net::WaitEnd::Notified;
    if (!goes_on) co_return Error{Errc::Canceled, "nobody waits for the check any more"};
  }
  const Problems& found = *checking->problems;
  std::vector<std::string> problems;
  if (found.ok()) problems = *found;
  if (!found.ok())
    problems.push_back("the check could not be finished: " + found.error().message());
  CO_TRY(co_await exchange.write(check_answer(problems)));
  co_return co_await exchange.finish();
}

net::Task<Result<>> check(PartsPtr parts, Call call) {
  auto checking = std::make_shared<Checking>(parts->loop);
  parts->loop.spawn("api.check", run_check(parts, checking));
  const net::Instant soon = net::in_ms(kCheckSignMs);
  net::WaitEnd end = net::WaitEnd::Notified;
  while (!checking->problems && end == net::WaitEnd::Notified) {
    end = co_await call.exchange.wait(checking->ended, soon);
  }
  if (!checking->problems) co_return co_await answer_slowly(call.exchange, checking);
  if (!checking->problems->ok()) co_return checking->problems->error();
  const std::string answer = check_answer(**checking->problems);
  co_return co_await call.exchange.respond(net::json_response(200, answer));
}

}  // namespace

void add_check_routes(Router& router, PartsPtr parts) {
  router.add({net::Method::Get, "/api/v1/check", "Verifies every invariant; names what is wrong.",
              [parts](Call call) { return check(parts, std::move(call)); }});
}

}  // namespace quern::api
