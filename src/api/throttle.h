// Throttle: says of each thing at most so often that it changed, and its last state always.
//
// The first word goes out at once; what comes within the pause behind it replaces what was to be
// said at its end. Bounded by the number of things that change within one pause, and by
// kThrottledMax: beyond, things are not told of.
//
// On the loop. What was to be said when it is destroyed is not.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "net/loop.h"

namespace quern::api {

inline constexpr std::int64_t kThrottleMs = 200;
inline constexpr std::size_t kThrottledMax = 10'000;

class Throttle {
 public:
  using Say = std::function<void(const boost::json::object&)>;

  Throttle(net::Loop& loop, Say say, std::int64_t pause_ms = kThrottleMs);
  ~Throttle();
  Throttle(const Throttle&) = delete;
  Throttle& operator=(const Throttle&) = delete;

  void say(const std::string& of, boost::json::object data);
  std::size_t size() const;  // things that wait for their pause to end

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace quern::api
