// submit: hands an operation to a lane from the loop and gets the answer back on the loop.
//
// The callback runs once, on the loop's thread, unless the loop goes before. Where the lane is full
// the operation waits for room; the number of those that wait is as bounded as the caller makes it.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "net/loop.h"
#include "store/writer.h"

namespace quern::queue {

namespace internal {

// Pushes, or waits for room and tries again on the loop. `refused` gets the reason where it never
// will be taken.
void push_when_room(net::Loop::Remote remote, store::Lane& lane,
                    std::shared_ptr<std::unique_ptr<store::Operation>> operation,
                    std::function<void(Error)> refused);

}  // namespace internal

template <class Op, class Then>
void submit(const net::Loop& loop, store::Lane& lane, Op op, Then then) {
  using Reply = Result<store::Answer<Op>>;
  const net::Loop::Remote remote = loop.remote();
  auto on_loop = std::make_shared<Then>(std::move(then));
  auto deliver = [remote, on_loop](Reply reply) {
    auto kept = std::make_shared<Reply>(std::move(reply));
    remote.post([on_loop, kept] { (*on_loop)(std::move(*kept)); });
  };
  auto operation = std::make_shared<std::unique_ptr<store::Operation>>(
      store::make_operation(std::move(op), deliver));
  internal::push_when_room(remote, lane, std::move(operation),
                           [deliver](Error error) { deliver(std::move(error)); });
}

}  // namespace quern::queue
