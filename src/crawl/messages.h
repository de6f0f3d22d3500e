// The processor of the queues INDEX and CRAWL: what seed 003's messages ask for.
#pragma once

#include <memory>

#include "queue/processor.h"

namespace quern::crawl {

class Service;

// A message that asks for nothing that can be had has failed, and is not tried again.
std::shared_ptr<queue::Processor> make_message_processor(Service& service);

}  // namespace quern::crawl
