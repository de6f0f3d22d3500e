// The writer: the only way to change the store. It runs many operations in one transaction, commits
// once, then answers them all: group commit makes Quern fast and durable at the same time.
//
// Operations go to lanes by key (a partition): those of one key keep their order of arrival within
// a kind, and never run at the same time. SQLite has one lane. Each lane's queue is bounded; its
// room is the demand that the edge passes on: where there is none, sockets are not read.
//
// Threads: all functions from any thread, except that run() must not be called from a callback.
#pragma once

#include <future>
#include <memory>
#include <vector>

#include "store/database.h"
#include "store/lane.h"
#include "store/operation.h"

namespace quern::store {

// Which lane: by partition, or 0 for what belongs to none.
struct LaneKey {
  std::uint64_t value = 0;
};

class Writer {
 public:
  static Result<std::unique_ptr<Writer>> open(Database& database, const WriterOptions& options);
  ~Writer() { stop(); }

  // The lane that serves a key: try_push() an operation (make_operation), or wait for room.
  Lane& lane(LaneKey key) { return *lanes_[key.value % lanes_by_key_]; }
  // For what must not wait behind work, such as renewals: on PostgreSQL a lane of its own.
  Lane& control() { return *lanes_.back(); }
  // Waits for room and for the commit. For threads that may block: never the loop.
  template <class Op>
  Result<Answer<Op>> run(LaneKey key, Op op) {
    return run(lane(key), std::move(op));
  }
  template <class Op>
  Result<Answer<Op>> run(Lane& to, Op op);

  // Finishes what is queued, then ends. Later operations are refused.
  void stop();
  std::vector<LaneStats> stats() const;

 private:
  Writer() = default;

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::size_t lanes_by_key_ = 1;
};

template <class Op>
Result<Answer<Op>> Writer::run(Lane& to, Op op) {
  using T = Answer<Op>;
  std::promise<Result<T>> promise;
  auto operation =
      make_operation(std::move(op), [&promise](Result<T> r) { promise.set_value(std::move(r)); });
  if (to.try_lead(operation)) return promise.get_future().get();
  while (true) {
    const Lane::Push pushed = to.try_push(operation);
    if (pushed == Lane::Push::Taken) return promise.get_future().get();
    if (pushed == Lane::Push::Stopped) return Error{Errc::Canceled, "the writer has stopped"};
    std::promise<void> room;
    if (!to.when_room([&room] { room.set_value(); })) {
      return Error{Errc::Busy, "too many callers wait for the writer"};
    }
    room.get_future().wait();
  }
}

}  // namespace quern::store
