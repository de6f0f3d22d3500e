// Program: a real program as a child of the test, its output captured.
//
// Output is read all the time by a thread of its own, so that the child never blocks on it; the
// first kCaptureBytesMax of each stream are kept, the rest is dropped. The child dies with the
// thread that started it (io/process.h) and with the object. signal() is safe from any thread; the
// rest from one at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "io/process.h"
#include "support/proc.h"

namespace quern::support {

inline constexpr std::size_t kCaptureBytesMax = 4 * 1024 * 1024;
// Long enough for a loaded machine under a sanitizer; nothing waits this long unless it is broken.
inline constexpr std::chrono::milliseconds kProgramPatience{60'000};

using Environment = std::vector<std::pair<std::string, std::optional<std::string>>>;

// A program of this build by its name ("quern"); a path stays as it is.
std::filesystem::path program_path(const std::filesystem::path& name);

struct ProgramOptions {
  std::filesystem::path program;  // see program_path()
  std::vector<std::string> arguments;
  Environment environment;
  std::filesystem::path folder;  // to run in; empty: ours
};

enum class Output { Standard, Error };

class Program {
 public:
  static Result<std::unique_ptr<Program>> start(const ProgramOptions& options);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return process_.pid(); }
  // The first whole line since its start that contains `text`. Unavailable, with what it said on
  // standard error, where it ended without; Timeout.
  Result<std::string> wait_for_line(Output from, std::string_view text,
                                    std::chrono::milliseconds longest = kProgramPatience);
  // Reaps; all output has been read when this returns.
  Result<io::ExitStatus> wait(std::chrono::milliseconds longest = kProgramPatience);
  Result<> signal(int number) const { return process_.kill(number); }
  // SIGKILL, and reaps it.
  void kill();
  // What it was started with, once more. The old one is killed first where it still runs.
  Result<std::unique_ptr<Program>> restart();

  std::string text(Output from) const;
  // Whether wait() can return at once.
  bool has_ended();

 private:
  struct Captured {
    io::Descriptor pipe;
    std::string text;
    bool is_open = true;
  };

  Program(ProgramOptions options, io::Process process, io::Pipe stop);
  void read_output();
  bool read_some(Captured& captured);
  // No locks inside these: the caller holds mutex_.
  void wait_for_last_words(std::unique_lock<std::mutex>& lock);
  Captured& captured(Output from) { return from == Output::Standard ? standard_ : error_; }
  std::optional<std::string> find_line(Output from, std::string_view text);

  ProgramOptions options_;
  io::Process process_;
  io::Pipe stop_;  // closing its write end ends the reader
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Captured standard_;
  Captured error_;
  std::thread reader_;
};

// Runs to its end. Timeout, and killed, where that takes too long.
struct Ran {
  io::ExitStatus status;
  std::string standard_output;
  std::string standard_error;
};
Result<Ran> run_program(const ProgramOptions& options,
                        std::chrono::milliseconds longest = kProgramPatience);

}  // namespace quern::support
