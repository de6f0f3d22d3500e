// Lane: what a broker does for one step: poll, run, send, again. For use inside the broker only.
//
//   poll -> held -> in the box -> box free -> answered
//                        |          \__ the next one goes in
//                        \__ the server says 404: killed, nothing is told
//
// The box is free as soon as the child has ended; waiting until the server has made the result
// durable goes on beside the next task, a few at once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/event.h"
#include "worker/box.h"
#include "worker/broker.h"
#include "worker/lent_task.h"
#include "worker/line.h"

namespace quern::worker {

inline constexpr int kAnswersAwaitedMax = 4;

// A task in hand.
struct Held {
  explicit Held(LentTask lent) : task(std::move(lent)) {}

  LentTask task;
  std::shared_ptr<Run> run;  // while it is in the box
  std::optional<net::Instant> began;
  int slot = -1;          // of its line, while it has one
  bool box_free = false;  // the child has ended
  bool gone = false;      // the server says that it is over
  bool over = false;      // nothing is left to do for it
};
using HeldTask = std::shared_ptr<Held>;

class Lane : public std::enable_shared_from_this<Lane> {
 public:
  Lane(net::Loop& loop, const BrokerOptions& options, std::string step, net::Event& changed);

  static net::Task<> run(std::shared_ptr<Lane> self);
  static net::Task<> keep_alive(std::shared_ptr<Lane> self);
  // Begins nothing new; a poll that waits is given up.
  void stop();
  // Ends what is under way.
  void cut();

  bool ended() const { return coroutines_ == 0; }
  // Since when it has had no task; nothing while it has.
  std::optional<net::Instant> idle_since() const;
  const std::optional<Error>& failure() const { return failure_; }

 private:
  net::Task<Result<>> serve();
  net::Task<Result<>> need_box();
  net::Task<Result<std::vector<LentTask>>> poll();
  std::string poll_target() const;
  net::Task<> pause();
  net::Task<> run_all();
  net::Task<> run_one(HeldTask held);
  net::Task<> begin(HeldTask held);
  net::Task<Result<std::string>> task_json(HeldTask held);
  net::Task<> touch(HeldTask held);
  void drop_waiting();
  net::Task<> give_up(HeldTask held, Error why);
  void settle(const HeldTask& held);
  int free_slot() const;
  int answers_awaited() const;

  // sending.cc
  static net::Task<> send(std::shared_ptr<Lane> self, HeldTask held, std::string boundary);
  net::Task<> send_parts(HeldTask held, std::string boundary);
  net::Task<> tell_failure(HeldTask held, Failure failure, bool again);
  net::Task<> post(HeldTask held, std::string target_suffix, std::string json);
  void tell_refusal(const Result<net::Response>& answer) const;
  net::Request authorized(net::Request request) const;

  // detecting.cc
  net::Task<> detect(HeldTask held);
  net::Task<RunEnd> detect_some(HeldTask held, class DetectState& state,
                                std::vector<const LentFile*> files);

  net::Loop& loop_;
  const BrokerOptions& options_;
  const std::string step_;
  net::Event& changed_;
  Lines lines_;
  std::unique_ptr<Box> box_;
  std::vector<HeldTask> held_;
  net::Instant idle_since_;
  std::int64_t pause_ms_ = 0;
  int box_failures_ = 0;
  int coroutines_ = 0;
  std::optional<Error> failure_;
  bool stopping_ = false;
};

}  // namespace quern::worker
