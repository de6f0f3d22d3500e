// Broker: asks a server for tasks, runs each in a box, and sends what comes out while it is made.
//
// Guarantee: no converter code and no byte of a person's file is looked at in this process. A task
// ends with its parts and `done` or `failure` told to the server, or not at all: then the server
// lends it again. A child that dies in the middle of a part never makes that part look whole.
// How: one lane for each step: poll, run, send; the child's pipe is read as fast as the server
// takes the bytes. A connection whose child has died is cut, and {url}/failure tells why.
//
// A server that is away is asked again, with growing pauses, for ever.
// Threads: the loop's only. Lifetime: goes before the loop; run() has returned by then.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/event.h"
#include "net/loop.h"
#include "worker/box.h"
#include "worker/line.h"
#include "worker/step.h"

namespace quern::worker {

inline constexpr std::size_t kInlineBytes = 16 * 1024;

struct BrokerOptions {
  Address server;
  std::string token;        // "" where none is needed
  std::string worker_name;  // for people
  std::vector<std::string> steps;
  std::string program = "/proc/self/exe";
  std::string temp_folder = "/tmp";
  Limits limits;
  int tasks_per_poll = 0;  // 0: as many as suit the step
  std::int64_t look_ms = 500;
  std::size_t piece_bytes_max = 1024 * 1024;  // of an answer, sent at once
  std::int64_t heartbeat_ms = 2'000;
  std::int64_t poll_ms = 60'000;    // how long an answer to a poll may take
  std::int64_t stall_ms = 300'000;  // how long the server may not take a byte
  std::int64_t grace_ms = 10'000;
  std::int64_t idle_exit_ms = 0;  // 0: never
  std::int64_t backoff_min_ms = 100;
  std::int64_t backoff_max_ms = 5'000;
  // A task that runs this long keeps no others waiting: they are left for the server to lend again.
  std::int64_t alone_after_ms = 10'000;
  // Look for clips in episodes, too. Files that are wanted again are kept up to so many bytes; a
  // larger file than this is not fetched.
  bool research = false;
  std::uint64_t research_kept_bytes = std::uint64_t{2} << 30;
  std::uint64_t research_media_bytes = std::uint64_t{16} << 30;
};

class Lane;
class Researcher;

class Broker {
 public:
  Broker(net::Loop& loop, BrokerOptions options);
  ~Broker();

  // Until stop(), or nothing to do for so long as the options say. An error where a box cannot be
  // started at all.
  net::Task<Result<>> run();
  // What runs is finished, for as long as the grace lasts; nothing new is begun.
  void stop();

 private:
  void begin();
  std::optional<Error> failure() const;
  bool ended() const;
  net::Task<> drain();
  net::Instant idle_deadline() const;

  net::Loop& loop_;
  BrokerOptions options_;
  net::Event changed_;
  std::vector<std::shared_ptr<Lane>> lanes_;
  std::shared_ptr<Researcher> researcher_;
  bool stopping_ = false;
};

}  // namespace quern::worker
