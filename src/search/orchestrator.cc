#include "search/orchestrator.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include "base/log.h"
#include "queue/item.h"
#include "queue/locked_partitions.h"
#include "queue/message.h"
#include "search/segment.h"

namespace quern::search {
namespace {

namespace json = boost::json;
using store::Tx;

constexpr std::int64_t kMiB = 1024 * 1024;
constexpr std::int64_t kRetiredGraceUs = 30'000'000;
constexpr std::size_t kOrdersMax = queue::kMessagesListedMax;

std::string queue_of(const std::string& searcher) {
  return "SEARCHER-" + searcher;
}

// What a searcher was told and has not done yet.
struct Orders {
  std::optional<queue::PartitionId> queue;
  std::vector<queue::Item> items;
};

struct State {
  std::vector<PlacedSegment> segments;
  std::map<std::string, std::string> sites;  // by digest
  std::set<std::string> kept;
  std::vector<Registration> searchers;
  std::map<std::string, Orders> orders;  // by searcher
  std::int64_t now_us = 0;
};

Result<State> load_state(Tx& tx) {
  State state;
  TRY_ASSIGN(state.now_us, tx.now_us());
  TRY_ASSIGN(const std::vector<PackList> packs, load_packs(tx));
  for (const PackList& pack : packs) {
    for (const Segment& segment : pack.segments) {
      state.segments.push_back({segment.digest, (segment.bytes + kMiB - 1) / kMiB});
      state.sites[segment.digest] = pack.name;
    }
  }
  TRY_ASSIGN(const std::vector<std::string> kept,
             list_retired_since(tx, state.now_us - kRetiredGraceUs));
  state.kept.insert(kept.begin(), kept.end());
  TRY_ASSIGN(state.searchers, list_registrations(tx));
  for (const Registration& one : state.searchers) {
    Orders& orders = state.orders[one.id];
    TRY_ASSIGN(orders.queue,
               queue::find_partition(tx, queue::partition_of_queue(queue_of(one.id))));
    queue::ItemFilter filter;
    filter.status = queue::Status::Available;
    filter.limit = kOrdersMax;
    TRY_ASSIGN(orders.items, queue::list_messages(tx, queue_of(one.id), filter));
  }
  return state;
}

bool is_order(const queue::Item& item, std::string_view kind) {
  return item.name.starts_with(kind);
}

std::string digest_of(const queue::Item& item) {
  return item.name.substr(item.name.find(':') + 1);
}

bool is_done(const queue::Item& item, const Registration& searcher) {
  const auto& held = searcher.held;
  const bool holds = std::find(held.begin(), held.end(), digest_of(item)) != held.end();
  if (is_order(item, "load:")) return holds;
  return is_order(item, "drop:") && !holds;
}

PlacedSearcher placed(const Registration& one, const Orders& orders, std::int64_t now_us) {
  PlacedSearcher searcher{.id = one.id,
                          .free_mb = one.free_mb,
                          .held = {one.held.begin(), one.held.end()},
                          .loading = {},
                          .dropping = {},
                          .silent = one.is_silent(now_us)};
  for (const queue::Item& item : orders.items) {
    if (is_done(item, one)) continue;
    if (is_order(item, "load:")) searcher.loading.insert(digest_of(item));
    if (is_order(item, "drop:")) searcher.dropping.insert(digest_of(item));
  }
  return searcher;
}

Result<Registration> parse_registration(const queue::Work& work, const json::object& body) {
  Registration one;
  one.id = body.at("searcher_id").get_string();
  one.free_mb = body.at("free_space").get_int64();
  one.message = work.item.name;
  if (const json::value* address = body.if_contains("address")) one.address = address->get_string();
  if (const json::value* held = body.if_contains("held")) {
    for (const json::value& digest : held->get_array()) one.held.emplace_back(digest.get_string());
  }
  return one;
}

// The registration before this one need not be remembered: one message for each searcher is enough.
Result<> store_registration(Tx& tx, Registration one, queue::PartitionId orchestrators) {
  TRY_ASSIGN(one.seen_us, tx.now_us());
  TRY_ASSIGN(const std::optional<Registration> before, put_registration(tx, one));
  if (!before || before->message.empty() || before->message == one.message) return {};
  const Result<> gone = queue::delete_item(tx, orchestrators, before->message, std::nullopt);
  const bool fine =
      gone.ok() || gone.error().kind() == Errc::Missing || gone.error().kind() == Errc::Conflict;
  return fine ? Result<>() : gone;
}

}  // namespace

Orchestrator::Orchestrator(Parts parts, OrchestratorOptions options)
    : parts_(std::move(parts)), options_(options), remote_(parts_.loop.remote()) {}

void Orchestrator::process(queue::Work work, queue::Answered answered) {
  const Result<queue::Message> message = queue::parse_message("ORCH", work.item.data);
  if (!message.ok()) {
    queue::Outcome outcome = queue::Outcome::failed(message.error().message());
    outcome.no_retry = true;
    return answered(std::move(outcome));
  }
  queue::Outcome outcome = queue::Outcome::complete();
  if (message->type == "register") {
    boost::system::error_code failed;
    const json::value body = json::parse(message->body, failed);
    CHECK(!failed);
    const Result<Registration> one = parse_registration(work, body.as_object());
    outcome.effect = [one = *one, queue = work.partition](Tx& tx) {
      return store_registration(tx, one, queue);
    };
  }
  answered(std::move(outcome));
  parts_.changed();
  if (work.token != token_) {
    token_ = work.token;
    since_ = net::in_ms(0);
  }
  plan_round({work.partition, work.token});
}

// Soon, once, however many ask.
void Orchestrator::plan_round(Right right) {
  if (planned_) return;
  planned_ = true;
  auto wait = [](std::shared_ptr<Orchestrator> self, Right at) -> net::Task<> {
    const auto earliest = self->last_ + std::chrono::milliseconds(self->options_.round_ms);
    // What asked for the round is stored by then.
    co_await self->parts_.loop.sleep_until(std::max(earliest, net::in_ms(100)));
    at.may_forget = self->since_ < net::in_ms(-kForgottenUs / 1000);
    io::Pool::Job job = [weak = self->weak_from_this(), self = self.get(),
                         at](io::Pool::Call call) {
      if (call != io::Pool::Call::Run) return;
      const Result<> done = self->run_round(at);
      if (!done.ok()) log_info("search.round_failed", {{"error", done.error().message()}});
      self->remote_.post([weak] {
        const std::shared_ptr<Orchestrator> alive = weak.lock();
        if (!alive) return;
        alive->planned_ = false;
        alive->last_ = net::in_ms(0);
        alive->parts_.changed();
      });
    };
    if (!self->pool_.try_push(job)) self->planned_ = false;
  };
  parts_.loop.spawn("search.round", wait(shared_from_this(), right));
}

Result<> Orchestrator::run_round(Right right) {
  TRY_ASSIGN(const State state, parts_.readers.run([](Tx& tx) { return load_state(tx); }));
  std::vector<PlacedSearcher> searchers;
  std::vector<const Registration*> missed;
  for (const Registration& one : state.searchers) {
    // Nobody could register while there was no orchestrator.
    if (right.may_forget && state.now_us - one.seen_us > kForgottenUs) {
      missed.push_back(&one);
    } else {
      searchers.push_back(placed(one, state.orders.at(one.id), state.now_us));
    }
  }
  for (const Registration* one : missed) {
    // What nobody else holds yet may be asked of it until then: it may be alive, and only late.
    const PlacedSearcher silent = placed(*one, state.orders.at(one->id), state.now_us);
    if (!holds_alone(silent, searchers, state.segments)) TRY(forget(right, *one));
  }
  const std::vector<Move> moves = place(state.segments, searchers, options_.copies, state.kept);
  for (const Registration& one : state.searchers) {
    std::vector<Move> own;
    for (const Move& move : moves) {
      if (move.searcher == one.id) own.push_back(move);
    }
    const std::vector<queue::Item>& items = state.orders.at(one.id).items;
    const bool done = std::any_of(items.begin(), items.end(),
                                  [&](const queue::Item& item) { return is_done(item, one); });
    if (!own.empty() || done) TRY(order(right, one, own));
  }
  return {};
}

// Orders that were carried out go, new ones come.
Result<> Orchestrator::order(Right right, const Registration& searcher,
                             const std::vector<Move>& moves) {
  TRY_ASSIGN(const queue::PartitionId to,
             queue::ensure_queue(parts_.writer, parts_.readers, queue_of(searcher.id)));
  queue::PutItems put{to, {}};
  for (const Move& move : moves) {
    const bool load = move.kind == Move::Kind::Load;
    const json::object body{
        {"type", load ? "load" : "drop"}, {"segment", move.digest}, {"digest", move.digest}};
    TRY_ASSIGN(const queue::Message message,
               queue::parse_message(queue_of(searcher.id), json::serialize(body)));
    const std::string name = (load ? "load:" : "drop:") + move.digest;
    put.items.push_back(queue::message_item(message, name));
    log_info(
        "search.move",
        {{"searcher", searcher.id}, {"what", load ? "load" : "drop"}, {"digest", move.digest}});
  }
  const store::Fence fence{right.queue.value, right.token, to.value};
  const std::string queue = queue_of(searcher.id);
  auto write = [&](Tx& tx) -> Result<> {
    queue::ItemFilter filter;
    filter.limit = kOrdersMax;
    filter.status = queue::Status::Available;
    TRY_ASSIGN(const std::vector<queue::Item> items, queue::list_messages(tx, queue, filter));
    for (const queue::Item& item : items) {
      // What is ordered anew replaces what was ordered before.
      const bool again = std::any_of(
          put.items.begin(), put.items.end(),
          [&](const queue::NewItem& one) { return digest_of(item) == one.name.substr(5); });
      if (is_done(item, searcher) || again) {
        TRY(queue::delete_item(tx, to, item.name, std::nullopt));
      }
    }
    if (put.items.empty()) return {};
    TRY(std::move(queue::apply(tx, std::span<const queue::PutItems>(&put, 1))[0]));
    return {};
  };
  return parts_.writer.run(queue::lane_of(right.queue), store::Fenced{fence, write});
}

// It may come back; then it says what it holds.
Result<> Orchestrator::forget(Right right, const Registration& searcher) {
  log_info("search.searcher_gone", {{"searcher", searcher.id}});
  const auto partition = parts_.readers.run([&](Tx& tx) {
    return queue::find_partition(tx, queue::partition_of_queue(queue_of(searcher.id)));
  });
  TRY(partition);
  const store::Fence fence{right.queue.value, right.token, *partition ? (*partition)->value : 0};
  auto write = [&](Tx& tx) -> Result<> {
    TRY(remove_registration(tx, searcher.id));
    if (*partition) TRY(queue::delete_some(tx, **partition));
    return {};
  };
  return parts_.writer.run(queue::lane_of(right.queue), store::Fenced{fence, write});
}

}  // namespace quern::search
