// Task<T>: a coroutine of the loop. Parameters go by value; what it refers to outlives it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>

// g++ 12 takes Asio's frame allocator for a mismatch when a sanitizer keeps it from inlining. The
// warning comes late and names the coroutine, so it is off for every file that has coroutines.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace quern::net {

template <class T = void>
using Task = boost::asio::awaitable<T>;

// Deadlines are instants of the steady clock: they mean the same however often a wait is resumed.
using Instant = std::chrono::steady_clock::time_point;
inline constexpr Instant kNever = Instant::max();

inline Instant in_ms(std::int64_t ms) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
}

}  // namespace quern::net
