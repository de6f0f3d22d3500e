// /captures/{timestamp}/{url}: what was fetched, as it was; and lists of it.
//
// Guarantee: a stored page runs nothing and asks nobody: its policy forbids scripts, forms, frames
// and every request but inline styles, and its origin is none (sandbox). So it can harm neither the
// UI nor who looks at it.
#include <boost/json.hpp>

#include "api/await.h"
#include "api/job_json.h"
#include "api/request.h"
#include "api/service.h"
#include "crawl/export.h"
#include "crawl/replay.h"
#include "crawl/service.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using crawl::Capture;
using store::Tx;

constexpr std::string_view kPrefix = "/captures/";
constexpr char kPolicy[] =
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors "
    "'self'; form-action 'none'; base-uri 'none'";

std::string address_of(const crawl::NewCapture& capture) {
  return std::string(kPrefix) + web::timestamp14(capture.at_us) + "/" + capture.url;
}

json::object capture_json(const Capture& capture) {
  const crawl::NewCapture& at = capture.at;
  return {{"url", at.url},
          {"timestamp", web::timestamp14(at.at_us)},
          {"at_us", at.at_us},
          {"status", at.status},
          {"type", at.type},
          {"digest", at.digest},
          {"revisit", at.revisit},
          {"warc", at.warc},
          {"offset", at.warc_at},
          {"length", at.warc_bytes},
          {"address", address_of(at)}};
}

net::Task<Result<>> list(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const std::string url = parameters.text("url");
  const std::string collection = parameters.text("collection");
  const std::size_t limit = parameters.limit(crawl::kCapturesListed);
  CO_TRY(parameters.finish());
  auto load = [=](Tx& tx) { return crawl::list_captures(tx, collection, url, limit); };
  CO_TRY_ASSIGN(const std::vector<Capture> captures,
                co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  for (const Capture& capture : captures) items.push_back(capture_json(capture));
  co_return co_await call.exchange.respond(page_response(std::move(items), std::nullopt));
}

// The address as it stands in the request: it has slashes, and a query of its own.
struct Asked {
  std::string timestamp;
  std::string url;
};
Result<Asked> parse_address(std::string_view target) {
  target.remove_prefix(std::min(target.find(kPrefix) + kPrefix.size(), target.size()));
  const std::size_t slash = target.find('/');
  if (slash == std::string_view::npos) return Error{Errc::Missing, "no address was named"};
  Asked asked{std::string(target.substr(0, slash)), std::string(target.substr(slash + 1))};
  // Some programs take double slashes for one.
  for (const std::string_view scheme : {"http:/", "https:/"}) {
    if (asked.url.starts_with(scheme) && !asked.url.starts_with(std::string(scheme) + "/")) {
      asked.url.insert(scheme.size(), "/");
    }
  }
  return asked;
}

struct Found {
  Capture capture;
  std::optional<Capture> original;
};

Result<Found> find(Tx& tx, const std::string& collection, const Asked& asked, std::int64_t at_us) {
  TRY_ASSIGN(const std::optional<Capture> capture,
             crawl::nearest_capture(tx, collection, asked.url, at_us));
  if (!capture) return Error{Errc::Missing, "nothing was captured of " + asked.url};
  Found found{*capture, {}};
  if (capture->at.revisit) {
    TRY_ASSIGN(found.original, crawl::original_of(tx, *capture));
  }
  return found;
}

net::Response answer_of(const Capture& capture, crawl::Replay replay) {
  const std::string type(web::find_header(replay.headers, "Content-Type"));
  const std::string location(web::find_header(replay.headers, "Location"));
  net::Response answer = net::empty_response(replay.status == 0 ? 200 : replay.status);
  const bool moved = replay.status >= 300 && replay.status < 400 && !location.empty();
  const Result<web::Url> base = web::Url::parse(capture.at.url);
  if (moved && base.ok()) {
    const Result<web::Url> to = web::Url::parse(location, *base);
    if (to.ok() && to->is_web()) {
      answer.status = 302;
      answer.headers.set(
          "Location", std::string(kPrefix) + web::timestamp14(capture.at.at_us) + "/" + to->href());
    }
  }
  answer.headers.set("Content-Type", type.empty() ? "application/octet-stream" : type);
  answer.headers.set("Content-Security-Policy", kPolicy);
  answer.headers.set("Link", "<" + capture.at.url + ">; rel=\"original\"");
  answer.headers.set("X-Archive-Timestamp", web::timestamp14(capture.at.at_us));
  answer.body = std::move(replay.body);
  return answer;
}

// A revisit may refer to another address: its record says to which.
net::Task<Result<>> look_elsewhere(PartsPtr parts, Found& found) {
  auto name = [folder = parts->crawl->warcs(), at = found.capture.at] {
    return crawl::revisited_url(folder, at);
  };
  CO_TRY_ASSIGN(const std::string url, co_await offload(parts->loop, parts->pool, std::move(name)));
  if (url.empty() || !web::Url::parse(url).ok()) co_return Result<>();
  auto load = [url, capture = found.capture](Tx& tx) {
    return crawl::original_of(tx, capture, url);
  };
  CO_TRY_ASSIGN(found.original, co_await read(parts->loop, parts->readers, std::move(load)));
  co_return Result<>();
}

net::Task<Result<>> show(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const Asked asked, parse_address(call.exchange.request().target));
  CO_TRY_ASSIGN(const std::int64_t at_us, web::parse_timestamp14(asked.timestamp));
  const std::string collection = call.caller.collection.value_or("");
  auto load = [=](Tx& tx) { return find(tx, collection, asked, at_us); };
  CO_TRY_ASSIGN(Found found, co_await read(parts->loop, parts->readers, std::move(load)));
  if (found.capture.at.revisit && !found.original) {
    CO_TRY(co_await look_elsewhere(parts, found));
  }
  const crawl::NewCapture& at = found.original ? found.original->at : found.capture.at;
  auto replay = [folder = parts->crawl->warcs(), at] { return crawl::read_capture(folder, at); };
  CO_TRY_ASSIGN(crawl::Replay bytes, co_await offload(parts->loop, parts->pool, std::move(replay)));
  net::Response answer = answer_of(found.capture, std::move(bytes));
  co_return co_await call.exchange.respond(std::move(answer));
}

