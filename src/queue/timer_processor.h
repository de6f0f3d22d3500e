// The processor of queue TIMER (kind "queue:TIMER"): start_timer and reset_timer messages set the
// timer of their site.
//
// Guarantee: a message sets its timer once. How: the timer is set in the transaction that completes
// the message. A message that cannot be read has failed, and is not tried again.
#pragma once

#include <functional>
#include <memory>

#include "queue/processor.h"
#include "queue/timer.h"

namespace quern::queue {

// What a start_timer or reset_timer message asks for. Pure.
Result<SetTimer> parse_set_timer(std::string_view message);

// `poke` is called, on the loop's thread, for each timer that is about to be set.
std::shared_ptr<Processor> make_timer_processor(std::function<void()> poke);

}  // namespace quern::queue
