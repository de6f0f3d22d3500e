// Limits: what a boxed task may use, and the watch that decides when it has used too much.
//
// Guarantee: a task that makes no progress, takes too long, grows too large or writes too much is
// found within a look or two, and time in which nobody takes its output counts for nothing.
// How: the broker looks at the child about twice a second and tells the watch what it saw. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "model/error_kind.h"

namespace quern::worker {

// Why a task ended badly; the message is for a person.
struct Failure {
  model::ErrorKind kind = model::ErrorKind::Internal;
  std::string message;
};

struct Limits {
  std::int64_t wall_ms = 3'600'000;      // in all, while its output is taken
  std::int64_t wall_ms_per_mib = 1'000;  // and for each MiB of input
  std::int64_t idle_ms = 60'000;         // without CPU used and without output
  std::uint64_t memory_bytes = 2ULL << 30;
  std::uint64_t output_bytes = 64ULL << 30;
  std::uint64_t scratch_bytes = 1ULL << 30;  // of one file that it writes
  std::uint64_t open_files = 256;
  // Of an archive. The ratio of one member counts once that many bytes of it have come out.
  std::uint64_t members = 1'000'000;
  std::uint64_t ratio = 1'000;
  std::uint64_t ratio_from_bytes = 100ULL << 20;
  // Of a text.
  std::uint64_t text_characters = 10'000'000;
  std::uint64_t text_pages = 2'000;

  std::int64_t wall_ms_for(std::uint64_t input_bytes) const {
    return wall_ms + static_cast<std::int64_t>(input_bytes >> 20) * wall_ms_per_mib;
  }
};

// What is seen of a child at one instant.
struct Sighting {
  std::chrono::steady_clock::time_point at;
  std::int64_t cpu_ms = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t output_bytes = 0;
  bool output_is_wanted = true;  // somebody waits for its next byte
};

class Watch {
 public:
  Watch(const Limits& limits, std::uint64_t input_bytes,
        std::chrono::steady_clock::time_point start);

  // The limit that it is beyond, if it is.
  std::optional<Failure> look(const Sighting& sighting);

 private:
  Limits limits_;
  std::int64_t wall_ms_max_;
  Sighting last_;
  std::int64_t wall_ms_ = 0;
  std::int64_t idle_ms_ = 0;
};

}  // namespace quern::worker
