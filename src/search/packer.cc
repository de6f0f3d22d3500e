#include "search/packer.h"

#include <boost/json.hpp>

#include "base/log.h"
#include "queue/message.h"
#include "tree/remove.h"

namespace quern::search {
namespace {

namespace json = boost::json;

constexpr int kConflictsMax = 10;
constexpr int kStepsMax = 100'000;  // of one message: as many as there are changes
constexpr int kMergesMax = 100;
constexpr int kSweepsMax = 1000;

queue::Outcome refused(std::string why) {
  queue::Outcome outcome = queue::Outcome::failed(std::move(why));
  outcome.no_retry = true;
  return outcome;
}

}  // namespace

Packer::Packer(net::Loop& loop, Packing::Parts parts, PackingOptions options, Events events)
    : loop_(loop),
      remote_(loop.remote()),
      parts_(parts),
      packing_(parts, options),
      events_(std::move(events)) {}

void Packer::process(queue::Work work, queue::Answered answered) {
  const Result<queue::Message> message = queue::parse_message("PACK", work.item.data);
  if (!message.ok()) return answered(refused(message.error().message()));
  boost::system::error_code failed;
  const json::value body = json::parse(message->body, failed);
  CHECK(!failed);
  auto order = std::make_shared<Order>();
  order->collection = body.at("site").as_string();
  order->full = message->type == "pack_full";
  order->right = {work.partition, work.token, {}};
  order->answered = std::move(answered);
  auto& line = waiting_[order->collection];
  line.push_back(order);
  if (line.size() == 1) start_next(order->collection);
}

void Packer::stop_soon() {
  packing_.stop();
}

void Packer::stop() {
  stop_soon();
  packers_.stop();
  mergers_.stop();
}

void Packer::start_next(const std::string& collection) {
  const auto line = waiting_.find(collection);
  if (line == waiting_.end()) return;
  if (line->second.empty()) {
    waiting_.erase(line);
    return;
  }
  const std::shared_ptr<Order> order = line->second.front();
  // Weak: the last reference must not go on a thread that we would wait for.
  io::Pool::Job job = [weak = weak_from_this(), this, order](io::Pool::Call call) {
    if (call == io::Pool::Call::Run) return run(order);
    order->answered({.kind = queue::Outcome::Kind::Canceled});
  };
  if (!packers_.try_push(job)) ended(order, Error{Errc::Busy, "too many packs wait"});
}

void Packer::run(const std::shared_ptr<Order>& order) {
  Result<PackReport> report = pack(*order);
  remote_.post([weak = weak_from_this(), order, report = std::move(report)] {
    if (const std::shared_ptr<Packer> self = weak.lock()) self->ended(order, report);
  });
}

Result<PackReport> Packer::pack(Order& order) {
  TRY_ASSIGN(order.right.orchestrator, queue::ensure_queue(parts_.writer, parts_.readers, "ORCH"));
  PackReport all;
  int conflicts = 0;
  bool full = order.full;
  for (int step = 0; step < kStepsMax; ++step) {
    Result<PackReport> report = full ? packing_.full(order.collection, order.right)
                                     : packing_.incremental(order.collection, order.right);
    if (!report.ok()) {
      // A merge was faster, or a mask is newer than its row.
      const Errc kind = report.error().kind();
      const bool again = kind == Errc::Conflict && ++conflicts < kConflictsMax;
      if (!again) return report;
      continue;
    }
    all.published = all.published || report->published;
    all.version = std::max(all.version, report->version);
    all.documents += report->documents;
    all.masked += report->masked;
    if (report->published) tell(order.collection, *report);
    if (!report->more) return all;
    full = false;
  }
  return Error{Errc::Busy, "documents come faster than they are packed"};
}

void Packer::tell(const std::string& collection, const PackReport& report) {
  log_debug("search.published", {{"collection", collection},
                                 {"version", report.version},
                                 {"documents", report.documents},
                                 {"masked", report.masked}});
  remote_.post([weak = weak_from_this(), collection, report] {
    const std::shared_ptr<Packer> self = weak.lock();
    if (self && self->events_.published) self->events_.published(collection, report);
  });
}

void Packer::ended(const std::shared_ptr<Order>& order, const Result<PackReport>& report) {
  queue::Outcome outcome = queue::Outcome::complete();
  if (!report.ok()) {
    const Errc kind = report.error().kind();
    const bool lost = kind == Errc::Stale || kind == Errc::Canceled;
    log_info("search.pack_failed",
             {{"collection", order->collection}, {"error", report.error().message()}});
    outcome = queue::Outcome::failed(report.error().message());
    if (lost) outcome = {.kind = queue::Outcome::Kind::Canceled};
  }
  order->answered(std::move(outcome));
  if (report.ok() && report->published) merge_later(order->collection, order->right);
  auto& line = waiting_[order->collection];
  line.pop_front();
  start_next(order->collection);
}

void Packer::merge_later(const std::string& collection, const PackRight& right) {
  if (!merging_.insert(collection).second) return;
  io::Pool::Job job = [weak = weak_from_this(), this, collection, right](io::Pool::Call call) {
    if (call == io::Pool::Call::Run) merge(collection, right);
    remote_.post([weak, collection] {
      if (const std::shared_ptr<Packer> self = weak.lock()) self->merging_.erase(collection);
    });
  };
  if (!mergers_.try_push(job)) merging_.erase(collection);
}

void Packer::merge(const std::string& collection, const PackRight& right) {
  for (int merges = 0; merges < kMergesMax; ++merges) {
    const Result<PackReport> report = packing_.merge(collection, right);
    if (!report.ok()) {
      // The next publication tries again.
      log_debug("search.merge_later",
                {{"collection", collection}, {"error", report.error().message()}});
      return;
    }
    if (!report->published) break;
    tell(collection, *report);
  }
  tidy_up();
}

// What nobody needs any more: rows that were retired long ago, then their bytes, here and there.
void Packer::tidy_up() {
  const Result<std::int64_t> removed = parts_.writer.run(
      store::LaneKey{}, [](store::Tx& tx) { return remove_retired(tx, kRetiredKeptUs); });
  const Result<std::vector<PackList>> packs =
      parts_.readers.run([](store::Tx& tx) { return load_packs(tx); });
  if (packs.ok()) {
    std::vector<std::string> live;
    for (const PackList& pack : *packs) {
      for (const Segment& segment : pack.segments) live.push_back(segment.digest);
    }
    const Result<> kept = parts_.source.folder().keep_only(live);
    if (!kept.ok()) log_info("search.tidy_later", {{"because", kept.error().message()}});
  }
  if (!removed.ok() || *removed == 0) return;
  for (int step = 0; step < kSweepsMax; ++step) {
    const Result<blob::Swept> swept = blob::sweep(parts_.blobs, tree::kDeleteUnreferenced);
    if (!swept.ok() || !swept->more) return;
  }
}

}  // namespace quern::search
