#include "research/service.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "queue/await.h"
#include "research/release.h"

namespace quern::research {
namespace {

using store::Tx;

// Longer than any write takes; a stop that waits longer leaves the rest to the loop's end.
constexpr std::int64_t kStopMs = 10'000;

// What one run of the assigner did and saw.
struct Ran {
  Assigned assigned;
  bool waits = false;
};

}  // namespace

struct Service::Core {
  Core(ServiceParts its_parts, ServiceOptions its_options)
      : parts(std::move(its_parts)),
        options(its_options),
        offered(parts.loop),
        stopped(parts.loop),
        ended(parts.loop) {}

  // Counts the coroutines that are under way.
  class Running {
   public:
    explicit Running(std::shared_ptr<Core> core) : core_(std::move(core)) { ++core_->running; }
    ~Running() {
      if (--core_->running == 0) core_->ended.notify_all();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    std::shared_ptr<Core> core_;
  };

  // So many items more wait: as many researchers hear of it.
  void offer(std::int64_t items) {
    if (items > 0) ++offers;
    for (std::int64_t i = 0; i < items && offered.notify_one(); ++i) {
    }
  }
  store::Lane& lane() const { return parts.writer.lane({}); }

  ServiceParts parts;
  ServiceOptions options;
  net::Event offered;        // an item waits
  net::Event stopped;        // it stops
  net::Event ended;          // nothing runs
  std::int64_t offers = 0;   // how often items were offered here
  std::int64_t running = 0;  // coroutines
  bool assigning = false;    // a run is under way
  bool waits = false;        // an item does, as the last run saw
  bool again = false;        // another was asked for meanwhile
  bool stopping = false;
};

Service::Service(ServiceParts parts, ServiceOptions options)
    : core_(std::make_shared<Core>(std::move(parts), options)) {}

Service::~Service() {
  core_->stopping = true;
}

const ServiceOptions& Service::options() const {
  return core_->options;
}

void Service::start() {
  core_->parts.loop.spawn("research.timer", run_timer(core_));
}

net::Task<> Service::stop() {
  const std::shared_ptr<Core> core = core_;
  core->stopping = true;
  core->stopped.notify_all();
  core->offered.notify_all();
  const net::Instant deadline = net::in_ms(kStopMs);
  while (core->running > 0) {
    const net::WaitEnd end = co_await core->ended.wait(deadline);
    if (end != net::WaitEnd::Notified) break;
  }
}

void Service::poke() {
  if (core_->stopping) return;
  core_->again = true;
  if (core_->assigning) return;
  core_->assigning = true;
  core_->parts.loop.spawn("research.assign", run_assign(core_));
}

net::Task<> Service::run_assign(std::shared_ptr<Core> core) {
  const Core::Running running(core);
  while (core->again && !core->stopping) {
    core->again = false;
    auto run = store::Alone{[options = core->options.leases](Tx& tx) -> Result<Ran> {
      Ran ran;
      TRY_ASSIGN(ran.assigned, research::assign(tx, options));
      TRY_ASSIGN(ran.waits, has_waiting(tx));
      return ran;
    }};
    const Result<Ran> assigned = co_await queue::write(core->parts.loop, core->lane(), run);
    if (!assigned.ok()) {
      // The timer comes again.
      log_warn("research.assign_failed", {{"error", assigned.error().message()}});
      break;
    }
    if (assigned->assigned.more) core->again = true;
    core->offer(assigned->assigned.added);
    core->waits = assigned->waits;
    const bool unserved = core->waits && core->offered.waiters() == 0;
    if (unserved && core->parts.unserved) core->parts.unserved();
  }
  core->assigning = false;
}

net::Task<> Service::look(std::shared_ptr<Core> core) {
  if (core->offered.waiters() == 0) co_return;
  auto find = [](Tx& tx) { return has_waiting(tx); };
  const Result<bool> waits =
      co_await queue::read(core->parts.loop, core->parts.readers, std::move(find));
  if (waits.ok() && *waits) core->offer(1);
}

net::Task<> Service::run_timer(std::shared_ptr<Core> core) {
  const Core::Running running(core);
  auto raise = store::Alone{[version = core->options.algorithm](Tx& tx) -> Result<bool> {
    TRY(set_algorithm(tx, version));
    return true;
  }};
  const Result<bool> raised = co_await queue::write(core->parts.loop, core->lane(), raise);
  if (!raised.ok()) {
    log_warn("research.algorithm_not_raised", {{"error", raised.error().message()}});
  }
  net::Instant next_run = net::in_ms(0);
  while (!core->stopping) {
    if (net::in_ms(0) >= next_run) {
      core->again = true;
      if (!core->assigning) {
        core->assigning = true;
        core->parts.loop.spawn("research.assign", run_assign(core));
      }
      next_run = net::in_ms(core->options.tick_ms);
    }
    co_await look(core);
    if (core->stopping) break;
    const net::Instant deadline = std::min(next_run, net::in_ms(core->options.look_ms));
    co_await core->stopped.wait(deadline);
  }
}

net::Task<Result<std::optional<WorkItem>>> Service::wait_for_work(WorkOrder order) {
  const std::shared_ptr<Core> core = core_;
  const Core::Running running(core);
  const net::Instant deadline = net::in_ms(std::clamp<std::int64_t>(order.wait_ms, 0, kPollMsMax));
  while (!core->stopping) {
    const std::int64_t seen = core->offers;
    auto take = [options = core->options.leases, researcher = order.researcher](Tx& tx) {
      return take_work(tx, researcher, options);
    };
    CO_TRY_ASSIGN(std::optional<WorkItem> item,
                  co_await queue::write(core->parts.loop, core->lane(), std::move(take)));
    poke();  // it counts now; and one item less may wait
    if (item) co_return item;
    if (core->stopping || net::in_ms(0) >= deadline) break;
    if (seen != core->offers) continue;  // one came meanwhile
    const net::Instant until = std::min(deadline, net::in_ms(core->options.note_ms));
    net::WaitEnd end = net::WaitEnd::Notified;
    if (order.wait) {
      end = co_await order.wait(core->offered, until);
    } else {
      end = co_await core->offered.wait(until);
    }
    if (end != net::WaitEnd::Notified && end != net::WaitEnd::TimedOut) break;
    if (end == net::WaitEnd::TimedOut && net::in_ms(0) >= deadline) break;
  }
  co_return std::optional<WorkItem>();
}

bool Service::is_unserved() const {
  return core_->waits && core_->offered.waiters() == 0;
}

void Service::researcher_gone(std::string researcher) {
  if (core_->stopping) return;
  core_->parts.loop.spawn("research.release", release(core_, std::move(researcher)));
}

net::Task<> Service::release(std::shared_ptr<Core> core, std::string researcher) {
  const Core::Running running(core);
  auto free = [researcher](Tx& tx) { return release_leases_of(tx, researcher); };
  const Result<std::int64_t> freed =
      co_await queue::write(core->parts.loop, core->lane(), std::move(free));
  // They end by themselves, later.
  if (!freed.ok()) log_warn("research.release_failed", {{"error", freed.error().message()}});
  if (!freed.ok() || *freed == 0 || core->stopping) co_return;
  core->again = true;
  if (std::exchange(core->assigning, true)) co_return;
  core->parts.loop.spawn("research.assign", run_assign(core));
}

net::Task<Result<>> Service::give_back(std::string lease_id) {
  const std::shared_ptr<Core> core = core_;
  const Core::Running running(core);
  auto drop = [lease_id](Tx& tx) -> Result<bool> {
    TRY(drop_lease(tx, lease_id));
    return true;
  };
  CO_TRY(co_await queue::write(core->parts.loop, core->lane(), std::move(drop)));
  poke();
  co_return Result<>();
}

net::Task<Result<ReportAnswer>> Service::refuse_body(std::shared_ptr<Core> core,
                                                     std::shared_ptr<const std::string> body,
                                                     Error error) {
  auto note = [body, reason = error.message()](Tx& tx) { return refuse(tx, *body, reason); };
  CO_TRY_ASSIGN(const bool is_dead,
                co_await queue::write(core->parts.loop, core->lane(), std::move(note)));
  if (!is_dead) co_return error;
  log_warn("research.dead_letter", {{"reason", error.message()}});
  ReportAnswer answer;
  answer.dead_letter = true;
  answer.reason = error.message();
  co_return answer;
}

net::Task<Result<ReportAnswer>> Service::report(std::string body) {
  const std::shared_ptr<Core> core = core_;
  const Core::Running running(core);
  const auto shared = std::make_shared<const std::string>(std::move(body));
  Result<Report> parsed = parse_report(*shared);
  if (!parsed.ok()) {
    const Error error = parsed.error();
    co_return co_await refuse_body(core, shared, error);
  }
  const auto reported_of = std::make_shared<const Report>(*std::move(parsed));
  auto store = [reported_of, options = core->options.leases](Tx& tx) {
    return research::report(tx, *reported_of, options);
  };
  const Result<Reported> reported =
      co_await queue::write(core->parts.loop, core->lane(), std::move(store));
  if (!reported.ok() && reported.error().kind() == Errc::Missing) {
    const Error error = reported.error();
    co_return co_await refuse_body(core, shared, error);
  }
  if (!reported.ok()) co_return reported.error();
  poke();
  if (reported->stored) {
    boost::json::object event;
    event["episode"] = reported_of->episode;
    event["clip"] = reported_of->clip.value_or(0);
    event["found"] = reported_of->found.size();
    core->parts.publish("research.finding", std::move(event));
  }
  ReportAnswer answer;
  answer.reported = *reported;
  co_return answer;
}

}  // namespace quern::research
