// Service: research on one server. It runs the assigner, holds the polls of researchers and takes
// their reports.
//
// Guarantee: the assigner runs after each poll, report and change of what is curated (poke()), and
// on a timer; runs that are asked for while one is under way are one more run. A poll that waits
// hears at once of items that this server adds, and within look_ms of those of other servers.
//
// Threads: the loop's. Lifetime: stop() before its parts go.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/event.h"
#include "net/loop.h"
#include "research/result.h"
#include "store/readers.h"
#include "store/writer.h"

namespace quern::research {

struct ServiceParts {
  net::Loop& loop;
  store::Writer& writer;
  store::Readers& readers;
  std::function<void(std::string_view, boost::json::object)> publish;
  std::function<void()> unserved;  // an item waits, and nobody here asks; empty: nobody is told
};

struct ServiceOptions {
  Options leases;
  std::int64_t algorithm = 1;     // what researchers of this version find with
  std::int64_t tick_ms = 5000;    // the assigner's timer
  std::int64_t look_ms = 1000;    // for items of other servers, while somebody waits
  std::int64_t note_ms = 10'000;  // a poll that waits is noted so often
};

// How a poll waits: a handler gives its Exchange::wait, which sees that the peer has gone.
using WaitFor = std::function<net::Task<net::WaitEnd>(net::Event&, net::Instant)>;

struct WorkOrder {
  std::string researcher;
  std::int64_t wait_ms = 0;  // at most kPollMsMax
  WaitFor wait;              // empty: for the event alone
};

struct ReportAnswer {
  Reported reported;
  bool dead_letter = false;  // it could not be taken, for the last time; `reason` says why
  std::string reason;
};

class Service {
 public:
  Service(ServiceParts parts, ServiceOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // The timer and the first run.
  void start();
  // Polls end with nothing, soon. Returns when nothing of it runs any more.
  net::Task<> stop();

  // What is open may have changed, or who is there.
  void poke();
  // An item for a researcher; nullopt where none came in time, its peer has gone or the server
  // stops.
  net::Task<Result<std::optional<WorkItem>>> wait_for_work(WorkOrder order);
  // Of an item whose answer did not reach its researcher: its clips are free again.
  net::Task<Result<>> give_back(std::string lease_id);
  // One that this server has started is dead: what it had leased is free.
  void researcher_gone(std::string researcher);
  // Whether an item waits, as far as the assigner saw, and nobody here asks.
  bool is_unserved() const;
  // A body of /research/results. Invalid, Missing, TooLarge: it was noted as refused.
  net::Task<Result<ReportAnswer>> report(std::string body);

  const ServiceOptions& options() const;

 private:
  struct Core;
  static net::Task<> run_timer(std::shared_ptr<Core> core);
  static net::Task<> run_assign(std::shared_ptr<Core> core);
  static net::Task<> release(std::shared_ptr<Core> core, std::string researcher);
  static net::Task<> look(std::shared_ptr<Core> core);
  static net::Task<Result<ReportAnswer>> refuse_body(std::shared_ptr<Core> core,
                                                     std::shared_ptr<const std::string> body,
                                                     Error error);

  std::shared_ptr<Core> core_;
};

}  // namespace quern::research