// The index of a collection, as other tools read it: a page of lines.
net::Task<Result<>> index(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  crawl::IndexPlace after;
  after.surt = parameters.text("surt");
  after.at_us = parameters.number("at_us").value_or(0);
  after.id.value = parameters.number("after").value_or(0);
  const std::size_t limit = parameters.limit(crawl::kCapturesListed);
  CO_TRY(parameters.finish());
  auto load = [=, name = call.values[0]](Tx& tx) -> Result<std::vector<Capture>> {
    TRY_ASSIGN(const tree::Collection collection, tree::load_ledger(tx, name));
    return crawl::list_index(tx, collection.id, after, limit);
  };
  CO_TRY_ASSIGN(const std::vector<Capture> captures,
                co_await read(parts->loop, parts->readers, std::move(load)));
  std::string text;
  for (const Capture& capture : captures) text += crawl::cdxj_of(capture.at).text() + "\n";
  net::Response answer = net::text_response(200, std::move(text));
  if (captures.size() == limit) {
    const Capture& last = captures.back();
    std::string next = "/api/v1/collections";
    net::append_segment(next, call.values[0]);
    next += "/cdxj";
    net::append_query(next, "surt", last.at.surt);
    net::append_query(next, "at_us", std::to_string(last.at.at_us));
    net::append_query(next, "after", std::to_string(last.id.value));
    answer.headers.set("Link", "<" + next + ">; rel=\"next\"");
  }
  co_return co_await call.exchange.respond(std::move(answer));
}

// -- import --

// A path is a path of this machine: only its own programs may name one.
net::Task<Result<>> import_file(PartsPtr parts, Call call) {
  if (call.exchange.peer() != net::PeerKind::Unix) {
    co_return Error{Errc::Denied, "archives are read only for programs of this machine"};
  }
  CO_TRY_ASSIGN(const std::string text, co_await call.exchange.read_all(kJsonBodyBytesMax));
  CO_TRY_ASSIGN(const json::object body, parse_object(text));
  const json::value* path = body.if_contains("path");
  if (path == nullptr || !path->is_string()) {
    co_return Error{Errc::Invalid, "'path' must name a WARC, ARC or WACZ file"};
  }
  const std::filesystem::path file(std::string(path->get_string()));
  CO_TRY_ASSIGN(const tree::Job job, co_await parts->crawl->import(call.values[0], file));
  const std::string answer = json::serialize(to_json(*parts, job));
  co_return co_await call.exchange.respond(net::json_response(201, answer));
}

// -- export --

class BodyContent final : public net::ContentSource {
 public:
  BodyContent(const Parts& parts, web::Body body) : parts_(parts), body_(std::move(body)) {}

  net::Task<Result<std::size_t>> read_at(std::uint64_t offset, std::span<char> output) override {
    auto piece = [this, offset, output] {
      return body_.read_at(static_cast<std::int64_t>(offset), output);
    };
    co_return co_await offload(parts_.loop, parts_.pool, std::move(piece));
  }

 private:
  const Parts& parts_;
  web::Body body_;
};

net::Task<Result<>> export_collection(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const std::string format = parameters.text("format");
  CO_TRY(parameters.finish());
  if (format != "wacz") co_return Error{Errc::Invalid, "'format' must be wacz"};
  crawl::ExportOrder order{call.values[0], parts->crawl->warcs(), parts->crawl->spool()};
  auto make = [parts, order] { return crawl::export_wacz(parts->readers, order); };
  CO_TRY_ASSIGN(web::Body body, co_await offload(parts->loop, parts->pool, std::move(make)));
  net::Content content;
  content.size = static_cast<std::uint64_t>(body.size());
  content.content_type = "application/wacz";
  content.headers.set("Content-Disposition", "attachment; filename=\"export.wacz\"");
  BodyContent source(*parts, std::move(body));
  co_return co_await call.exchange.respond_content(source, std::move(content));
}

}  // namespace

void add_capture_routes(Router& router, PartsPtr parts) {
  using net::Method;
  const auto bound = [&parts](auto handler) {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  router.add({Method::Get, "/api/v1/captures",
              "Captures of an address, the newest first (url, collection, limit).", bound(list),
              Needs::ByMethod, About::Query});
  router.add({Method::Get, "/api/v1/collections/{collection}/cdxj",
              "The index of a collection's captures, CDXJ (surt, at_us, after, limit).",
              bound(index)});
  router.add({Method::Post, "/api/v1/collections/{collection}/archives",
              "Reads a WARC, ARC or WACZ file of this machine ({\"path\":…}), asking nobody.",
              bound(import_file)});
  router.add({Method::Get, "/api/v1/collections/{collection}/export",
              "All captures of a collection in one file (format=wacz).", bound(export_collection)});
  router.add({Method::Get, "/captures/{timestamp}/{url...}",
              "A capture as it was, nearest to that time; it can run nothing.", bound(show),
              Needs::ByMethod, About::Handler});
}

}  // namespace quern::api
