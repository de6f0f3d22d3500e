// Box: the broker's side of a zygote. One task at a time runs in it.
//
// Guarantee: a run ends: by itself, by a limit, or by kill(); how it ended is known, and what it
// wrote before is whole up to the last byte that read() gave. A zygote that dies is noticed as the
// end of its run. How: output comes through a pipe that is read only when somebody asks, so a child
// that is too fast waits; a look every so often compares what it uses with its limits.
//
// Threads: the loop's only. Lifetime: goes before the loop, and takes zygote and child with it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/process.h"
#include "net/loop.h"
#include "net/readable.h"
#include "net/task.h"
#include "worker/channel.h"
#include "worker/limits.h"
#include "worker/step.h"

namespace quern::worker {

inline constexpr std::size_t kNoteBytesMax = 4 * 1024;

struct BoxOptions {
  std::string program = "/proc/self/exe";  // understands --box
  std::string step;
  Limits limits;
  std::int64_t look_ms = 500;
  std::int64_t start_ms = 30'000;
};

struct BoxTask {
  std::string json;
  std::vector<int> inputs;  // stay the caller's
  std::uint64_t input_bytes = 0;
  std::string boundary;
  std::int64_t job = 0;
};

struct RunCost {
  std::int64_t wall_ms = 0;
  std::int64_t cpu_ms = 0;
  std::int64_t peak_kib = 0;
  std::string json() const;
};

// How a run ended.
struct RunEnd {
  std::optional<Failure> failure;
  // It died, hit a limit or broke the rules: not its own word, and another try may go better.
  bool seen_by_box = false;
  std::string note;  // what its libraries printed
  RunCost cost;
};

// What the zygote says of its step.
struct StepAbout {
  std::string version;  // "": what it needs is not on this machine
  int tasks_per_poll = 1;
  std::int64_t wall_ms_max = 0;  // 0: as all
};

class Run;

class Box {
 public:
  // Unavailable where the zygote does not come up.
  static net::Task<Result<std::unique_ptr<Box>>> start(net::Loop& loop, BoxOptions options);
  ~Box();

  // One at a time, each finished before the next. Unavailable where the zygote has gone: start
  // another box.
  Result<std::shared_ptr<Run>> run(const BoxTask& task);
  bool is_gone() const { return gone_; }
  // What the zygote says of its confinement, as JSON.
  const std::string& confinement() const { return confinement_; }
  // What is missing of it on this machine, for people; "" where nothing is.
  std::string lacks() const;
  const StepAbout& about() const { return about_; }
  pid_t zygote_pid() const { return process_.pid(); }

 private:
  friend class Run;
  Box(net::Loop& loop, BoxOptions options, io::Process process, io::Descriptor channel);
  net::Task<Result<>> await_ready();
  Result<> get_to_know(std::string_view text);

  net::Loop& loop_;
  BoxOptions options_;
  io::Process process_;
  io::Descriptor channel_;
  net::Readable readable_;
  std::string confinement_;
  StepAbout about_;
  std::weak_ptr<Run> current_;
  bool gone_ = false;
};

class Run {
 public:
  // At least one byte, or 0 when the child has closed its output. One at a time.
  net::Task<std::size_t> read(std::span<char> buffer);
  // After read() gave 0, once. The box outlives it.
  net::Task<RunEnd> finish();
  // Its end will tell this reason; the first one counts.
  void kill(Failure why);

  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  friend class Box;
  struct Pipes {
    io::Pipe output;
    io::Pipe end;
    io::Pipe note;
  };
  Run(Box& box, Pipes pipes, std::uint64_t input_bytes);
  static Result<Pipes> make_pipes();
  static net::Task<> watch(std::shared_ptr<Run> self);
  void absorb();
  void take(const Received& received);
  void look();
  void kill_zygote();
  void close();
  RunEnd judge(std::string end_text, std::string note) const;

  Box* box_;  // null once it has ended
  net::Loop& loop_;
  io::Descriptor output_;
  io::Descriptor end_;
  io::Descriptor note_;
  std::unique_ptr<net::Readable> readable_;  // of output_, and goes before it
  Watch watch_;
  std::chrono::steady_clock::time_point began_;
  pid_t pid_ = 0;
  io::Descriptor pidfd_;
  std::optional<Report> ended_;
  std::optional<Failure> killed_for_;
  std::uint64_t bytes_read_ = 0;
  bool reading_ = false;  // somebody waits for output
};

}  // namespace quern::worker
