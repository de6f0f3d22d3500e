// Crash points and durable writes: the instants at which a test can kill this process.
//
// A crash point is a named no-op: one relaxed load when unarmed. A durable write is anything that a
// recovery could find done or not done (a commit, an fsync, a rename, an unlink); each is numbered,
// and can be killed before and after. docs/testing.md tells how sweeps use both.
//
// Armed by two environment variables, read once by arm_crash_from_environment():
//   QUERN_CRASH=write:K:before | write:K:after | point:NAME | point:NAME:N    (N-th time, from 1)
//               with ":stop" behind it the process stops itself (SIGSTOP) instead of killing itself
//   QUERN_CRASH_LOG=PATH   appends a line for each durable write and crash point that is reached
// io::Process does not hand them on to children: a child numbers writes of its own.
#pragma once

#include <atomic>
#include <string_view>

#include "base/result.h"

namespace quern {

inline constexpr char kCrashVariable[] = "QUERN_CRASH";
inline constexpr char kCrashLogVariable[] = "QUERN_CRASH_LOG";

namespace internal {
inline std::atomic<bool> crash_armed{false};
void crash_point_reached(std::string_view name);
// The number of this write.
int durable_write_begins(std::string_view what, std::string_view detail);
void durable_write_ended(int number);
}  // namespace internal

// Invalid where a variable does not follow the grammar above.
Result<> arm_crash_from_environment();

inline void crash_point(std::string_view name) {
  if (internal::crash_armed.load(std::memory_order_relaxed)) [[unlikely]]
    internal::crash_point_reached(name);
}

// Stands around the system call or statement that makes something durable.
class DurableWrite {
 public:
  explicit DurableWrite(std::string_view what, std::string_view detail = {}) {
    if (internal::crash_armed.load(std::memory_order_relaxed)) [[unlikely]]
      number_ = internal::durable_write_begins(what, detail);
  }
  ~DurableWrite() {
    if (number_ != 0) [[unlikely]]
      internal::durable_write_ended(number_);
  }
  DurableWrite(const DurableWrite&) = delete;
  DurableWrite& operator=(const DurableWrite&) = delete;

 private:
  int number_ = 0;  // 0: unarmed
};

}  // namespace quern
