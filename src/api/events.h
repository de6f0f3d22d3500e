// The event stream: what happens, told to whoever listens (GET /api/v1/events, server-sent events).
//
// Guarantee: whoever publishes never waits. A listener that reads too slowly is told so ("lagged")
// and let go; it asks the lists for what it missed. Nothing is kept for those who come later:
// events say that something changed, the resources say what is so.
//
// Threads: the loop's. Lifetime: the bus outlives the server that serves it.
#pragma once

#include <boost/json/object.hpp>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "api/progress.h"
#include "api/throttle.h"
#include "net/event.h"
#include "net/exchange.h"
#include "net/loop.h"
#include "step/worker_book.h"
#include "store/readers.h"
#include "tree/ingest.h"
#include "tree/job.h"

namespace quern::api {

inline constexpr std::size_t kEventsPerListenerMax = 1024;
inline constexpr std::size_t kListenersMax = 256;
inline constexpr std::int64_t kEventsHeartbeatMs = 15'000;

class EventBus {
 public:
  explicit EventBus(net::Loop& loop) : loop_(loop) {}
  ~EventBus();
  EventBus(const EventBus&) = delete;
  EventBus& operator=(const EventBus&) = delete;

  // `data` goes to those who listen to its "collection", and to those who listen to all. Without
  // one it is nobody's business but theirs.
  void publish(std::string_view type, const boost::json::object& data);
  bool has_listeners() const { return !listeners_->empty(); }

  // Answers with the stream until the client goes or the server stops. An empty collection: all.
  net::Task<Result<>> serve(net::Exchange& exchange, std::string collection);

 private:
  struct Listener;
  using Text = std::shared_ptr<const std::string>;

  using Listeners = std::list<std::shared_ptr<Listener>>;

  net::Loop& loop_;
  // Shared with the streams, some of which may end after us.
  std::shared_ptr<Listeners> listeners_ = std::make_shared<Listeners>();
};

// What the pipeline tells, as events: job.progress at most five times a second for each job,
// job.finished, file.ingested, document.created, error.created; worker.changed, as often;
// and of the work engine partition.changed, too.
class PipelineFeed {
 public:
  struct Sources {
    net::Loop& loop;
    store::Readers& readers;
    // Of a job's weight, what tasks under way have done.
    std::function<double(tree::JobId)> in_flight;
  };
  PipelineFeed(Sources sources, EventBus& bus);
  ~PipelineFeed();
  PipelineFeed(const PipelineFeed&) = delete;
  PipelineFeed& operator=(const PipelineFeed&) = delete;

  // For PipelineEvents.
  void changed(tree::JobId job);
  void ingested(tree::JobId job, const std::vector<tree::IngestedFile>& files);
  void worker_changed(const step::WorkerKey& worker, step::WorkerState state);
  // For EngineOptions.
  void partition_changed(const std::string& partition);

 private:
  struct Core;
  std::shared_ptr<Core> core_;
  EventBus& bus_;
  Throttle workers_;
  Throttle partitions_;
};

}  // namespace quern::api
