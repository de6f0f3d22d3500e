// Receiver: takes the parts of one fragment POST and moves its task on (step/lent.h has the
// states).
//
// Guarantee: a part counts when it is whole; a part that was cut leaves nothing. Bytes become
// durable before the child that has them is handed to the writer.
//
// On the loop; what blocks goes to the pool.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "blob/digest.h"
#include "step/clean_text.h"
#include "step/lent.h"
#include "step/pipeline.h"

namespace quern::step {

class Receiver {
 public:
  Receiver(Pipeline& pipeline, LentPtr lent);
  ~Receiver();
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  void begin_part(std::string_view name);
  // Handles bytes that need no waiting, and says whether it did; otherwise take() does.
  bool take_at_once(std::string_view bytes);
  net::Task<Result<>> take(std::string_view bytes);
  // The part is whole.
  net::Task<Result<>> end_part();
  // Whether the task has ended; further parts are ignored.
  bool ended() const { return ended_ || lent_->over; }
  // What the worker did is not the protocol: the attempt is counted.
  net::Task<Result<>> break_off(std::string why);

 private:
  enum class Sink { Ignore, Memory, Blob, Text };

  void choose_sink();
  void choose_child_sink();
  void open_spool();
  bool goes_over_limit(std::size_t more);
  net::Task<Result<>> write_spool(std::string bytes);
  net::Task<Result<>> end_child_part();
  net::Task<Result<>> end_links();
  net::Task<Result<>> end_spool(std::optional<blob::Put>& put);
  net::Task<Result<>> end_text();
  net::Task<Result<>> begin_child();
  net::Task<Result<>> finish_child();
  net::Task<Result<>> end_task(std::optional<tree::Failure> failure);
  net::Task<Result<>> load_inherited_head();
  void report_progress();

  Pipeline& pipeline_;
  LentPtr lent_;
  bool ended_ = false;

  // Of the part under way:
  std::string name_;
  Fragment fragment_;
  Sink sink_ = Sink::Ignore;
  std::string bug_;  // what is wrong with it, said when it has ended
  std::string memory_;
  std::size_t memory_max_ = 0;
  bool overflow_ = false;
  std::unique_ptr<blob::Spool> spool_;
  std::string head_;  // of what goes to the spool
  TextCleaner cleaner_;
};

}  // namespace quern::step
