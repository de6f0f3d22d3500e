// /research: what researchers ask and tell, as docs/worker-protocol.md says.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <charconv>

#include "api/adding.h"
#include "api/await.h"
#include "api/request.h"
#include "api/research_json.h"
#include "api/service.h"
#include "base/base64.h"
#include "model/finder_version.h"
#include "research/fingerprint.h"
#include "research/service.h"
#include "step/task_json.h"
#include "step/worker_protocol.h"
#include "tree/file.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using research::CuratedId;
using store::Tx;

constexpr char kWaveformHeader[] = "Quern-Waveform";

Result<CuratedId> parse_curated(const std::string& text) {
  CuratedId id = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, id);
  if (read.ec != std::errc() || read.ptr != end || id <= 0) {
    return Error{Errc::Invalid, fmt::format("'{}' is no number of an episode or a clip", text)};
  }
  return id;
}

// -- work --

net::Task<Result<>> hand_out(PartsPtr parts, Call call, research::WorkItem item) {
  ItemJson about;
  about.base = step::base_url(call.exchange.request().headers.find("Host"));
  about.lease_ms = parts->research->options().leases.lease_ms;
  about.algorithm = model::kFinderAlgorithm;
  about.fingerprint_version = model::kFinderFingerprint;
  const CuratedId episode = item.episode.id;
  const std::int64_t version = about.fingerprint_version;
  auto find = [episode, version](Tx& tx) {
    return research::find_fingerprint(tx, episode, version);
  };
  const auto print = co_await read(parts->loop, parts->readers, std::move(find));
  about.indexed = print.ok() && print->has_value();
  const std::string body = json::serialize(item_json(item, about));
  const Result<> sent = co_await call.exchange.respond(net::json_response(200, body));
  // It went while it waited: nobody has this.
  if (!sent.ok()) CO_TRY(co_await parts->research->give_back(item.lease.id));
  co_return sent;
}

net::Task<Result<>> work(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(const std::string body, co_await call.exchange.read_all(kJsonBodyBytesMax));
  CO_TRY_ASSIGN(const WorkQuestion question, parse_work_question(body));
  net::Exchange* exchange = &call.exchange;
  research::WorkOrder order;
  order.researcher = question.researcher;
  if (order.researcher.empty()) order.researcher = exchange->peer_address();
  if (order.researcher.empty()) order.researcher = "unknown";
  order.wait_ms = question.wait_ms;
  order.wait = [exchange](net::Event& event, net::Instant until) {
    return exchange->wait(event, until);
  };
  CO_TRY_ASSIGN(std::optional<research::WorkItem> item,
                co_await parts->research->wait_for_work(std::move(order)));
  if (!item) co_return co_await call.exchange.respond(net::empty_response(204));
  co_return co_await hand_out(parts, call, *std::move(item));
}

// -- results --

net::Task<Result<>> results(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  call.exchange.limit_body(research::kResultBytesMax);
  CO_TRY_ASSIGN(std::string body, co_await call.exchange.read_all(research::kResultBytesMax));
  CO_TRY_ASSIGN(const research::ReportAnswer answer,
                co_await parts->research->report(std::move(body)));
  if (answer.dead_letter) {
    const json::object dead{{"dead_letter", true}, {"reason", answer.reason}};
    co_return co_await call.exchange.respond(net::json_response(200, json::serialize(dead)));
  }
  co_return co_await call.exchange.respond(
      net::json_response(200, json::serialize(to_json(answer.reported))));
}

// -- media --

struct Media {
  research::Curated curated;
  blob::BlobId blob;
};

Result<Media> load_media(Tx& tx, CuratedId id) {
  Media media;
  TRY_ASSIGN(media.curated, research::load_curated(tx, id));
  const Error absent{Errc::Missing, "its bytes are not here yet"};
  if (!media.curated.file) return absent;
  TRY_ASSIGN(const tree::File file, tree::load_file(tx, *media.curated.file));
  if (!file.blob) return absent;
  media.blob = *file.blob;
  return media;
}

