// Awaits for coroutines: the writer, the readers and the disk, without blocking the loop.
//
// These are where demand meets the sockets: a handler that awaits write() while the lane is full is
// suspended until there is room, and reads nothing from its socket meanwhile.
// On the loop's thread; what the operations refer to must outlive the await. Name a lambda before
// awaiting with it: g++ 12 destroys some temporaries of a co_await expression twice.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "io/pool.h"
#include "net/async.h"
#include "store/readers.h"
#include "store/writer.h"

namespace quern::queue {

// The answer of an operation after its commit. Busy only where kRoomWaitersMax callers wait
// already.
template <class Op>
net::Task<Result<store::Answer<Op>>> write(net::Loop& loop, store::Lane& lane, Op op) {
  using Reply = Result<store::Answer<Op>>;
  using Push = store::Lane::Push;
  // Each attempt has a callback of its own; the operation, made once, calls the latest.
  auto latest = std::make_shared<std::optional<net::Callback<Reply>>>();
  auto operation =
      store::make_operation(std::move(op), [latest](Reply reply) { (**latest)(std::move(reply)); });
  while (true) {
    Push pushed = Push::Full;
    auto submit = [&](net::Callback<Reply> callback) {
      latest->emplace(callback);  // before the push: the lane may answer at once
      pushed = lane.try_push(operation);
      if (pushed != Push::Taken) callback(Error{Errc::Busy, "the writer is full"});
    };
    Reply reply = co_await net::await_callback<Reply>(loop, submit);
    if (pushed == Push::Taken) co_return reply;
    if (pushed == Push::Stopped) co_return Error{Errc::Unavailable, "the server is stopping"};
    auto wait = [&](net::Callback<bool> room) {
      if (!lane.when_room([room] { room(true); })) room(false);
    };
    const bool waited = co_await net::await_callback<bool>(loop, wait);
    if (!waited) co_return Error{Errc::Busy, "too many requests wait for the writer"};
  }
}

// The answer of a read. Busy where the readers' queue is full.
template <class Function>
net::Task<Result<store::Answer<Function>>> read(net::Loop& loop, store::Readers& readers,
                                                Function function) {
  using Reply = Result<store::Answer<Function>>;
  auto submit = [&](net::Callback<Reply> callback) {
    auto operation = store::make_operation(std::move(function), callback);
    if (!readers.try_push(operation)) callback(Error{Errc::Busy, "too many reads wait"});
  };
  co_return co_await net::await_callback<Reply>(loop, submit);
}

// What a function that may block returns, a Result. Busy where the pool's queue is full.
template <class Function>
auto offload(net::Loop& loop, io::Pool& pool, Function function)
    -> net::Task<std::invoke_result_t<Function&>> {
  using Reply = std::invoke_result_t<Function&>;
  auto submit = [&](net::Callback<Reply> callback) {
    io::Pool::Job job = [callback, kept = std::optional<Function>(std::move(function))](
                            io::Pool::Call call) mutable {
      if (call != io::Pool::Call::Run) {
        return callback(Error{Errc::Unavailable, "the server is stopping"});
      }
      Reply reply = (*kept)();
      kept.reset();  // what it holds, a locked file perhaps, is free before anybody hears of it
      callback(std::move(reply));
    };
    if (!pool.try_push(job)) callback(Error{Errc::Busy, "the disk's queue is full"});
  };
  co_return co_await net::await_callback<Reply>(loop, submit);
}

}  // namespace quern::queue
