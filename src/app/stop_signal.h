// StopSignal: SIGTERM and SIGINT. The first one asks for an orderly end, the second ends at once:
// dying is safe.
#pragma once

#include <memory>

#include "net/loop.h"

namespace quern::app {

class StopSignal {
 public:
  explicit StopSignal(net::Loop& loop);
  ~StopSignal();

  net::Task<> asked();
  net::Task<bool> asked_within(std::int64_t wait_ms);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quern::app