net::Task<Result<>> send_media(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(const CuratedId id, parse_curated(call.values[0]));
  auto load = [id](Tx& tx) { return load_media(tx, id); };
  CO_TRY_ASSIGN(const Media media, co_await read(parts->loop, parts->readers, std::move(load)));
  CO_TRY(expect_within(call.caller, media.curated.collection));
  step::BlobHead head;
  head.content_type = media_type_to_serve(media.curated.content_type);
  co_return co_await step::send_blob(parts->pipeline.parts(), call.exchange, media.blob,
                                     std::move(head));
}

// -- fingerprints --

net::Task<Result<>> send_fingerprint(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const std::optional<std::int64_t> version = parameters.number("version", 1);
  CO_TRY(parameters.finish());
  CO_TRY_ASSIGN(const CuratedId id, parse_curated(call.values[0]));
  auto load = [id, version](Tx& tx) { return research::find_fingerprint(tx, id, version); };
  CO_TRY_ASSIGN(const std::optional<research::StoredFingerprint> found,
                co_await read(parts->loop, parts->readers, std::move(load)));
  if (!found) co_return Error{Errc::Missing, "nobody has made this fingerprint yet"};
  step::BlobHead head;
  co_return co_await step::send_blob(parts->pipeline.parts(), call.exchange, found->blob,
                                     std::move(head));
}

Result<research::Fingerprint> parse_fingerprint(const Call& call) {
  Parameters parameters(call.target);
  research::Fingerprint print;
  print.version = parameters.number("version", 1).value_or(0);
  print.sha256 = parameters.text("sha256");
  TRY(parameters.finish());
  TRY_ASSIGN(print.of, parse_curated(call.values[0]));
  if (print.version == 0 || print.sha256.empty()) {
    return Error{Errc::Invalid, "say ?version=N&sha256=HEX: of the fingerprint, and of the media"};
  }
  const std::string* waveform = call.exchange.request().headers.find(kWaveformHeader);
  if (waveform == nullptr) return print;
  std::optional<std::string> points = base64_decoded(*waveform);
  if (!points || points->size() > research::kWaveformBytesMax) {
    return Error{Errc::Invalid, fmt::format("{} must be base64 of at most {} bytes",
                                            kWaveformHeader, research::kWaveformBytesMax)};
  }
  print.waveform = *std::move(points);
  return print;
}

net::Task<Result<>> take_fingerprint(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const research::Fingerprint print, parse_fingerprint(call));
  call.exchange.limit_body(research::kFingerprintBytesMax);
  CO_TRY_ASSIGN(const blob::Put put, co_await spool_body(parts, call.exchange));
  auto store =
      store::Alone{[print, put](Tx& tx) { return research::store_fingerprint(tx, print, put); }};
  const auto unused = co_await write(parts->loop, parts->writer.lane({}), std::move(store));
  const bool known = unused.ok() || unused.error().kind() != Errc::Unavailable;
  if (!put.place.empty() && known && (!unused.ok() || *unused)) parts->blobs.discard(put.place);
  if (!unused.ok()) co_return unused.error();
  co_return co_await call.exchange.respond(net::empty_response(204));
}

}  // namespace

void add_research_routes(Router& router, PartsPtr parts) {
  using net::Method;
  const auto bound = [&parts](net::Task<Result<>> (*handler)(PartsPtr, Call)) -> RouteHandler {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  const auto worker = [&](Method method, const char* pattern, const char* summary,
                          net::Task<Result<>> (*handler)(PartsPtr, Call)) {
    router.add({method, pattern, summary, bound(handler), Needs::Worker, About::Nothing});
  };
  worker(Method::Post, "/research/work",
         "A researcher asks for an episode and clips (long poll): a lease, or 204.", work);
  worker(Method::Post, "/research/results",
         "What became of one clip; extends the lease, and ends it where it is final.", results);
  worker(Method::Get, "/research/fingerprints/{id}", "The fingerprint of an episode or a clip.",
         send_fingerprint);
  worker(Method::Put, "/research/fingerprints/{id}",
         "Keeps a fingerprint (version, sha256 of the media; Quern-Waveform: base64).",
         take_fingerprint);
  const char* media = "/research/media/{id}";
  router.add({Method::Get, media, "The bytes of an episode or a clip, with ranges.",
              bound(send_media), Needs::ReaderOrWorker, About::Handler});
}

}  // namespace quern::api
