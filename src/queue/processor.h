// Processor: what is done with an item. In-process functions for Quern's own features, an HTTP
// handler for everybody else's (queue/http_processor.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "queue/turn.h"

namespace quern::queue {

struct Work {
  PartitionId partition;
  std::string partition_name;
  std::string handler;  // the partition's
  std::int64_t token = 0;
  Taken item;

  // The same for every repetition of this step of this item, whoever makes it.
  std::string idempotency_key() const;
};

// What the processor says. Missing fields change nothing.
struct Outcome {
  enum class Kind {
    Moved,     // gate, data, done
    Failed,    // error; tried again unless final
    Refused,   // not called: it goes back, not before delay_us (a limit)
    Canceled,  // the owner is stopping or lost it: nothing is stored
  };
  Kind kind = Kind::Moved;
  std::optional<std::int64_t> gate;
  std::optional<std::string> data;
  bool done = false;
  std::string error;
  bool no_retry = false;
  std::int64_t delay_us = 0;  // of Refused; of Failed at least so long (Retry-After)
  // In-process only: written in the transaction that stores this outcome, behind the same fence.
  std::function<Result<>(store::Tx&)> effect;

  static Outcome complete() { return {.done = true}; }
  static Outcome failed(std::string error) {
    return {.kind = Kind::Failed, .error = std::move(error)};
  }
};

using Answered = std::function<void(Outcome)>;

class Processor {
 public:
  virtual ~Processor() = default;
  // On the loop's thread; must not block it. Calls back once, from any thread, perhaps at once. One
  // that throws has failed the attempt.
  virtual void process(Work work, Answered answered) = 0;
  // The owner stops: end what is under way soon, with Canceled.
  virtual void cancel() {}
};

// A function as a processor, for code that does not wait.
std::shared_ptr<Processor> make_processor(std::function<Outcome(const Work&)> function);

}  // namespace quern::queue
